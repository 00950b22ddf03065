"""
Slots: how much work may run at once, and what runs.

Guarantee: at most ``capacity`` calls run.  Whoever takes a call out of ``running`` frees its slot.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

import attrs

from headway.machine._calls import Call


@attrs.define(eq=False)
class Slots:
    """
    The provider's capacity, and the calls that occupy it.
    """

    capacity: int
    running: dict[int, Call] = attrs.field(factory=dict[int, Call], init=False)
    _deadlines: list[tuple[float, int]] = attrs.field(factory=list[tuple[float, int]], init=False)

    @property
    def free(self) -> int:
        """
        How many more calls may start.
        """
        return self.capacity - len(self.running)

    def start(self, call: Call, now: float, timeout: float | None) -> None:
        """
        Occupy a slot, for so many seconds at most.
        """
        self.running[call.id] = call
        if timeout is not None:
            heappush(self._deadlines, (now + timeout, call.id))

    def restart(self, deadlines: Iterable[tuple[float, int]]) -> None:
        """
        Give the running calls these deadlines, and no others.
        """
        self._deadlines = sorted(deadlines)

    def overdue(self, now: float) -> Call | None:
        """
        A running call whose deadline has come; it still occupies its slot.
        """
        deadline = self.next_deadline()
        if deadline is None or deadline > now:
            return None
        return self.running[self._deadlines[0][1]]

    def next_deadline(self) -> float | None:
        """
        The earliest deadline of a running call.
        """
        while self._deadlines and self._deadlines[0][1] not in self.running:
            heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None
