"""
The auditor's accounts of trainings.

What must hold: one runs at a time, on the head, with the cards that its step named; its step goes on with
just what it gave; one that fails ends its step; the next one waits for its pause and no longer; every
second and every failure is counted once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import inf, isclose

import attrs

from headway.contracts import Snapshot, Train
from headway.machine import (
    Abandon,
    Abort,
    Done,
    Event,
    Failed,
    Instruction,
    Machine,
    Resume,
    Returned,
    Run,
    Statistics,
    TrainCall,
    Yielded,
)
from headway.testing._must import must

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 8.0


@attrs.define(eq=False)
class Trainings:
    """
    Keeps them.

    Args:
        machine: Whose they are.
        calls: The ids of all trainings so far.
        errors: Failures since a step that trained got through.
    """

    machine: Machine
    calls: set[int] = attrs.field(factory=set[int], init=False)
    errors: int = attrs.field(default=0, init=False)
    _running: TrainCall | None = attrs.field(default=None, init=False)
    _began: float = attrs.field(default=0.0, init=False)
    _seconds: float = attrs.field(default=0.0, init=False)
    _asked: dict[int, tuple[int, Train]] = attrs.field(
        factory=dict[int, tuple[int, Train]], init=False
    )
    _trained: set[int] = attrs.field(factory=set[int], init=False)
    _pause_ends: float = attrs.field(default=0.0, init=False)

    def follow(
        self,
        event: Event,
        out: Sequence[Instruction],
        *,
        now: float,
        before: Collection[int],
        after: Collection[int],
    ) -> None:
        """
        Take in one event and what the machine said to it.

        Args:
            event: The event.
            out: The instructions.
            now: The time.
            before: The steps that were open before it.
            after: The steps that are open after it.
        """
        self._end(event, out, now)
        if isinstance(event, Yielded) and event.step in before and isinstance(event.request, Train):
            self._asked[event.step] = (event.n, event.request)
        for instruction in out:
            if isinstance(instruction, Run) and isinstance(instruction.call, TrainCall):
                self._begin(instruction.call, now)
            elif isinstance(instruction, Abort):
                self._asked.pop(instruction.step, None)
                self._trained.discard(instruction.step)
            elif isinstance(instruction, Resume) and isinstance(instruction.value, Snapshot):
                self._got_through(instruction.step)
        if isinstance(event, Returned) and event.step in before and event.step not in after:
            self._got_through(event.step)
        self._check(now, after)

    def _got_through(self, step: int) -> None:
        if step in self._trained:
            self.errors = 0

    def _end(self, event: Event, out: Sequence[Instruction], now: float) -> None:
        call = self._running
        if call is None:
            return
        abandoned = Abandon(call.id) in out
        if not abandoned and not (isinstance(event, Done | Failed) and event.call == call.id):
            return
        self._running = None
        self._seconds += now - self._began
        if isinstance(event, Done) and not abandoned:
            told = [i for i in out if isinstance(i, Resume) and i.step == call.step]
            expected = [Resume(call.step, call.n, event.value)]
            must(told == expected, f"a step is told {told} of its training, not {expected}")
            self._trained.add(call.step)
            return
        must(Abort(call.step) in out, f"step {call.step} goes on without its training")
        if not abandoned or now >= self._began + self._timeout:
            self._failed(event, now, abandoned=abandoned)

    @property
    def _timeout(self) -> float:
        timeout = self.machine.config.train_timeout
        return inf if timeout is None else timeout

    def _failed(self, event: Event, now: float, *, abandoned: bool) -> None:
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**self.errors)
        asked = event.retry_after if isinstance(event, Failed) and not abandoned else None
        self._pause_ends = now + max(pause, asked or 0.0)
        self.errors += 1

    def _begin(self, call: TrainCall, now: float) -> None:
        must(self._running is None, f"{call} begins while {self._running} runs")
        must(call.step in self._asked, f"{call} begins and its step has not asked for it")
        n, request = self._asked.pop(call.step)
        must(call.n == n, f"{call} is for another request than {n}")
        must(tuple(c.number for c in call.cards) == request.cards, f"{call} has other cards")
        must(call.payload == request.payload, f"{call} has another payload than {request.payload}")
        must(call.artifact == self.machine.head.artifact, f"{call} is not on the head")
        must(now >= self._pause_ends, f"{call} begins before {self._pause_ends}")
        self.calls.add(call.id)
        self._running, self._began = call, now

    def _check(self, now: float, after: Collection[int]) -> None:
        running, machine = self._running, self.machine
        if running is not None:
            must(running.step in after, f"{running} goes on and its step was closed")
            must(now < self._began + self._timeout, f"{running} outlasts its deadline")
        elif self._asked and now >= self._pause_ends:
            searching = machine.phase in ("running", "draining")
            must(not searching, f"step {[*self._asked]} waits for a training, and none runs")
        if self.errors >= machine.config.max_train_errors:
            must(machine.stop_reason, "trainings failed too often, and the run goes on")
        error = machine.error
        if error is not None and error.where == "train":
            must(self.errors >= machine.config.max_train_errors, "trainings end the run too soon")

    def finish(self, counts: Statistics) -> None:
        """
        Compare the run's counts with these.
        """
        must(self._running is None, f"the run ends and {self._running} runs")
        begun = len(self.calls)
        must(counts.trainings == begun, f"{counts.trainings} trainings counted of {begun}")
        same = isclose(counts.train_seconds, self._seconds, abs_tol=1e-6)
        must(same, f"trainings: {counts.train_seconds} s counted of {self._seconds}")
