"""
Rollouts that take longer than was predicted, and second copies of their calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

import attrs

from headway.machine._calls import TicketCall
from headway.machine._flights import Flight, Predictions
from headway.machine._state import State


@attrs.define(eq=False)
class Stragglers:
    """
    Who is late, and whose call is to be run a second time.
    """

    state: State
    _predictions: Predictions = attrs.field(factory=Predictions, init=False)
    _to_hedge: deque[tuple[int, int]] = attrs.field(factory=deque[tuple[int, int]], init=False)

    def expect(self, flight: Flight) -> None:
        """
        A rollout begins whose length was predicted.
        """
        self._predictions.add(flight, self.state.now, self.state.config.straggler_factor)

    def overrun(self, flights: Mapping[int, Flight]) -> Iterator[Flight]:
        """
        The rollouts that have overrun their prediction by now; each is given and counted once.
        """
        for number in self._predictions.overrun(self.state.now):
            flight = flights.get(number)
            if flight is not None and flight.phase != "ended":
                self.state.tally.stragglers += 1
                yield flight

    def next(self, flights: Mapping[int, Flight]) -> float | None:
        """
        When the next rollout that runs becomes a straggler.
        """
        return self._predictions.next(flights)

    def restart(self, flights: Mapping[int, Flight]) -> None:
        """
        Another process runs them again: let predictions begin now.
        """
        factor = self.state.config.straggler_factor
        self._predictions.restart(flights, self.state.now, factor)

    def want_copy(self, flight: Flight) -> None:
        """
        A second copy of the call is to be run, once there is a slot for it.
        """
        if flight.held is None:
            self._to_hedge.append((flight.ticket.number, flight.call))

    def start_copies(self, flights: Mapping[int, Flight]) -> None:
        """
        Start a second copy of calls that take too long, in slots that nothing else may have.
        """
        state = self.state
        while self._to_hedge and state.slots.free > 0 and state.may_pay:
            number, running = self._to_hedge[0]
            call, flight = state.slots.running.get(running), flights.get(number)
            if not state.running or flight is None or flight.hedged or flight.call != running:
                call = None
            if isinstance(call, TicketCall) and not state.budget.reserve(1):
                return
            self._to_hedge.popleft()
            if flight is not None and isinstance(call, TicketCall):
                flight.hedged = True
                flight.copy = state.next_call()
                state.tally.hedges += 1
                state.start(attrs.evolve(call, id=flight.copy, copy=1))
