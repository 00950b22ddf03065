"""
What all drivers share: the machine, its journal, its steps and its observers.

``feed`` hands the machine an event, lets open steps go on until they ask for something that takes
time, and returns what is left for the driver to do: calls to run, calls to cancel.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs

from headway.contracts import Fault, Notice, Observer, RunStarted
from headway.drivers._domain_calls import FAILURES
from headway.drivers._steps import StepHost
from headway.drivers._work import Workbench
from headway.journal import Keeper
from headway.machine import (
    Abandon,
    Abort,
    Cancel,
    Event,
    FaultCount,
    Finish,
    Instruction,
    Lookups,
    Machine,
    Notify,
    Resume,
    Run,
)

Work: TypeAlias = Run | Cancel | Abandon
"""What an engine leaves to its driver."""

WORK = (Run, Cancel, Abandon)
"""The same, as classes."""

FAULTY_OBSERVER = 3
"""An observer that raises this often is not told any more."""


def _no_hooks(notice: Notice) -> tuple[BaseException, ...]:
    del notice
    return ()


@attrs.define(eq=False)
class Telling:
    """
    Tells observers and event hooks, one by one; one that raises keeps no other from being told.

    Args:
        observers: Told every notice.
        hooks: Tells the plug-ins' event hooks and returns what they raised.
    """

    observers: Sequence[Observer]
    hooks: Callable[[Notice], tuple[BaseException, ...]] = _no_hooks
    faults: FaultCount = attrs.field(factory=FaultCount, init=False)
    _errors: Counter[int] = attrs.field(factory=Counter[int], init=False)

    @property
    def wanted(self) -> bool:
        """
        Whether there is anybody to be told.
        """
        return bool(self.observers) or self.hooks is not _no_hooks

    def cut(self, kind: str, why: str) -> None:
        """
        Tell nobody any more, and say why in the result.
        """
        self.faults.add(Fault(where="observer", type=kind, message=why))
        self.observers, self.hooks = (), _no_hooks

    def __call__(self, notice: Notice) -> None:
        for place, observer in enumerate(self.observers):
            if self._errors[place] >= FAULTY_OBSERVER:
                continue
            try:
                observer(notice)
            except FAILURES as error:  # an observer stops no run
                self._errors[place] += 1
                self.faults.add(Fault.of("observer", error))
        for raised in self.hooks(notice):
            self.faults.add(Fault.of("observer", raised))


@attrs.define(eq=False, kw_only=True)
class Engine:
    """
    One run's machine with everything that turns instructions into events, but no clock and no
    threads: the driver owns those, and calls ``feed`` from one thread at a time.

    Args:
        machine: The machine.
        lookups: Its look-ups, whose answers go to the journal.
        steps: Runs the aggregator's steps.
        bench: Performs calls.
        recorder: Keeps what the result shows; told every notice at once.
        tell: Tells observers.
        opening: The first notice.
        journal: Keeps every event, when there is one.
        validate: Whether to assert every invariant after every event.
        events: How many events there were before one stopped the run.
        stopped_at: The number of that event, counted from 0.
        after: Called after every event, once what followed from it has been told to the recorder.
    """

    machine: Machine
    lookups: Lookups
    steps: StepHost
    bench: Workbench
    recorder: Observer
    tell: Telling
    opening: RunStarted
    journal: Keeper | None = None
    validate: bool = False
    events: int = attrs.field(default=0, init=False)
    stopped_at: int | None = attrs.field(default=None, init=False)
    after: Callable[[], None] | None = attrs.field(default=None, init=False)

    def handle(self, event: Event) -> list[Instruction]:
        """
        Hand the machine one event, and keep it.
        """
        self.lookups.answers.clear()
        out = self.machine.handle(event)
        if self.stopped_at is None:
            self.note_stop()
        if self.journal is not None:
            self.journal.append(event, self.lookups.answers, self.machine.witness)
        if self.validate:
            self.machine.validate()
        return out

    def note_stop(self) -> None:
        """
        Count an event that was handled, until one has stopped the run.
        """
        if self.machine.stop_reason is not None:
            self.stopped_at = self.events
        self.events += 1

    def feed(self, *events: Event, now: Callable[[], float] | None = None) -> list[Work]:
        """
        Hand the machine events, go on with the open steps, and return the work that is left.

        Args:
            events: What happened, in this order; what steps say to it comes after all of them.
            now: The clock that a step's requests are dated by; by default it stands still.
        """
        work: list[Work] = []
        todo: deque[Event] = deque(events)
        clock = now or (lambda: events[0].now)
        while todo:
            for instruction in self.handle(todo.popleft()):
                if isinstance(instruction, Notify):  # first, as most are
                    self.announce(instruction.notice)
                elif isinstance(instruction, WORK):
                    work.append(instruction)
                elif isinstance(instruction, Resume):
                    todo.append(self.steps.resume(instruction, clock))
                else:
                    self.settle(instruction)
            if self.after is not None:
                self.after()
        return work

    def settle(self, instruction: Instruction) -> None:
        """
        Carry out an instruction that needs no answer.
        """
        if isinstance(instruction, Notify):
            self.announce(instruction.notice)
        elif isinstance(instruction, Abort):
            self.steps.abort(instruction.step)
        else:
            assert isinstance(instruction, Finish)

    def announce(self, notice: Notice) -> None:
        """
        Tell the recorder, then the observers, who are told nothing that a crash may undo.
        """
        self.recorder(notice)
        if self.tell.wanted:
            self.settle_journal(urgent=True)  # the run stands still meanwhile
            self.tell(notice)

    def settle_journal(self, *, urgent: bool = False) -> None:
        """
        Wait until all that was journalled so far will survive a crash.

        Args:
            urgent: Whether that is to be at once, not when its time has come.
        """
        if self.journal is not None:
            self.journal.settle(urgent=urgent)

    @property
    def finished(self) -> bool:
        """
        Whether the run is over.
        """
        return self.machine.phase == "finished"
