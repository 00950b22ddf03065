"""
The ``threads`` driver: dedicated threads that each take any work, one call after the other.

One lock guards the machine.  The thread that finishes a call hands in its answer and takes the next
call itself, so a busy run needs no hand-over.  The calling thread runs steps, tells observers and
keeps the time; one further thread commits.  A call that was given up leaves its thread behind, a
daemon, and another takes its place.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

import attrs

from headway.drivers._engine import Engine
from headway.drivers._interrupt import SIGNALS, Interrupt
from headway.drivers.serial import CANCELLED
from headway.machine import (
    Abandon,
    Abort,
    Call,
    Cancel,
    CommitCall,
    Event,
    Failed,
    Instruction,
    Resume,
    Run,
    Started,
    Stop,
    Tick,
)


@attrs.define(eq=False)
class Lane:
    """
    Calls that wait for a thread, and how many threads serve them.
    """

    most: int
    ready: threading.Condition
    calls: deque[Call] = attrs.field(factory=deque[Call])
    idle: int = 0
    threads: int = 0


@attrs.define(eq=False)
class ThreadedRun:
    """
    One run under threads.

    Args:
        engine: The run.
        slots: Calls at once.
        now: Seconds since the run began, on a monotonic clock; any thread may ask.
    """

    engine: Engine
    slots: int
    now: Callable[[], float]
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _main: threading.Condition = attrs.field(init=False)
    _steps: deque[Instruction] = attrs.field(factory=deque[Instruction], init=False)
    _notices: deque[Instruction] = attrs.field(factory=deque[Instruction], init=False)
    _ended_at: float = attrs.field(default=0.0, init=False)
    _work: Lane = attrs.field(init=False)
    _commits: Lane = attrs.field(init=False)
    _given_up: set[int] = attrs.field(factory=set[int], init=False)
    _over: bool = attrs.field(default=False, init=False)
    _broken: BaseException | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._main = threading.Condition(self._lock)
        self._work = Lane(self.slots, threading.Condition(self._lock))
        self._commits = Lane(1, threading.Condition(self._lock))

    def run(self, started: Started, interrupt: Interrupt) -> None:
        """
        Bring the run to its end; an interrupt stops it, from whichever thread that comes.
        """
        requests: SimpleQueue[bool] = SimpleQueue()
        # A signal handler may not wait for the lock, which its own thread may hold; putting
        # something into a simple queue is all it does.
        listener = threading.Thread(
            target=self._listen, args=(requests,), name="headway-interrupt", daemon=True
        )
        listener.start()
        try:
            with interrupt.asking(lambda: requests.put(True)):
                self._serve(started)
        finally:
            requests.put(False)
            with self._lock:
                self._end()
        if self._broken is not None:
            raise self._broken

    def _listen(self, requests: SimpleQueue[bool]) -> None:
        if requests.get():
            with self._lock:
                if not self._over:
                    self._handle(Stop(self.now(), "interrupted"))
                    self._main.notify()

    def _serve(self, started: Started) -> None:
        with self._lock:
            self._handle(started)
        grace = self.engine.machine.config.shutdown_grace
        while (instruction := self._next()) is not None:
            if isinstance(instruction, Resume):
                answer = self.engine.steps.resume(instruction, self.now())
                with self._lock:
                    self._handle(attrs.evolve(answer, now=self.now()))
            else:
                if self._over and self.now() > self._ended_at + grace:
                    self.engine.tell.cut()
                self.engine.settle(instruction)

    def _next(self) -> Instruction | None:
        """
        What the calling thread is to do next; None when the run is over.
        """
        with self._lock:
            while True:
                wait = self._until_due()
                if self._steps:
                    return self._steps.popleft()
                if self._notices:
                    return self._notices.popleft()
                if self._over:
                    return None
                self._main.wait(min(wait, SIGNALS))

    def _until_due(self) -> float:
        """
        Tell the machine the time if it wants to know it; the seconds until it does.
        """
        while not self._over and (wake_at := self.engine.machine.wake_at) is not None:
            if wake_at > self.now():
                return wake_at - self.now()
            self._handle(Tick(self.now()))
        return SIGNALS

    def _handle(self, event: Event) -> None:
        """
        Hand in an event and hand out what follows; the lock is held.
        """
        wake_at = self.engine.machine.wake_at
        events: deque[Event] = deque([event])
        while events:
            for instruction in self.engine.handle(events.popleft()):
                events += self._dispatch(instruction)
        if self.engine.finished:
            self._end()
        if self._steps or self._notices or self.engine.machine.wake_at != wake_at:
            self._main.notify()

    def _dispatch(self, instruction: Instruction) -> tuple[Event, ...]:
        """
        Pass an instruction to whoever carries it out; returns what can be answered at once.
        """
        if isinstance(instruction, Run):
            commit = isinstance(instruction.call, CommitCall)
            self._enqueue(self._commits if commit else self._work, instruction.call)
        elif isinstance(instruction, Cancel):
            if self._drop(instruction.call):
                return (Failed(self.now(), instruction.call, CANCELLED),)
        elif isinstance(instruction, Abandon):
            self._abandon(instruction.call)
        elif isinstance(instruction, Resume | Abort):
            self._steps.append(instruction)
        else:
            self._notices.append(instruction)
        return ()

    def _enqueue(self, lane: Lane, call: Call) -> None:
        lane.calls.append(call)
        if len(lane.calls) <= lane.idle or lane.threads >= lane.most:
            lane.ready.notify()
            return
        lane.threads += 1
        threading.Thread(
            target=self._worker, args=(lane,), name=f"headway-{lane.threads}", daemon=True
        ).start()

    def _worker(self, lane: Lane) -> None:
        try:
            while (call := self._take(lane)) is not None:
                answer = self.engine.bench.perform(call, self.now)
                with self._lock:
                    if self._over or call.id in self._given_up:
                        self._given_up.discard(call.id)
                        if not self._over:
                            self._handle(answer)
                        return
                    self._handle(answer)
        except BaseException as error:  # noqa: BLE001 - a fault of Headway's own ends the run
            with self._lock:
                self._broken = error
                self._end()

    def _take(self, lane: Lane) -> Call | None:
        with self._lock:
            while not lane.calls:
                if self._over:
                    return None
                lane.idle += 1
                lane.ready.wait()
                lane.idle -= 1
            return lane.calls.popleft()

    def _abandon(self, call: int) -> None:
        """
        A call was given up: if a thread is on it, that thread is not counted any more.
        """
        if not self._drop(call):
            self._given_up.add(call)
            self._work.threads -= 1

    def _drop(self, number: int) -> bool:
        waiting = next((call for call in self._work.calls if call.id == number), None)
        if waiting is not None:
            self._work.calls.remove(waiting)
        return waiting is not None

    def _end(self) -> None:
        if not self._over:
            self._over, self._ended_at = True, self.now()
        for condition in (self._main, self._work.ready, self._commits.ready):
            condition.notify_all()
