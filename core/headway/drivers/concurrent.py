"""
The drivers ``threads`` and ``asyncio``: one machine, served by threads and an event loop.

Plain functions run on dedicated threads, as many as there are calls at once; coroutines run on one
loop.  Whoever finishes a call hands its answer to the machine and takes the next call itself.  The
calling thread keeps the time and listens to signals, and nothing else, so that deadlines and stops
hold whatever user code does: it runs on other threads, and none of them is waited for.

Answers are combined: they go to a queue, and one thread at a time feeds the machine what is there.
Who finds it fed by another thread waits for no lock.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sized
from math import inf
from typing import Any, TypeAlias

import attrs

from headway.contracts import Fault, Notice
from headway.drivers._arrivals import Arrivals
from headway.drivers._domain_calls import CANCELLED
from headway.drivers._engine import Engine
from headway.drivers._interrupt import Interrupt
from headway.drivers._lane import Lane
from headway.drivers._loop import Loop, LoopSteps, StepWork
from headway.drivers._recovery import TakenUp
from headway.drivers._teller import Teller
from headway.drivers._waker import Waker
from headway.machine import (
    Abandon,
    Abort,
    Call,
    Cancel,
    Event,
    Failed,
    Finish,
    Notify,
    Resume,
    Run,
    Stop,
    Tick,
)

LINGER = 0.2
"""
Seconds that the caller waits, after the end, for coroutines to end and for the loop's thread.

As long do observers get at least for what is left, when the grace was spent on a commit.
"""

TOO_SLOW = "observers were so slow that the last notices were not told to them"

Place: TypeAlias = "Lane[Call] | Lane[StepWork] | LoopSteps | Loop"
Arrival: TypeAlias = "tuple[Event | None, Place | None, int]"
"""An event, the place at which a piece of work ended, and the call's number."""

NO_CALL = -1


@attrs.define(eq=False, kw_only=True)
class ConcurrentRun:
    """
    One run with real concurrency.

    Args:
        engine: The run.
        now: Seconds since the run began, on a monotonic clock; any thread may ask.
        steps_on_loop: Whether the aggregator's steps run on the loop; else on a thread.
        home: The running loop of whoever awaits the run, for its coroutines.
        arrivals: What has happened and was not handled yet, in the order in which it will be.
    """

    engine: Engine
    now: Callable[[], float]
    steps_on_loop: bool = False
    home: asyncio.AbstractEventLoop | None = None
    _arrivals: Arrivals[Arrival] = attrs.field(factory=deque[Arrival], alias="arrivals")
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _waker: Waker = attrs.field(factory=Waker, init=False)
    _work: Lane[Call] = attrs.field(init=False)
    _commits: Lane[Call] = attrs.field(init=False)
    _trainings: Lane[Call] = attrs.field(init=False)
    _steps: Lane[StepWork] | LoopSteps = attrs.field(init=False)
    _loop: Loop = attrs.field(init=False)
    _lanes: dict[str, Lane[Call]] = attrs.field(init=False)
    _places: tuple[Place, ...] = attrs.field(init=False)
    _queues: tuple[tuple[Place, Sized], ...] = attrs.field(init=False)
    _teller: Teller = attrs.field(init=False)
    _cancelled: set[int] = attrs.field(factory=set[int], init=False)
    _in_training: set[int] = attrs.field(factory=set[int], init=False)
    _given_up: list[int] = attrs.field(factory=list[int], init=False)
    _is_told: bool = attrs.field(init=False)
    _coroutines: frozenset[str] = attrs.field(init=False)
    _sleeps_until: float = attrs.field(default=0.0, init=False)
    _over: bool = attrs.field(default=False, init=False)
    _broken: BaseException | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._work = Lane("worker", self._perform, self._refused)
        self._commits = Lane("commit", self._perform, self._refused, most=1)
        self._trainings = Lane("train", self._perform, self._refused, most=1)
        self._loop = Loop(self._perform_on_loop, self._refused, self.home)
        if self.steps_on_loop:
            self._steps = LoopSteps(self._loop, self._advance)
        else:
            self._steps = Lane("steps", self._advance, self._refused, most=1)
        self._lanes = {"commit": self._commits, "promote": self._commits, "train": self._trainings}
        # The loop ends last.
        self._places = (self._work, self._steps, self._commits, self._trainings, self._loop)
        self._queues = tuple((place, place.waiting) for place in self._places)
        self._teller = Teller(
            self.engine.tell, self._waker.wake, self._break_off, self.engine.settle_journal
        )
        self._is_told = self.engine.tell.wanted
        self._coroutines = self.engine.bench.coroutines

    # ------------------------------------------------------------------ the calling thread

    def run(self, begin: TakenUp, interrupt: Interrupt) -> None:
        """
        Bring the run to its end; an interrupt stops it, from whichever thread that comes.

        Args:
            begin: Where it begins.
            interrupt: Stops it.
        """
        with self._waker:
            try:
                self._begin_at(begin)
                with interrupt.asking(self._ask):
                    self._keep_time()
                    self._wait_for_observers()
            finally:
                # A look-up that hangs holds the lock; who asks twice to be let go is let go.
                held = self._lock.acquire(timeout=LINGER)
                self._end()
                if held:
                    self._lock.release()
            self._loop.join(LINGER)
        if self._broken is not None:
            raise self._broken

    def _begin_at(self, begin: TakenUp) -> None:
        self._notify(Notify(self.engine.opening))
        self._cancelled |= begin.cancelled
        for call in begin.calls:
            self._begin(Run(call))
        for event in begin.events:
            self._arrivals.append((event, None, NO_CALL))
        self._feed(None)
        if self.engine.finished:  # also when it was over before it began, and nothing will say so
            with self._lock:
                self._end()

    def _ask(self) -> None:
        # Only left there, since a signal handler may find its own thread feeding the machine.
        self._arrivals.append((Stop(self.now(), "interrupted"), None, NO_CALL))
        self._waker.wake()

    def _keep_time(self) -> None:
        while not self._over:
            self._waker.wait(self._until_alarm())
            self._feed(self._waker)  # what was only left there

    def _until_alarm(self) -> float:
        """
        Seconds until the alarm; when it is due, a ``Tick`` comes first.

        No lock is waited for.  Whoever feeds the machine sets ``wake_at`` and then compares it with
        ``_sleeps_until``; here that is raised first and ``wake_at`` read afterwards, so that one of
        the two sees an alarm that both are at.  A ``Tick`` that is left to another thread is waited
        for: that thread wakes this one for the alarm that is left.
        """
        while True:
            self._sleeps_until = inf
            wake_at, now = self.engine.machine.wake_at, self.now()
            if wake_at is None:
                return inf
            if wake_at > now:
                self._sleeps_until = wake_at
                return wake_at - now
            self._arrivals.append((Tick(now), None, NO_CALL))
            if not self._feed(self._waker) or self._over:
                return inf

    def _wait_for_observers(self) -> None:
        if not self._teller.idle:
            self.engine.settle_journal(urgent=True)  # now the run does wait for them
        machine, now = self.engine.machine, self.now()
        since = now if machine.halted_at is None else min(now, machine.halted_at)
        ends = max(since + machine.config.shutdown_grace, now + LINGER)
        while not self._teller.idle:
            left = ends - self.now()
            if left <= 0:
                self.engine.tell.cut("TooSlow", TOO_SLOW)
                return
            self._waker.wait(left)

    # ------------------------------------------------------------------ any thread

    def _post(self, event: Event) -> None:
        self._arrive((event, None, NO_CALL))

    def _arrive(self, arrival: Arrival) -> None:
        self._arrivals.append(arrival)
        self._feed(arrival[1])

    def _feed(self, own: Place | Waker | None) -> bool:
        """
        Feed the machine what has arrived, unless another thread is at it, and pass on the work.

        Whoever had the lock, for whatever reason, calls this once it is released: what arrived
        meanwhile was left to it.

        Args:
            own: Where the calling thread is about to look for work, or for the time, itself.

        Returns:
            Whether it did; else all was left to another thread.
        """
        fed = False
        while self._arrivals and self._lock.acquire(False):
            try:
                self._feed_all()
            except BaseException as error:  # noqa: BLE001 - a fault of Headway's own ends the run
                self._break(error)
            finally:
                self._lock.release()
            for place, waiting in self._queues:
                if waiting:
                    place.nudge(own=place is own)
            wake_at = self.engine.machine.wake_at
            if wake_at is not None and wake_at < self._sleeps_until and own is not self._waker:
                self._waker.wake()
            fed = True
        return fed

    def _feed_all(self) -> None:
        while self._arrivals:
            event, place, call = self._arrivals.popleft()
            if place is not None:
                place.ended(call)
                self._cancelled.discard(call)
                self._in_training.discard(call)
            if event is not None and not self._over:
                for instruction in self.engine.handle(event):
                    _DISPATCH[type(instruction)](self, instruction)
                if self.engine.after is not None:
                    self.engine.after()
        if self._given_up:  # all at once: at the end of a run that may be thousands
            self._loop.cancel(self._given_up)
            self._given_up = []

    def _end(self) -> None:
        if self._over:
            return
        self._over = self.engine.bench.over = True
        self._teller.end()
        for place in self._places:
            place.end()
        self._waker.wake()

    def _break(self, error: BaseException) -> None:
        self._broken = error
        self._end()

    def _refused(self, error: RuntimeError) -> None:
        threads = threading.active_count()
        text = f"{error}; {threads} threads run already: lower n_workers or slots, or take asyncio"
        fault = Fault(where="driver", type=type(error).__name__, message=text)
        self._post(Stop(self.now(), "error", fault))

    # ------------------------------------------------------------------ instructions

    def _begin(self, instruction: Run) -> None:
        call = instruction.call
        if call.kind in self._coroutines:  # the ledger's kinds never are
            self._loop.put(call)
            return
        lane = self._lanes.get(call.kind, self._work)
        if lane is self._trainings:
            self._in_training.add(call.id)
        lane.put(call)

    def _cancel(self, instruction: Cancel) -> None:
        self._cancelled.add(instruction.call)
        self._give_up(instruction.call)

    def _abandon(self, instruction: Abandon) -> None:
        self._place_of(instruction.call).lose(instruction.call)
        self._give_up(instruction.call)

    def _give_up(self, call: int) -> None:
        if call in self._loop.held:
            self._given_up.append(call)
        else:
            self.engine.bench.give_up(call)

    def _place_of(self, call: int) -> Lane[Call] | Loop:
        if call in self._loop.held:
            return self._loop
        return self._trainings if call in self._in_training else self._work

    def _go_on(self, instruction: StepWork) -> None:
        self._steps.put(instruction)

    def _notify(self, instruction: Notify) -> None:
        self.engine.recorder(instruction.notice)
        if self._is_told:
            self._tell(instruction.notice)

    def _tell(self, notice: Notice) -> None:
        try:
            self._teller.put(notice)
        except RuntimeError as error:  # there is no thread for it; the run goes on if it can
            self._is_told = False
            self.engine.tell.cut(type(error).__name__, str(error))

    def _finish(self, instruction: Finish) -> None:
        del instruction
        self._end()

    # ------------------------------------------------------------------ the work itself

    def _perform(self, call: Call) -> None:
        lane = self._lanes.get(call.kind, self._work)
        answer: Event | None = None
        try:
            if call.id in self._cancelled:
                answer = self._unbegun(call)
            elif not (self._over or call.id in lane.lost):
                answer = self.engine.bench.perform(call, self.now)
        except BaseException as error:  # noqa: BLE001 - it ends the run and is raised there
            self._break_off(error)
        self._arrive((answer, lane, call.id))

    async def _perform_on_loop(self, call: Call) -> None:
        answer: Event | None = None
        try:
            if call.id in self._cancelled:
                answer = self._unbegun(call)
            elif not (self._over or call.id in self._loop.lost):
                answer = await self.engine.bench.perform_async(call, self.now)
        except BaseException as error:  # noqa: BLE001 - as for plain functions
            self._break_off(error)
        self._arrive((answer, self._loop, call.id))

    def _unbegun(self, call: Call) -> Failed:
        return Failed(self.now(), call.id, CANCELLED)

    def _advance(self, piece: StepWork) -> None:
        answer: Event | None = None
        try:
            if isinstance(piece, Abort):
                self.engine.steps.abort(piece.step)
            elif not self._over:
                answer = self.engine.steps.resume(piece, self.now)
        except BaseException as error:  # noqa: BLE001 - as for calls
            self._break_off(error)
        self._arrive((answer, self._steps, NO_CALL))

    def _break_off(self, error: BaseException) -> None:
        with self._lock:
            self._break(error)
        self._feed(None)


_DISPATCH: dict[type, Callable[[ConcurrentRun, Any], None]] = {
    Run: ConcurrentRun._begin,
    Cancel: ConcurrentRun._cancel,
    Abandon: ConcurrentRun._abandon,
    Resume: ConcurrentRun._go_on,
    Abort: ConcurrentRun._go_on,
    Notify: ConcurrentRun._notify,
    Finish: ConcurrentRun._finish,
}
"""Who carries out which instruction."""
