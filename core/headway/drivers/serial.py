"""
The ``serial`` driver: one call after the other, in the order in which the machine asks for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from headway.contracts import Fault
from headway.drivers._engine import Engine, Work
from headway.machine import Call, Cancel, CommitCall, Event, Failed, Run, Started, Stop

CANCELLED = Fault(where="driver", type="Cancelled", message="nobody waits for it any more")


def run_serial(engine: Engine, started: Started, now: Callable[[], float]) -> None:
    """
    Bring a run to its end on the calling thread.

    Args:
        engine: The run.
        started: Its first event.
        now: Seconds since the run began, on a monotonic clock.
    """
    queue: deque[Call] = deque()
    events: deque[Event] = deque([started])
    while not engine.finished:
        try:
            if not events:
                events.append(engine.bench.perform(queue.popleft(), now))
            while events:
                events += _enqueue(queue, engine.feed(events.popleft()), now)
        except KeyboardInterrupt:
            commits = [call for call in queue if isinstance(call, CommitCall)]
            queue = deque(commits)
            events.append(Stop(now(), "interrupted"))


def _enqueue(queue: deque[Call], work: list[Work], now: Callable[[], float]) -> list[Event]:
    answers: list[Event] = []
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
