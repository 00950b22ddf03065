"""
Short runs of a small domain, into which one part is put.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from headway.contracts import Artifact, Card, Commit, Step, StepContext
from headway.durations import LogNormal, Uniform
from headway.result import Result
from headway.run import run
from headway.testing._toy import ToyDomain
from headway.testing.conformance._common import Make, insist

DRIVEN: tuple[tuple[str, str], ...] = (
    ("sync", "serial"),
    ("sync", "threads"),
    ("async", "threads"),
    ("async", "asyncio"),
    ("async", "simulated"),
)
"""Modes and drivers under which every part must do."""

_LAWS = dict.fromkeys(("rollout", "propose", "measure"), Uniform(0.5, 1.5))


_TAILS = {"rollout": LogNormal(1.0, 1.5)}

GROUPS_BOUND = 1
"""How old groups may be in such a run; it is a small number, so that some are older."""


def toy_run(mode: str, driver: str, **options: Any) -> Result:
    """
    The result of a short run, every invariant asserted on the way.

    Args:
        mode: ``sync`` or ``async``.
        driver: The driver's name.
        options: Those of ``run``; the part under test is among them.
    """
    usual: dict[str, Any] = {"max_rollouts": 30, "durations": _LAWS, "validate": True}
    domain = options.pop("domain", None) or ToyDomain(n_keys=5, n_tasks=6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # what failed stands in the result
        return run(domain, mode=mode, driver=driver, **(usual | options))


class Steps:
    """
    Learns from outcomes, and nothing of them: each update counts a key of the toy's states up.
    """

    learns_from = "outcomes"
    batch = 3
    group_size = 2

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Use the whole batch.
        """
        state = context.head.artifact.value
        yield Commit(Artifact({**state, "a": state["a"] + 1}), cards)


class Unmoved:
    """
    Learns nothing from outcomes: whatever they are, the head stays.
    """

    learns_from = "outcomes"
    batch = 2

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Use the whole batch.
        """
        yield Commit(context.head.artifact, cards)


def toy_groups(mode: str, driver: str, **options: Any) -> Result:
    """
    The result of a short run that learns from outcomes.

    Args:
        mode: ``sync`` or ``async``.
        driver: The driver's name.
        options: Those of ``run``; the part under test is among them.
    """
    usual: dict[str, Any] = {"aggregator": Steps(), "updates": 20, "max_rollouts": 400}
    usual |= {"n_workers": 24, "durations": _TAILS}
    usual |= {} if mode == "sync" else {"max_staleness": GROUPS_BOUND}
    return toy_run(mode, driver, **(usual | options))


def faults(result: Result) -> str:
    """
    What went wrong in a run, in words; nothing when nothing did.
    """
    found = [f"{f.fault.where}: {f.fault.type}: {f.fault.message}" for f in result.failures]
    ended = [f"it ended: {result.error.message}"] if result.error is not None else []
    return "; ".join([*found, *ended])


def check_decision(kind: str, made: Any, mode: str, driver: str) -> None:
    """
    See that a run with a part in it has no faults.
    """
    found = faults(toy_run(mode, driver, batch_size=3, **{kind: made}))
    insist(
        not found,
        f"a run with it in {mode} mode under {driver} had faults: {found}",
        do="mend the first one: 'aggregator' means that a decision raised or gave what can't be used",
    )


def check_equal_runs(kind: str, make: Make) -> None:
    """
    See that simulated runs of one seed come out equal, the last with a part that was used before.
    """
    used = make()
    digests = [
        toy_run("async", "simulated", batch_size=3, max_rollouts=60, **{kind: made}).digest
        for made in (used, make(), used)
    ]
    insist(
        len(set(digests)) == 1,
        f"three simulated runs of one seed had the digests {digests}",
        do="keep nothing in the part: what a run learns belongs into the aggregator's memory",
    )
