"""
What is worth saying, before it starts, about a run that learns from outcomes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from headway.contracts import StalenessPolicy
from headway.gate import Reservations
from headway.options import RunOptions

FOR_PROPOSALS = (
    "async_ratio",
    "resync",
    "bind",
    "self_verify",
    "max_wait_rounds",
    "carry_limit",
    "stall_patience",
    "round_size",
    "refresh_interval",
    "round_timeout",
)
"""Options that mean something where an aggregator learns from proposals alone."""

FOR_OUTCOMES = (
    "max_staleness",
    "admit_ahead",
    "oversample_factor",
    "batch_order",
    "bases",
    "member_attempts",
    "least_members",
    "lost_groups",
    "stall_alarm",
)
"""Options that mean something where it learns from outcomes alone."""

ASYNC_ALONE = ("max_staleness", "admit_ahead", "oversample_factor", "batch_order", "bases")
"""Those of them that mean something in async mode alone."""

_INSTEAD = {
    "async_ratio": "max_staleness",
    "resync": "bases",
    "bind": "bases",
    "max_wait_rounds": "batch_order",
    "round_timeout": "rollout_timeout",
    "max_staleness": "async_ratio",
    "bases": "resync",
    "stall_alarm": "rollout_timeout",
}
"""What does elsewhere what an option was set for."""


def idle_notes(options: RunOptions, given: dict[str, Any], learns_from: str) -> list[str]:
    """
    Options that were set and are for the other kind of aggregator.

    Args:
        options: The run's options.
        given: Those that are not at their defaults.
        learns_from: What the run's aggregator learns from.
    """
    idle = FOR_PROPOSALS if learns_from == "outcomes" else FOR_OUTCOMES
    notes = [
        f"{name}={given[name]} has no meaning for an aggregator that learns from {learns_from} and is"
        f" ignored{_instead(name)}"
        for name in idle
        if name in given
    ]
    if learns_from == "outcomes" and options.mode == "sync":
        notes += [
            f"{name}={given[name]} has no meaning in sync mode and is ignored: choose mode async for it"
            for name in ASYNC_ALONE
            if name in given
        ]
    return notes


def _instead(name: str) -> str:
    return f"; {_INSTEAD[name]} may do what it was set for" if name in _INSTEAD else ""


def rule_notes(options: RunOptions, policy: StalenessPolicy, learns_from: str) -> list[str]:
    """
    A staleness policy whose rule nobody goes by.
    """
    if learns_from == "outcomes" or not hasattr(policy, "rule"):
        return []
    name = options.policy if isinstance(options.policy, str) else type(policy).__name__
    told = "it holds back no batch of proposals, and never has one rebased; guarded does"
    return [f"policy={name} is for an aggregator that learns from outcomes: {told}"]


def gate_notes(options: RunOptions, gate: Reservations) -> list[str]:
    """
    What the caller is warned of: options that change nothing.
    """
    if options.oversample_factor == 1 or options.mode == "sync":
        return []
    wanted = (1 + options.admit_ahead) * gate.groups_per_step
    if wanted < gate.capacity:
        return []
    told = (
        f"oversample_factor={options.oversample_factor:g} has no effect: admit_ahead="
        f"{options.admit_ahead} already fills max_staleness={options.max_staleness}; raise"
        " max_staleness or lower admit_ahead"
    )
    return [told]


def age_notes(
    options: RunOptions, gate: Reservations, policy: StalenessPolicy, size: int
) -> list[str]:
    """
    How old outcomes will be when they are used.

    Args:
        options: The run's options.
        gate: The run's gate.
        policy: The staleness policy that the options name.
        size: The members of a group.
    """
    if options.mode == "sync":
        most = f"at most {gate.max_age}" if gate.max_age else "0"
        whole = f"each update waits for its batch of {gate.groups_per_step} groups"
        return [f"{whole}: ages are {most}"]
    ages = f"mean about {gate.mean_age:.3g} while {gate.capacity} are under way"
    needed = gate.capacity * size
    if options.n_workers < needed and options.bases == "head":
        ages += f", less since that takes {needed} workers"
    return [f"ages of groups, in versions: {ages}; {_largest(options, gate, policy)}"]


def _largest(options: RunOptions, gate: Reservations, policy: StalenessPolicy) -> str:
    if gate.max_age is not None:
        return f"never more than {gate.max_age}"
    bound = options.max_staleness
    verdict, breaking = "", False
    with suppress(Exception):  # a policy that raises is contained, and told of, in the run
        verdict = policy.decide(bound + 1, bound, breaking)
    if verdict == "discard":
        return (
            f"what is older than {bound} is thrown away, slow rollouts more often than quick ones"
        )
    return "the largest has no bound"
