"""
Trainings: which steps wait for one, which one runs, and how often it has failed.

Guarantee: one training runs at a time, in the order in which steps asked.  It takes no slot, and
nothing but the step that asked waits for it.

One that failed is tried again by its step, which is run again: after a pause that doubles, or when the
backend has said to come again.  The failures are counted until a step that trained gets through; a
training that works is not enough, or a step whose second training always fails would never end.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from headway.contracts import Train
from headway.machine._backoff import FIRST_PAUSE, LONGEST_ASKED, LONGEST_PAUSE
from headway.machine._calls import TrainCall

Wish: TypeAlias = tuple[int, Train]
"""The number of a step, and what it asks for."""

_DOUBLINGS = 16


@attrs.define(eq=False)
class Training:
    """
    The trainings of a run.

    Args:
        wishes: The steps whose training has not begun, first come first.
        running: The training that runs.
        deadline: When that is given up.
        until: When the next one may begin.
        errors: Failures since a step that trained got through.
        untold: Trainings that were given up and may still say what they have spent.
    """

    wishes: dict[int, Train] = attrs.field(factory=dict[int, Train], init=False)
    running: TrainCall | None = attrs.field(default=None, init=False)
    deadline: float | None = attrs.field(default=None, init=False)
    until: float = attrs.field(default=0.0, init=False)
    errors: int = attrs.field(default=0, init=False)
    untold: set[int] = attrs.field(factory=set[int], init=False)

    def waits(self, step: int) -> bool:
        """
        Whether a step waits for a training, be it that it runs.
        """
        return step in self.wishes or (self.running is not None and self.running.step == step)

    def next(self, now: float) -> Wish | None:
        """
        The step whose training is to begin now, if any.
        """
        if not self.wishes or self.running is not None or now < self.until:
            return None
        return next(iter(self.wishes.items()))

    def began(self, call: TrainCall, deadline: float | None) -> None:
        """
        A training begins.
        """
        del self.wishes[call.step]
        self.running, self.deadline = call, deadline

    def restarted(self, deadline: float | None) -> None:
        """
        Another process makes the training that runs once more; those that were given up say nothing
        any more.
        """
        self.deadline = None if self.running is None else deadline
        self.untold.clear()

    def ended(self) -> None:
        """
        The training that runs is over.
        """
        self.running = self.deadline = None

    def failed(self, now: float, retry_after: float | None) -> None:
        """
        It failed; the next one waits for a while.
        """
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(self.errors, _DOUBLINGS))
        if retry_after is not None:
            pause = max(pause, min(retry_after, LONGEST_ASKED))
        self.until = now + pause
        self.errors += 1

    def overdue(self, now: float) -> TrainCall | None:
        """
        The training that runs, when its deadline has come.
        """
        return self.running if self.deadline is not None and self.deadline <= now else None

    def next_alarm(self, now: float) -> float | None:
        """
        When the training that runs is given up, or a pause ends for which a step waits.
        """
        if self.running is not None:
            return self.deadline
        return self.until if self.wishes and self.until > now else None
