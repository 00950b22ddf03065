"""
The ``simulated`` driver: a virtual clock and a seeded order of events.

User code runs for real, at the virtual moment at which its call starts; the answer arrives when the
call's duration has passed.  Durations and the order of simultaneous answers are functions of the
run's seed and of what the call is, so a run repeats exactly, also after a crash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Protocol, TypeAlias

import attrs

from headway.codec import decode, encode
from headway.contracts import NO_USAGE, Json, Usage
from headway.drivers._checkpoint import put_back, take
from headway.drivers._domain_calls import CANCELLED
from headway.drivers._engine import Engine, Work
from headway.drivers._interrupt import Interrupt
from headway.drivers._recovery import Earlier, Recovery
from headway.durations import Law
from headway.errors import InvariantError
from headway.journal import Row
from headway.keyed import keyed_int, keyed_unit
from headway.machine import (
    Call,
    Cancel,
    Done,
    Event,
    Failed,
    Run,
    Started,
    Stop,
    Tick,
    TicketCall,
)

Delivery: TypeAlias = tuple[float, Event]
"""Seconds after the call's start, and the event that arrives then."""

_ANSWERS = (Done, Failed)


class Tamper(Protocol):
    """
    Changes what arrives for a call, to inject faults.
    """

    def __call__(self, call: Call, seconds: float, answer: Done | Failed) -> list[Delivery]:
        """
        What arrives, and when, instead of ``answer`` after ``seconds``.
        """
        ...

    def deliveries(self, call: Call) -> int:
        """
        How many answers arrive for a call.
        """
        ...

    def early(self, wake_at: float) -> bool:
        """
        Whether this timer fires before everything that is due earlier.
        """
        ...


def draw_seconds(durations: Mapping[str, Law], seed: int, call: Call) -> float:
    """
    How long a call takes; a kind of work without a law takes no time.
    """
    law = durations.get("rollout" if call.kind == "verify" else call.kind)
    if law is None:
        return 0.0
    which = call.ticket.key if isinstance(call, TicketCall) else (call.id,)
    key: tuple[object, ...] = (call.kind, *which)
    if isinstance(call, TicketCall) and call.copy:
        key += (call.copy,)
    return law.draw(keyed_unit(seed, "duration", *key))


@attrs.define(eq=False, kw_only=True)
class Simulation:
    """
    A run under a virtual clock, one event at a time.

    Args:
        engine: The run.
        seed: Orders what happens at the same moment, and draws durations.
        durations: Laws by kind of work.
        tamper: Injects faults, when given.
    """

    engine: Engine
    seed: int
    durations: Mapping[str, Law] = attrs.field(factory=dict[str, Law])
    tamper: Tamper | None = None
    now: float = attrs.field(default=0.0, init=False)
    _due: list[tuple[float, int, int, Event]] = attrs.field(
        factory=list[tuple[float, int, int, Event]], init=False
    )
    _ahead: dict[int, int] = attrs.field(factory=dict[int, int], init=False)
    _pending: set[int] = attrs.field(factory=set[int], init=False)
    _spent: dict[int, Usage] = attrs.field(factory=dict[int, Usage], init=False)
    _count: int = attrs.field(default=0, init=False)
    _asked: float | None = attrs.field(default=None, init=False)
    _early: bool = attrs.field(default=False, init=False)

    def start(self, started: Started) -> None:
        """
        Hand the machine its first event.
        """
        self._feed(started)

    def step(self) -> bool:
        """
        Let the next thing happen; False when the run is over.
        """
        if self.engine.finished:
            return False
        wake_at = self.engine.machine.wake_at
        if wake_at is not None and self._fires(wake_at):
            self.now = max(self.now, wake_at)
            self._feed(Tick(self.now))
            return True
        if not self._due:
            raise InvariantError("the machine waits for something that nobody does")
        due, _, _, event = heappop(self._due)
        self.now = max(self.now, due)
        self._feed(event if event.now == self.now else attrs.evolve(event, now=self.now))
        return True

    def _fires(self, wake_at: float) -> bool:
        if not self._due or wake_at <= self._due[0][0]:
            return True
        if self.tamper is None:
            return False
        if wake_at != self._asked:
            self._asked, self._early = wake_at, self.tamper.early(wake_at)
        return self._early

    def run(self) -> None:
        """
        Bring the run to its end.
        """
        while self.step():
            pass

    def stop(self, reason: str) -> None:
        """
        Ask the machine to end the run.
        """
        self._feed(Stop(self.now, reason))

    def _feed(self, *events: Event) -> None:
        for event in events:
            if isinstance(event, _ANSWERS):
                self._pending.discard(event.call)
                self._spent.pop(event.call, None)
        self.dispatch(self.engine.feed(*events), self.now)

    def dispatch(self, work: list[Work], now: float) -> None:
        """
        Begin what the machine asked for at a moment.
        """
        for instruction in work:
            if isinstance(instruction, Run):
                self._begin(instruction.call, now)
            elif isinstance(instruction, Cancel) and instruction.call in self._pending:
                spent = self._spent.pop(instruction.call, NO_USAGE)
                self._deliver(now, Failed(now, instruction.call, CANCELLED, usage=spent))

    def _begin(self, call: Call, now: float) -> None:
        self._pending.add(call.id)
        skip = self._ahead.get(call.id, 0)
        if skip and skip >= (1 if self.tamper is None else self.tamper.deliveries(call)):
            return
        seconds = draw_seconds(self.durations, self.seed, call)
        answer = self.engine.bench.perform(call, lambda: now + seconds)
        if answer.usage is not NO_USAGE:
            self._spent[call.id] = answer.usage  # its code has run, also if it is cancelled
        arriving: list[Delivery] = [(seconds, answer)]
        if self.tamper is not None:
            arriving = self.tamper(call, seconds, answer)
        for after, event in arriving[skip:]:
            self._deliver(now + after, event)

    def checkpoint(self) -> Json | None:
        """
        A checkpoint of the run and of what is due in it; None when there can be none now.
        """
        run = take(self.engine)
        if run is None:
            return None
        due = [self.now, self._count, self._due, sorted(self._pending), [*self._spent.items()]]
        return {**run, "due": encode(due)}

    def _put_back(self, checkpoint: Json, arrived: Counter[tuple[int, bool]]) -> None:
        """
        Stand where the run stood, but that this has arrived since; what was due then is taken from it.
        """
        put_back(self.engine, checkpoint)
        self.now, self._count, due, pending, spent = decode(checkpoint["due"])
        self._pending, self._spent = set(pending), dict(spent)
        for entry in sorted(due):
            which = _which(entry[3])
            if arrived[which]:
                arrived[which] -= 1
            else:
                self._due.append(entry)

    def recover(
        self, rows: Sequence[Row], recovery: Recovery, checkpoint: Json | None = None
    ) -> None:
        """
        Take up a run where its journal ends, instead of ``start``.

        Every call is begun again at the moment at which it was begun; those whose answers the
        journal holds are not performed again.  The rest arrives when it would have arrived.

        Args:
            rows: The journal; with a checkpoint, what came after it.
            recovery: Takes them in.
            checkpoint: What ``checkpoint`` gave, to begin from instead of the first event.
        """
        told = Counter(_which(row.event) for row in rows if isinstance(row.event, _ANSWERS))
        if checkpoint is not None:
            self._put_back(checkpoint, told)
        begun: list[tuple[float, list[Work]]] = []
        for row in rows:
            event = row.event
            self.now = max(self.now, event.now)
            if isinstance(event, _ANSWERS) and not _is_cancelled(event):
                self._ahead[event.call] = self._ahead.get(event.call, 0) + 1
            begun.append((event.now, recovery.read(row)))
        now = self.now
        for row, (began, work) in zip(rows, begun, strict=True):
            if isinstance(row.event, _ANSWERS):
                self._pending.discard(row.event.call)
            for instruction in work:
                # A call may be cancelled more often than once; what arrived of that is not repeated.
                which = (instruction.call, True) if isinstance(instruction, Cancel) else None
                if which is not None and which[0] in self._pending and told[which]:
                    told[which] -= 1
                else:
                    self.dispatch([instruction], began)
        self.now = now
        # Together, since what several steps were about to say came before what follows from it.
        self._feed(*recovery.reopen(now))

    def _deliver(self, due: float, event: Event) -> None:
        self._count += 1
        tie = keyed_int(self.seed, "order", getattr(event, "call", -1))
        heappush(self._due, (due, tie, self._count, event))


def _which(event: Event) -> tuple[int, bool]:
    """
    What tells one due event from those of other calls, and of a call's own end by cancelling it.
    """
    assert isinstance(event, _ANSWERS)
    return event.call, _is_cancelled(event)


def _is_cancelled(event: Done | Failed) -> bool:
    return isinstance(event, Failed) and event.fault == CANCELLED


def run_simulated(
    engine: Engine,
    started: Started,
    *,
    seed: int,
    durations: Mapping[str, Law],
    interrupt: Interrupt,
    earlier: Earlier | None = None,
    taken_up: Callable[[], None] | None = None,
) -> None:
    """
    Bring a run to its end under a virtual clock; Ctrl-C stops it as it stops a real one.

    Args:
        engine: The run.
        started: Its first event.
        seed: See ``Simulation``.
        durations: See ``Simulation``.
        interrupt: Stops it.
        earlier: What an earlier process journalled, when this one goes on; the run then ends as it
            would have without a break.
        taken_up: Called once that has been read.
    """
    simulation = Simulation(engine=engine, seed=seed, durations=durations)
    asked: list[bool] = []
    with interrupt.asking(lambda: asked.append(True)):
        if earlier is None:
            simulation.start(started)
        else:
            recovery = Recovery(engine, earlier.lookups)
            simulation.recover(list(earlier.rows), recovery, earlier.checkpoint)
            if taken_up is not None:
                taken_up()
        while simulation.step():
            if asked:
                asked.clear()
                simulation.stop("interrupted")
