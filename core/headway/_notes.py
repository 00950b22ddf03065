"""
What is worth saying about a run before it starts.
"""

from __future__ import annotations

import math
from contextlib import suppress

import attrs

from headway._group_notes import age_notes, gate_notes, idle_notes, rule_notes
from headway.contracts import StalenessPolicy
from headway.errors import OptionError
from headway.gate import Gate, Reservations
from headway.machine import MachineConfig
from headway.options import METERED, RunOptions
from headway.result import Result

FEW_HELD_OUT = 8
"""Fewer held-out tasks than this are worth a warning."""

FEW_PROPOSALS = 3

LATER_STEP = 100
"""Tests become stricter from step to step; what this one can show is told beside the first."""

_ROUNDING = 1e-12
"""By how much a quotient of two costs may come out too small."""

_INSTEAD = {
    "round_timeout": ", or give rollout_timeout, which bounds each rollout",
    "rounds": ", or give max_rollouts",
}
"""What does in the other mode what an idle option was set for."""


def notes_before(
    options: RunOptions, config: MachineConfig, policy: StalenessPolicy, gate: Gate
) -> tuple[str, ...]:
    """
    What the caller is warned of.

    Args:
        options: The run's options.
        config: The machine's.
        policy: The staleness policy that the options name.
        gate: The run's gate.

    Raises:
        OptionError: a budget does not even pay the baseline.
    """
    notes: list[str] = []
    held_out = len(config.held_out)
    if held_out < FEW_HELD_OUT:
        notes.append(
            f"{held_out} held-out tasks: the smallest difference in mean reward that one task can "
            f"make is {1 / held_out:.3f} of the reward range; {FEW_HELD_OUT} or more are better"
        )
    notes += _budget_notes(config, options, gate)
    if isinstance(gate, Reservations):
        notes += gate_notes(options, gate)
    if options.durations is not None and options.driver != "simulated":
        notes.append(f"durations have no meaning under {options.driver} and are ignored")
    concurrency = options.max_concurrency
    if options.mode == "sync" and concurrency is not None and concurrency > options.n_workers:
        notes.append(
            f"max_concurrency={concurrency} is more than n_workers={options.n_workers}, which is "
            "what runs at once"
        )
    if options.capacity < options.at_once:
        notes.append(
            f"slots={options.capacity} is less than the {options.at_once} rollouts that may run at "
            f"once: no more than {options.capacity} will"
        )
    notes += _alpha_notes(options, policy, config.learns_from)
    notes += rule_notes(options, policy, config.learns_from)
    return (*notes, *_idle_notes(options, config.learns_from))


def notes_on_ages(
    options: RunOptions, config: MachineConfig, policy: StalenessPolicy, gate: Gate
) -> tuple[str, ...]:
    """
    What is said of the ages of outcomes, if the run learns from them; nobody is warned of it.
    """
    if not isinstance(gate, Reservations):
        return ()
    return tuple(age_notes(options, gate, policy, config.group_size))


def uncharged(options: RunOptions, result: Result) -> tuple[str, ...]:
    """
    The limits of tokens and of cost that were given to a run in which nothing of theirs was charged.
    """
    if not any(result.calls.values()):
        return ()
    spent = {"max_tokens": result.usage.tokens, "max_cost": result.usage.cost}
    said = {"max_tokens": "tokens", "max_cost": "cost"}
    return tuple(
        f"{limit} was given and nothing was charged: call headway.charge({said[limit]}=...)"
        for limit in METERED
        if getattr(options, limit) not in {None, math.inf} and not spent[limit]
    )


def _alpha_notes(options: RunOptions, policy: StalenessPolicy, learns_from: str) -> list[str]:
    """
    An alpha that makes a policy throw away what the gate lets come about.
    """
    alpha, least = options.alpha, options.least_alpha
    if alpha is None or alpha >= least or options.mode == "sync" or learns_from == "outcomes":
        return []
    verdict, breaking = "", False
    with suppress(Exception):  # a policy that raises is contained, and told of, in the run
        verdict = policy.decide(least, alpha, breaking)
    if verdict != "discard":
        return []
    return [
        f"alpha={alpha} is below {least}, the lag that may come about: what is older is discarded"
    ]


def effect_notes(config: MachineConfig, acceptance: object, width: float) -> tuple[str, ...]:
    """
    What the run's acceptance can show at best, when rewards are noisy and it can say so.

    Args:
        config: The machine's options.
        acceptance: The aggregator's acceptance, if it has one.
        width: The width of the reward range.
    """
    shows = getattr(acceptance, "shows", None)
    if config.deterministic or shows is None or width == math.inf:
        return ()
    held_out = len(config.held_out)
    draws: int | None = None
    if config.max_calls is not None:
        final = config.final_draws * (held_out + len(config.test))
        draws = (config.max_calls - held_out - final) // (2 * held_out)
    first, later = (width * shows(held_out, step, draws) for step in (1, LATER_STEP))
    if first >= width:
        text = "no difference can be shown with power 0.8: more held-out tasks or draws are needed"
    else:
        text = (
            f"can show differences of mean reward of at least {first:.3g} with power 0.8 in the "
            f"first step, {later:.3g} in step {LATER_STEP}"
        )
    noisy = "rewards are noisy" if config.deterministic is False else "if rewards are noisy"
    return (f"{noisy}: {held_out} held-out tasks {text}",)


def _idle_notes(options: RunOptions, learns_from: str) -> list[str]:
    """
    Options that were set and mean nothing in the run's mode, or for its aggregator.
    """
    idle = {
        "async": (
            "rounds",
            "round_size",
            "parallel",
            "max_concurrency",
            "round_timeout",
            "refresh_interval",
        ),
        # Without an alpha of its own, a policy takes the async ratio for it, in either mode.
        "sync": ("resync", "max_wait_rounds", *(() if options.alpha is None else ("async_ratio",))),
    }[options.mode]
    other = {"async": "sync", "sync": "async"}[options.mode]
    defaults = {field.name: field.default for field in attrs.fields(RunOptions)}
    held = {name: getattr(options, name) for name in defaults}
    given = {name: value for name, value in held.items() if value != defaults[name]}
    notes = idle_notes(options, given, learns_from)
    told = {note.partition("=")[0] for note in notes}
    return notes + [
        f"{name}={given[name]} has no meaning in {options.mode} mode and is ignored: choose mode {other} "
        f"for it{_INSTEAD.get(name, '')}"
        for name in idle
        if name in given and name not in told
    ]


def _budget_notes(config: MachineConfig, options: RunOptions, gate: Gate) -> list[str]:
    """
    What the calls that a budget pays for are enough for.
    """
    notes: list[str] = []
    if config.max_calls is not None:
        notes += _call_notes(config, gate, "max_calls", config.max_calls, config.max_calls)
    for option, ceiling in (("max_tokens", "tokens_per_call"), ("max_cost", "cost_per_call")):
        most, each = getattr(config, option), getattr(config, ceiling)
        if most is None or most == math.inf:
            continue
        if each is not None:
            calls = int(most / each * (1 + _ROUNDING))
            notes += _call_notes(config, gate, option, most, calls, each)
            continue
        notes.append(
            f"{option}={most:g} without {ceiling}: each call in flight holds the mean of those before, "
            "so it may be overshot by the error of that estimate on the calls in flight"
        )
    if options.limits and set(options.limits) <= set(METERED):
        names = " and ".join(sorted(options.limits))
        notes.append(
            f"only {names} ends this run: it goes on for ever if the domain charges nothing"
        )
    return notes


def _call_notes(
    config: MachineConfig, gate: Gate, option: str, value: float, calls: int, each: float = 1
) -> list[str]:
    held_out, notes = len(config.held_out), list[str]()
    baseline = config.baseline_draws * held_out
    draws = 1 if config.deterministic else config.final_draws
    left = calls - baseline - draws * (held_out + len(config.test))
    if left < 0:
        left = calls - baseline
        text = "too few to score the final state; its reward will be the gate's last measurement"
        notes.append(f"{option}={value:g}: {text}")
    if left < 0:
        enough = (baseline + config.calls_per_ticket) * each
        remedy = f"Give at least {enough:g}: the baseline takes {baseline} calls."
        raise OptionError(option, value, remedy)
    if isinstance(gate, Reservations):
        count, what = left // (config.group_size * gate.groups_per_step), "updates"
    else:
        count = left // (config.calls_per_ticket + held_out)
        what = "proposals that are measured"
    if count < FEW_PROPOSALS:
        notes.append(f"{option}={value:g} affords about {count} {what}")
    return notes
