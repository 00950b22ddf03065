"""
What a journal says about the calls and sweeps of its run: how long they took and what they gave.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import attrs

from headway.contracts import Outcome, Proposal, SweepDone
from headway.drivers import CANCELLED
from headway.durations import Law, Recorded
from headway.machine import (
    Call,
    Done,
    Event,
    Failed,
    Instruction,
    MeasureCall,
    Notify,
    Rebased,
    Run,
    TrainCall,
)
from headway.options import WORK

MOST_KEPT = 2_000
"""How many durations of a kind are drawn from; of more, as many quantiles."""


@attrs.frozen(kw_only=True)
class Swept:
    """
    What one sweep asked for and came to.

    Args:
        measured: Measurements since the sweep before it.
        trained: Trainings since the sweep before it.
        committed: The share of its cards that it committed.
    """

    measured: int
    trained: int = 0
    committed: float


@attrs.define(eq=False)
class Record:
    """
    Listens to a replay.

    Args:
        seconds: How long calls took, by kind.
        rewards: What rollouts scored.
        scores: What measurements scored.
        proposals: What was proposed; None when nothing was.
        rebased: Whether each change that was rebased still applied.
        ended: How many calls of a kind there were, and how many of them failed.
        sweeps: The sweeps that had a step of their own.
    """

    seconds: dict[str, list[float]] = attrs.field(
        factory=lambda: defaultdict[str, list[float]](list)
    )
    rewards: list[float] = attrs.field(factory=list[float])
    scores: list[float] = attrs.field(factory=list[float])
    proposals: list[Proposal | None] = attrs.field(factory=list[Proposal | None])
    rebased: list[bool] = attrs.field(factory=list[bool])
    ended: dict[str, list[int]] = attrs.field(
        factory=lambda: defaultdict[str, list[int]](lambda: [0, 0])
    )
    sweeps: list[Swept] = attrs.field(factory=list[Swept])
    _running: dict[int, tuple[float, Call]] = attrs.field(factory=dict[int, tuple[float, Call]])
    _measured: int = 0
    _trained: int = 0

    def __call__(self, event: Event, out: Iterable[Instruction]) -> None:
        """
        Take in an event of the run and what it led to.
        """
        if isinstance(event, Done | Failed):
            self._end(event)
        for instruction in out:
            if isinstance(instruction, Run):
                self._running[instruction.call.id] = (event.now, instruction.call)
                self._measured += isinstance(instruction.call, MeasureCall)
                self._trained += isinstance(instruction.call, TrainCall)
            elif isinstance(instruction, Notify) and isinstance(instruction.notice, SweepDone):
                self._swept(instruction.notice)

    def _end(self, event: Done | Failed) -> None:
        began, call = self._running.pop(event.call, (0.0, None))
        if call is None:
            return
        kind = _kind(call)
        if isinstance(event, Failed):
            if (
                event.fault != CANCELLED
            ):  # what nobody waited for any more neither worked nor failed
                self.ended[kind][0] += 1
                self.ended[kind][1] += 1
            return
        self.ended[kind][0] += 1
        self.seconds[kind].append(max(0.0, event.now - began))
        value = event.value
        if isinstance(value, Outcome):
            self.rewards.append(value.reward)
        elif isinstance(value, Rebased):
            self.rebased.append(value.proposal is not None)
        elif isinstance(value, float):
            self.scores.append(value)
        elif kind == "propose":
            self.proposals.append(value if isinstance(value, Proposal) else None)

    def _swept(self, notice: SweepDone) -> None:
        # One whose training failed is made again, and is no sweep of its own.
        again = self._trained and notice.outcome == "error"
        asked = self._measured or self._trained or notice.committed
        if again:
            self._trained = 0
            return
        if notice.sweep > 1 and asked:
            share = notice.committed / notice.considered if notice.considered else 0.0
            swept = Swept(measured=self._measured, trained=self._trained, committed=share)
            self.sweeps.append(swept)
        self._measured = self._trained = 0  # before the first sweep, the baseline was measured

    def failing(self, kind: str) -> float:
        """
        The share of calls of a kind that failed.
        """
        count, failed = self.ended[kind]
        return failed / count if count else 0.0

    def laws(self) -> Mapping[str, Law]:
        """
        What durations are drawn from, by kind of work.
        """
        return {
            kind: Recorded(_thinned(sorted(seconds)))
            for kind, seconds in self.seconds.items()
            if kind in WORK and seconds
        }


def _kind(call: Call) -> str:
    return "rollout" if call.kind == "verify" else call.kind


def _thinned(ordered: list[float]) -> tuple[float, ...]:
    if len(ordered) <= MOST_KEPT:
        return tuple(ordered)
    step = len(ordered) / MOST_KEPT
    return tuple(ordered[int((place + 0.5) * step)] for place in range(MOST_KEPT))
