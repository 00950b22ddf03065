"""
The ``serial`` driver: one call after the other, in the order in which the machine asks for them.

When no call may begin because the backend is left alone, the calling thread waits for that to end.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import attrs

from headway.drivers._arrivals import Arrivals
from headway.drivers._domain_calls import CANCELLED
from headway.drivers._engine import Engine, Work
from headway.drivers._interrupt import Interrupt
from headway.drivers._recovery import TakenUp
from headway.drivers._waker import Waker
from headway.machine import (
    Call,
    Cancel,
    CommitCall,
    Event,
    Failed,
    PromoteCall,
    Run,
    Stop,
    Tick,
)


@attrs.define(eq=False)
class _Stopping:
    """
    Stops a serial run: between two events, or in the middle of a domain's call.

    Only a signal handler can end that call: from another thread, its end is waited for.
    """

    waker: Waker
    asked: bool = False
    in_call: bool = False
    _thread: int = attrs.field(factory=threading.get_ident, init=False)

    def __call__(self) -> None:
        self.asked = True
        self.waker.wake()
        if self.in_call and threading.get_ident() == self._thread:
            raise KeyboardInterrupt

    def perform(self, engine: Engine, call: Call, now: Callable[[], float]) -> Event:
        """
        Perform a call, which ends early when the run is to stop; a commit never does.

        Then nothing answers the call, so that whoever goes on from the stop makes it again.
        """
        try:
            self.in_call = not isinstance(call, CommitCall | PromoteCall) and not self.asked
            answer = engine.bench.perform(call, now)
            self.in_call = False
        except KeyboardInterrupt:
            self.in_call = False
            if not self.asked:  # the second time: nothing is waited for any more
                raise
            return Stop(now(), "interrupted", usage=engine.bench.broken_off)
        return answer


def run_serial(
    engine: Engine,
    begin: TakenUp,
    now: Callable[[], float],
    interrupt: Interrupt,
    arrivals: Arrivals[Event] | None = None,
) -> None:
    """
    Bring a run to its end on the calling thread.

    Args:
        engine: The run.
        begin: Where it begins.
        now: Seconds since the run began, on a monotonic clock.
        interrupt: Stops it.
        arrivals: What has happened and was not handled yet, in the order in which it will be.
    """
    queue = deque(call for call in begin.calls if call.id not in begin.cancelled)
    unbegun = (Failed(begin.now, call, CANCELLED) for call in sorted(begin.cancelled))
    events: Arrivals[Event] = deque() if arrivals is None else arrivals
    for event in (*begin.events, *unbegun):
        events.append(event)
    waker, told = Waker(), False
    stopping = _Stopping(waker)
    with waker, interrupt.asking(stopping):
        while not engine.finished:
            if stopping.asked and not told:
                told = True
                events.append(Stop(now(), "interrupted"))
            if not events and queue:
                answer = stopping.perform(engine, queue.popleft(), now)
                told = told or isinstance(answer, Stop)
                events.append(answer)
            elif not events:
                wake_at = engine.machine.wake_at
                assert wake_at is not None, "the machine waits for something that nobody does"
                waker.wait(wake_at - now())
                events.append(Tick(now()))
            while events:
                for failed in _enqueue(queue, engine.feed(events.popleft(), now=now), now):
                    events.append(failed)


def _enqueue(queue: deque[Call], work: list[Work], now: Callable[[], float]) -> list[Failed]:
    answers: list[Failed] = []
    for instruction in work:
        if isinstance(instruction, Run):
            queue.append(instruction.call)
            continue
        waiting = next((call for call in queue if call.id == instruction.call), None)
        if waiting is None:
            continue
        queue.remove(waiting)
        if isinstance(instruction, Cancel):
            answers.append(Failed(now(), waiting.id, CANCELLED))
    return answers
