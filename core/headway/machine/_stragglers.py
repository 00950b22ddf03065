"""
Rollouts that take longer than was predicted, and second copies of their calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Mapping
from heapq import heappop, heappush

import attrs

from headway.machine._calls import TicketCall
from headway.machine._flights import Flight
from headway.machine._state import State


@attrs.define(eq=False)
class Stragglers:
    """
    Who is late, and whose call is to be run a second time.

    Nobody is woken at the moment at which a rollout becomes late unless something is to be done then:
    ``is_late`` says it of one that runs to whoever asks, and it is counted for good when it ends.
    """

    state: State
    _acts: bool = attrs.field(init=False)
    _late: list[tuple[float, int]] = attrs.field(factory=list[tuple[float, int]], init=False)
    to_hedge: deque[tuple[int, int]] = attrs.field(factory=deque[tuple[int, int]], init=False)

    def __attrs_post_init__(self) -> None:
        self._acts = self.state.config.straggler != "count"

    def expect(self, flight: Flight, seconds: float) -> None:
        """
        A rollout begins that is predicted to take so long.
        """
        flight.patience = seconds * self.state.config.straggler_factor
        self._begin(flight, flight.patience)

    def _begin(self, flight: Flight, patience: float) -> None:
        flight.late_at = late_at = self.state.now + patience
        if self._acts:
            heappush(self._late, (late_at, flight.ticket.number))

    def is_late(self, flight: Flight) -> bool:
        """
        Whether a rollout that has not ended before has overrun its prediction.
        """
        return flight.late_at is not None and flight.late_at <= self.state.now

    def overrun(self, flights: Mapping[int, Flight]) -> Iterator[Flight]:
        """
        The rollouts with which something is to be done, since they have overrun their prediction by
        now; each is given once.
        """
        while self._late and self._late[0][0] <= self.state.now:
            flight = flights.get(heappop(self._late)[1])
            if flight is not None and flight.phase != "ended":
                yield flight

    def next(self, flights: Container[int]) -> float | None:
        """
        When something is to be done next.
        """
        while self._late and self._late[0][1] not in flights:
            heappop(self._late)
        return self._late[0][0] if self._late else None

    def restart(self, flights: Mapping[int, Flight]) -> None:
        """
        Another process runs them again: let the predictions begin now of those that were not late.
        """
        self._late = []
        for flight in flights.values():
            if flight.patience is not None and not self.is_late(flight):
                self._begin(flight, flight.patience)

    def want_copy(self, flight: Flight) -> None:
        """
        A second copy of the call is to be run, once there is a slot for it.
        """
        if flight.held is None:
            self.to_hedge.append((flight.ticket.number, flight.call))

    def start_copies(self, flights: Mapping[int, Flight]) -> None:
        """
        Start a second copy of calls that take too long, in slots that nothing else may have.
        """
        state = self.state
        while self.to_hedge and state.slots.free > 0 and state.may_pay:
            number, running = self.to_hedge[0]
            call, flight = state.slots.running.get(running), flights.get(number)
            if not state.running or flight is None or flight.hedged or flight.call != running:
                call = None
            if isinstance(call, TicketCall) and not state.budget.reserve(1):
                return
            self.to_hedge.popleft()
            if flight is not None and isinstance(call, TicketCall):
                flight.hedged = True
                flight.copy = state.next_call()
                state.tally.hedges += 1
                state.start(attrs.evolve(call, id=flight.copy, copy=1))
