"""
Brings a run back from its journal.

The journal's events go through a new machine with the recorded look-ups, so nothing is measured or
paid again.  A step that was open is run again from its start on the recorded answers; one that asks
for something else than the journal holds has diverged.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import attrs

from headway.contracts import Json, Snapshot, TaskBook, Ticket, Verdict, Work
from headway.drivers._engine import WORK, Engine
from headway.drivers._engine import Work as Instructed
from headway.errors import ReplayDivergence
from headway.journal import Row
from headway.machine import (
    Abort,
    Call,
    Cancel,
    Done,
    Event,
    Failed,
    LookupRaised,
    Lookups,
    Notify,
    Raised,
    RecordedLookups,
    Resume,
    Resumed,
    Returned,
    Run,
    TrainCall,
    Yielded,
)


@attrs.define(eq=False)
class ResumedLookups:
    """
    Recorded answers while a journal is read, the plug-ins' own from then on.

    Args:
        plugins: The look-ups to go on with.
        live: Whether the journal has been read.
    """

    plugins: Lookups
    recorded: RecordedLookups = attrs.field(factory=RecordedLookups)
    live: bool = False

    @property
    def _now(self) -> Lookups:
        return self.plugins if self.live else self.recorded

    @property
    def answers(self) -> list[Any]:
        """
        The answers given since they were last cleared.
        """
        return self._now.answers

    def select(self, ticket: Ticket, head: Snapshot, memory: Json) -> Work:
        """
        What a ticket is to work on.
        """
        return self._now.select(ticket, head, memory)

    def pick(self, book: TaskBook) -> str:
        """
        The task of the next ticket.
        """
        return self._now.pick(book)

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        What to do with a stale card.
        """
        return self._now.decide(eta, alpha, contract_breaking)

    def estimate(self) -> float | None:
        """
        The expected duration of a rollout, in seconds.
        """
        return self._now.estimate()

    def observe(self, seconds: float) -> None:
        """
        A rollout took this long; the plug-in learns it also while the journal is read.
        """
        if not self.live:
            with suppress(LookupRaised):  # what came of it then stands in the journal
                self.plugins.observe(seconds)
        self._now.observe(seconds)

    @property
    def learnt(self) -> list[Json] | None:
        """
        What the plug-ins have learnt by now, for a checkpoint; None when one of them can't say.
        """
        return self.plugins.learnt

    def recall(self, learnt: list[Json]) -> None:
        """
        Put back what the plug-ins had learnt.
        """
        self.plugins.recall(learnt)


@attrs.define(eq=False)
class Recovery:
    """
    Reads a journal into a new engine, row by row.

    Args:
        engine: A new engine whose look-ups are ``lookups``, and whose journal holds the rows already.
        lookups: What its machine was built with.
        read: How many events came before the first row.
    """

    engine: Engine
    lookups: ResumedLookups
    _read: int = 0
    _resumed: dict[int, list[Resume]] = attrs.field(factory=dict[int, list[Resume]], init=False)
    _said: dict[int, list[Event]] = attrs.field(factory=dict[int, list[Event]], init=False)

    def read(self, row: Row) -> list[Instructed]:
        """
        Take in one row; returns the work that the machine asked for then.
        """
        self.lookups.recorded.load(row.answers)
        event = row.event
        if isinstance(event, Yielded):
            self._said.setdefault(event.step, []).append(event)
        elif isinstance(event, Returned | Raised):
            self._forget(event.step)
        work: list[Instructed] = []
        for instruction in self.engine.machine.handle(event):
            if isinstance(instruction, WORK):
                work.append(instruction)
            elif isinstance(instruction, Resume):
                # To the end, so that steps that have an answer to come are in the order of asking.
                told = self._resumed.pop(instruction.step, [])
                self._resumed[instruction.step] = [*told, instruction]
            elif isinstance(instruction, Abort):
                self._forget(instruction.step)
            elif isinstance(instruction, Notify):
                self.engine.recorder(instruction.notice)
        self._check(row)
        self._read += 1
        if self.engine.stopped_at is None:
            self.engine.note_stop()
        return work

    def _check(self, row: Row) -> None:
        witness, kind = self.engine.machine.witness, type(row.event).__name__
        if row.witness not in ("", witness):
            message = (
                f"event {self._read} ({kind}) led to {witness}; the journal holds {row.witness}"
            )
            raise ReplayDivergence(message)

    def _forget(self, step: int) -> None:
        self._resumed.pop(step, None)
        self._said.pop(step, None)

    def reopen(self, now: float) -> list[Event]:
        """
        End reading: run open steps again; returns what they say that the journal does not hold.

        Raises:
            ReplayDivergence: a step asks for something else than the journal holds.
        """
        self.lookups.live = True
        news: list[Event] = []
        for step, instructions in self._resumed.items():
            said = self._said.get(step, [])
            for place, instruction in enumerate(instructions):
                event = self.engine.steps.resume(instruction, lambda: now)
                if place >= len(said):
                    news.append(event)
                elif not _says_the_same(event, said[place]):
                    message = f"step {step} asks for {event!r}; the journal holds {said[place]!r}"
                    raise ReplayDivergence(message)
        return news


@attrs.frozen(kw_only=True)
class Earlier:
    """
    What an earlier process journalled.

    Args:
        rows: The rows, to be read once; with a checkpoint, those that came after it.
        lookups: What the new machine was built with.
        first: How many events came before these.
        checkpoint: What ``take`` gave, or a simulation's ``checkpoint``; None to read from the first
            event.
        answers: What calls gave after these rows, in an end of the run that was taken back.
    """

    rows: Iterable[Row]
    lookups: ResumedLookups
    first: int = 0
    checkpoint: Json | None = None
    answers: tuple[Done, ...] = ()


@attrs.frozen(kw_only=True)
class TakenUp:
    """
    Where a run stands that is taken up from its journal.

    Args:
        now: Its clock.
        calls: The calls that were in flight, in the order in which they were made.
        cancelled: Those of them that nobody waits for any more.
        events: What the machine is to be told first; nothing when the run was over.
    """

    now: float
    calls: tuple[Call, ...]
    cancelled: frozenset[int]
    events: tuple[Event, ...]


def take_up(recovery: Recovery, rows: Iterable[Row], answers: Iterable[Done] = ()) -> TakenUp:
    """
    Read a journal to its end; what was in flight is to be made again.

    Args:
        recovery: Takes the rows in.
        rows: The journal.
        answers: What paid calls and trainings gave that were in flight then: those are not made again.

    Raises:
        ReplayDivergence: the run is not the one that wrote the journal.
    """
    machine = recovery.engine.machine  # from a checkpoint, it waits for calls already
    now = machine.now
    calls: dict[int, Call] = {call.id: call for call in machine.in_flight}
    cancelled = set(machine.unwanted)
    for row in rows:
        event = row.event
        now = max(now, event.now)
        for work in recovery.read(row):
            if isinstance(work, Run):
                calls[work.call.id] = work.call
            elif isinstance(work, Cancel):
                cancelled.add(work.call)
            else:
                calls.pop(work.call, None)
        if isinstance(event, Done | Failed):
            calls.pop(event.call, None)
    # A run that was over had only not written its result yet: nothing is to go on.
    events: list[Event] = []
    if not recovery.engine.finished:
        events = [Resumed(now), *recovery.reopen(now)]
        for answer in answers:
            call = calls.get(answer.call)
            dear = call is not None and (call.paid or isinstance(call, TrainCall))
            if dear and answer.call not in cancelled:
                events.append(attrs.evolve(answer, now=now))
                del calls[answer.call]
    return TakenUp(
        now=now,
        calls=tuple(calls.values()),
        cancelled=frozenset(cancelled & {*calls}),
        events=tuple(events),
    )


def _says_the_same(event: Yielded | Returned | Raised, said: Event) -> bool:
    """
    Whether a step says what it said before, whenever and however slowly.
    """
    return attrs.evolve(event, now=said.now, took=getattr(said, "took", 0.0)) == said
