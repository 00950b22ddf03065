"""
Scripts: a simulated run, played again by a driver that has real threads or a real event loop.

Real threads do the real work, but each answer waits for its turn: the machine is told what it was
told in the script, in that order and at those times.  Timers, and what a fault made of an answer,
come from the script.  So the machine takes the same decisions, unless a plug-in or the domain gives
something else this time; then the first event that differs is named.
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import TypeAlias

import attrs

from headway.codec import encode
from headway.contracts import Json, canonical_json
from headway.drivers import Engine, Interrupt
from headway.drivers._recovery import TakenUp
from headway.drivers.concurrent import NO_CALL, Arrival, ConcurrentRun
from headway.drivers.serial import run_serial
from headway.errors import shown
from headway.journal import Row
from headway.machine import (
    Abandon,
    Call,
    Cancel,
    Done,
    Event,
    Failed,
    Instruction,
    Raised,
    Resume,
    Resumed,
    Returned,
    Run,
    Started,
    Stop,
    Tick,
    Yielded,
)

Key: TypeAlias = tuple[str | int, ...]
"""What an event is the answer to."""

_NEVER = -1.0
"""A time at which no timer of a machine is due."""


class ScriptError(AssertionError):
    """
    A run that was to follow a script did something else, or does not go on.
    """


@attrs.frozen(kw_only=True)
class Script:
    """
    What happened in a simulated run, in order.

    Args:
        rows: Every event, with the look-ups' answers.
        answers: What each call gave, by its number, before a fault made something else of it.
        digest: What the run came to.
    """

    rows: tuple[Row, ...]
    answers: Mapping[int, Done | Failed]
    digest: str


def key_of(event: Event) -> Key | None:
    """
    What an event is the answer to; None for one that nobody's work brings.
    """
    if isinstance(event, Done | Failed):
        return ("call", event.call)
    if isinstance(event, Yielded | Returned | Raised):
        return ("step", event.step, event.n)
    return ("started",) if isinstance(event, Started) else None


def gist(event: Event) -> str:
    """
    All of an event that must be the same whichever driver it comes from, spelled.
    """
    assert not isinstance(event, Tick | Stop | Resumed | Started)
    event = attrs.evolve(event, now=0.0)
    if isinstance(event, Yielded | Returned | Raised):
        event = attrs.evolve(event, took=0.0)
    if isinstance(event, Failed | Raised):
        event = attrs.evolve(event, fault=attrs.evolve(event.fault, traceback=""))
    spelled: Json = encode(event)
    return canonical_json(spelled)


@attrs.define(eq=False)
class Turns:
    """
    A script's place in a run that follows it; also the queue of what has arrived, in script order.

    Guarantee: it never waits for what nobody is at work on; that raises ``ScriptError`` at once.

    Args:
        script: What to follow.
        engine: The run; it is looked over from now on.
    """

    script: Script
    engine: Engine
    _taken: int = attrs.field(default=0, init=False)
    _seen: int = attrs.field(default=0, init=False)
    _held: dict[Key, Arrival] = attrs.field(factory=dict[Key, Arrival], init=False)
    _through: deque[Arrival] = attrs.field(factory=deque[Arrival], init=False)
    _owed: dict[Key, str] = attrs.field(factory=dict[Key, str], init=False)
    _free: set[int] = attrs.field(factory=set[int], init=False)
    _stop: Stop | None = attrs.field(default=None, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    # ------------------------------------------------------------------ the queue

    def append(self, arrived: Arrival, /) -> None:
        """
        Hold what has arrived until its turn; nobody's work but the script's sets timers off.
        """
        event, _, call = arrived
        key = None if event is None else key_of(event)
        with self._lock:
            if key is not None:
                self._held[key] = arrived
            elif isinstance(event, Stop):
                self._stop = event
            elif event is None:
                self._through.append(arrived)
                self._free.add(call)

    def __len__(self) -> int:
        with self._lock:
            return len(self._through) + (self._stop is not None or self._is_ready())

    def _is_ready(self) -> bool:
        if self._taken == len(self.script.rows):
            return False
        key = key_of(self.script.rows[self._taken].event)
        return key is None or key in self._held or self._is_free(key)

    def _is_free(self, key: Key) -> bool:
        """
        Whether this comes from the script, be anybody at work on it or not.
        """
        return key[0] == "call" and key[1] in self._free

    def popleft(self) -> Arrival:
        """
        What the machine is to be told next.

        Raises:
            ScriptError: what has arrived is not what the script says, or nothing has for too long.
        """
        with self._lock:
            if self._through:
                return self._through.popleft()
            if self._stop is not None:
                raise self._stopped(self._stop)
            number, expected = self._taken, self.script.rows[self._taken].event
            self._taken += 1
            key = key_of(expected)
            if key is None or (key not in self._held and self._is_free(key)):
                return expected, None, NO_CALL
            event, place, call = self._held.pop(key)
            free = self._is_free(key)
            if key[0] == "call":
                self._free.add(int(key[1]))  # whatever else the script says of it comes from there
        if not free and event is not None:
            self._compare(number, expected, event)
        return expected, place, call

    def _stopped(self, stop: Stop) -> ScriptError:
        self._stop = None
        why = "nothing arrived for too long" if stop.fault is None else stop.fault.message
        return ScriptError(
            f"the run was stopped at event {self._taken} of the script: {why}. It waited for"
            f" {self._named(self._taken)}\n-> see what keeps that from ending: it sleeps, waits or"
            " loops; give a longer patience if it is only slow"
        )

    # ------------------------------------------------------------------ what the machine does

    @property
    def now(self) -> float:
        """
        The time of the last event, in seconds since the run began.
        """
        return self.script.rows[max(0, self._taken - 1)].event.now

    def follow(self, event: Event, out: list[Instruction]) -> None:
        """
        Look over the machine's shoulder: is this what the script says?

        Raises:
            ScriptError: it is not, or what the script says next can't come.
        """
        with self._lock:
            number = self._seen
            self._seen += 1
            self._taken = max(self._taken, self._seen)
            for instruction in out:
                self._note(instruction)
        if number >= len(self.script.rows):
            raise ScriptError(self._differs(number, "the run's end", shown(event)))
        row = self.script.rows[number]
        key = key_of(event)
        if key is None or key != key_of(row.event):
            if type(event) is not type(row.event):
                raise ScriptError(self._differs(number, shown(row.event), shown(event)))
        elif key != ("started",):
            self._same(number, gist(row.event), gist(event))
        answers: Json = encode(tuple(self.engine.lookups.answers))
        looked_up: Json = encode(row.answers)
        self._same(number, canonical_json(looked_up), canonical_json(answers), "look-ups of ")
        self._check_next()

    def _note(self, instruction: Instruction) -> None:
        if isinstance(instruction, Run):
            self._owed["call", instruction.call.id] = _call(instruction.call)
        elif isinstance(instruction, Resume):
            step, n = instruction.step, instruction.n + 1
            self._owed["step", step, n] = f"request {n} of step {step}"
        elif isinstance(instruction, Cancel | Abandon):
            self._free.add(instruction.call)

    def _check_next(self) -> None:
        if self._seen == len(self.script.rows):
            return
        key = key_of(self.script.rows[self._seen].event)
        if key is not None and key not in self._owed:
            raise ScriptError(
                f"event {self._seen} of the script is {self._named(self._seen)} {key}, and nothing is"
                " running that would bring it\n-> play a script with the aggregator, the domain and"
                " the options that it was recorded with"
            )

    def _compare(self, number: int, expected: Event, event: Event) -> None:
        if isinstance(expected, Done | Failed):
            expected = self.script.answers[expected.call]
        if not isinstance(expected, Started):
            self._same(number, gist(expected), gist(event))

    def _same(self, number: int, expected: str, found: str, what: str = "") -> None:
        if expected != found:
            raise ScriptError(self._differs(number, shown(expected), shown(found), what))

    def _differs(self, number: int, expected: str, found: str, what: str = "") -> str:
        return (
            f"{what}event {number}, {self._named(number)}, differ: the script has\n  {expected}\n"
            f"and this run\n  {found}\n-> let it depend on its arguments alone: not on the thread,"
            " the loop, the clock or the order in which calls are made; randomness comes from the"
            " rng it is given"
        )

    def _named(self, number: int) -> str:
        if number >= len(self.script.rows):
            return "the end"
        event = self.script.rows[number].event
        key, kind = key_of(event), type(event).__name__
        return f"{kind} of {self._owed[key]}" if key in self._owed else kind


def _call(call: Call) -> str:
    about = {name: getattr(call, name, None) for name in ("ticket", "task", "draw")}
    ticket = about.pop("ticket")
    if ticket is not None:
        about["ticket"] = ticket.number
    told = ", ".join(f"{name} {value}" for name, value in about.items() if value is not None)
    return f"call {call.id} ({call.kind}{': ' if told else ''}{told})"


@attrs.define(eq=False)
class _SerialTurns:
    """
    The same queue, for a driver that has nothing but events.
    """

    turns: Turns

    def append(self, arrived: Event, /) -> None:
        self.turns.append((arrived, None, NO_CALL))

    def popleft(self) -> Event:
        event, _, _ = self.turns.popleft()
        assert event is not None
        return event

    def __len__(self) -> int:
        return len(self.turns)


def play_serially(turns: Turns, started: Started) -> None:
    """
    Play a script under the driver ``serial``.
    """
    run_serial(turns.engine, _begin(started), lambda: turns.now, Interrupt(), _SerialTurns(turns))


def play_concurrently(
    turns: Turns, started: Started, *, steps_on_loop: bool, patience: float
) -> None:
    """
    Play a script under the driver ``threads``, or ``asyncio`` where steps run on the loop.
    """
    interrupt = Interrupt()
    interrupt.begin()
    run = ConcurrentRun(
        engine=turns.engine,
        now=lambda: _NEVER,  # every time that counts is the script's
        steps_on_loop=steps_on_loop,
        arrivals=turns,
    )
    impatient = threading.Timer(patience, interrupt.request, (signal.SIGINT,))
    impatient.daemon = True
    impatient.start()
    try:
        run.run(_begin(started), interrupt)
    finally:
        impatient.cancel()


def _begin(started: Started) -> TakenUp:
    return TakenUp(now=started.now, calls=(), cancelled=frozenset(), events=(started,))


PLAY: Mapping[str, Callable[[Turns, Started, float], None]] = {
    "serial": lambda turns, started, _patience: play_serially(turns, started),
    "threads": lambda turns, started, patience: play_concurrently(
        turns, started, steps_on_loop=False, patience=patience
    ),
    "asyncio": lambda turns, started, patience: play_concurrently(
        turns, started, steps_on_loop=True, patience=patience
    ),
}
"""How to play a script, by the driver's name."""
