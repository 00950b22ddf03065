"""
Tickets: admission, the calls that each makes in turn, and how its ending is applied.

A ticket runs ``rollout``, then ``propose`` when it was not solved, then ``verify`` when a change was
proposed; where the optimizer learns from outcomes, the rollout is all.  Each next call starts in
the slot that the one before it freed, unless the backend is left alone: then it is held until calls
begin again.  Under an ordered gate, endings wait until the window is complete and are applied in
ticket order; else at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import attrs

from headway.contracts import (
    CompletionKind,
    Fault,
    Outcome,
    Proposal,
    Snapshot,
    TicketEnded,
    Usage,
)
from headway.gate import GateView
from headway.machine._admission import Admission
from headway.machine._calls import (
    CallValue,
    OfTicket,
    ProposeCall,
    RolloutCall,
    TicketCall,
    VerifyCall,
)
from headway.machine._flights import Flight, Workers
from headway.machine._groups import Groups
from headway.machine._instructions import Notify
from headway.machine._lookups import LookupRaised
from headway.machine._proposals import Proposals
from headway.machine._state import State
from headway.machine._stragglers import Stragglers


@attrs.define(eq=False)
class Tickets:
    """
    The tickets in flight and all that admission depends on.
    """

    state: State
    flights: dict[int, Flight] = attrs.field(factory=dict[int, Flight], init=False)
    running: int = attrs.field(default=0, init=False)
    workers: Workers = attrs.field(init=False)
    admission: Admission = attrs.field(init=False)
    stragglers: Stragglers = attrs.field(init=False)
    finished: int = attrs.field(default=0, init=False)
    _most_calls: int = attrs.field(init=False)
    _ended: list[int] = attrs.field(factory=list[int], init=False)
    held_calls: deque[int] = attrs.field(factory=deque[int], init=False)
    _round_began: float | None = attrs.field(default=None, init=False)
    _round_over: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        state, gate = self.state, self.state.reservations
        self._most_calls = state.config.calls_per_ticket
        self.admission = Proposals(state, self.view) if gate is None else Groups(state, gate)
        self.stragglers = Stragglers(state)
        self.workers = Workers([])

    def begin(self, head: Snapshot) -> None:
        """
        Open the worker places on the first head.
        """
        self.workers = Workers([head] * self.state.config.n_workers)

    def view(self, sweeping: bool, *, quiet: bool = False) -> GateView:
        """
        What the gate decides on.
        """
        state = self.state
        undecided, waiting, held = state.buffer.counts()
        return GateView(
            self.running,
            len(self.flights),
            undecided,
            waiting,
            held,
            self.finished,
            sweeping,
            state.phase == "draining",
            quiet,
            state.candidate_price if state.gate.priced else 0.0,
            state.head.version,
        )

    def admit(self, sweeping: bool) -> bool:
        """
        Admit one ticket to a free place if gate, budget and plug-ins allow it; False when nothing
        changed.
        """
        state, budget = self.state, self.state.budget
        if not self.may_admit(sweeping):
            return False
        if not budget.rollouts_left:
            state.stop("max_iters")
            return False
        if not budget.reserve(self._most_calls):
            self._lack(budget.lacking(self._most_calls))
            return False
        if self._round_began is None and state.gate.ordered:
            self._begin_round()
        try:
            worker = self.workers.places[0]
            flight, base = self.admission.look_up(worker, self.workers.held[worker])
            self._launch(flight, base, state.lookups.estimate())
        except LookupRaised as raised:
            budget.release(self._most_calls)
            state.plugin_fault(raised.fault)
            return state.running
        return True

    def _lack(self, reason: str) -> None:
        """
        Stop, unless calls that are under way may turn out to spend less than they hold.

        In a round nothing turns out before its end, lest its size depended on the order of arrival.
        """
        state = self.state
        under_way = bool(self.flights or state.slots.running)
        if reason == "max_calls" or state.gate.ordered or not under_way:
            state.stop(reason)

    def may_admit(self, sweeping: bool) -> bool:
        """
        Whether one more ticket is to be let in, and the round has time left.
        """
        return not self._round_over and self.admission.may_start(sweeping)

    def _launch(self, flight: Flight, base: Snapshot, seconds: float | None) -> None:
        state, ticket, work, task = self.state, flight.ticket, flight.work, flight.task
        self.workers.occupy(base)
        flight.reserved = self._most_calls
        state.gate.admitted()
        state.budget.rollouts += 1
        state.tally.tickets += 1
        if state.plugin_errors:
            state.plugin_worked("aggregator")
            if work.task is None:
                state.plugin_worked("sampler")
        self.admission.started(flight)
        self.flights[ticket.number] = flight
        self.running += 1
        if seconds:
            self.stragglers.expect(flight, seconds)
        number, artifact = state.next_call(), flight.source.artifact
        self._start(flight, RolloutCall(number, ticket, artifact, task, work.payload))

    def _go_on(self, flight: Flight, call: OfTicket) -> None:
        if self.state.may_pay:
            self._start(flight, call)
        else:
            flight.held = call
            self.held_calls.append(flight.ticket.number)

    def _start(self, flight: Flight, call: OfTicket) -> None:
        flight.reserved -= 1
        flight.call = call.id
        self.state.start(call)

    def charge(self, number: int, usage: Usage) -> None:
        """
        A call of a ticket has spent something.
        """
        flight = self.flights[number]
        flight.charged += ((flight.phase, usage),)

    def start_held(self) -> None:
        """
        Start the calls that were held while the backend was left alone, as far as there are slots.
        """
        state = self.state
        while self.held_calls and state.slots.free > 0 and state.may_pay:
            flight = self.flights.get(self.held_calls.popleft())
            if flight is not None and flight.held is not None:
                call, flight.held = flight.held, None
                self._start(flight, attrs.evolve(call, id=state.next_call()))

    @property
    def held(self) -> int:
        """
        How many tickets wait for the backend before their next call.
        """
        return sum(flight.held is not None for flight in self.flights.values())

    def done(self, call: TicketCall, value: CallValue, *, ripe: bool) -> None:
        """
        A ticket's running call gave a value; a second copy of it is not waited for any more.

        Args:
            call: The call.
            value: What it gave.
            ripe: Whether there are cards that a sweep may take before long.
        """
        flight = self.flights[call.ticket.number]
        if flight.copy >= 0:
            self._let_copies_go(flight)
        _AFTER[flight.phase](self, flight, value)
        if flight.completion is None:
            self.state.still = not ripe
        elif self._is_applied(flight):
            self.state.still = self.state.running and self.admission.nothing_follows(ripe=ripe)

    def _is_applied(self, flight: Flight) -> bool:
        """
        Apply what has ended, when a ticket that ended so may be applied at once.
        """
        barren = flight.proposal is None and not self.state.gate.ordered
        if not (barren or self.admission.one_by_one):
            return False
        self._apply_all(self._ended)
        return True

    def _rolled_out(self, flight: Flight, value: CallValue) -> None:
        assert isinstance(value, Outcome)
        flight.outcome = value
        flight.base = base = self.admission.to_propose_on(flight)
        if base is None:
            self._end(flight, "ok")
            return
        flight.phase = "propose"
        number, payload = self.state.next_call(), flight.work.payload
        call = ProposeCall(number, flight.ticket, base.artifact, flight.task, payload, value)
        self._go_on(flight, call)

    def _proposed(self, flight: Flight, value: CallValue) -> None:
        state = self.state
        if value is None:
            self._end(flight, "ok")
            return
        assert isinstance(value, Proposal)
        if value.no_op:
            state.tally.no_ops += 1
            self._end(flight, "ok")
            return
        flight.proposal = value
        base = flight.base
        assert base is not None
        if value.size > state.config.max_proposal_bytes:
            self._end(flight, "ok")
            return
        if not state.config.self_verify or base.artifact != flight.source.artifact:
            self._end(flight, "ok")
            return
        flight.phase = "verify"
        payload, diff = flight.work.payload, value.diff
        self._go_on(
            flight,
            VerifyCall(state.next_call(), flight.ticket, base.artifact, flight.task, payload, diff),
        )

    def _verified(self, flight: Flight, value: CallValue) -> None:
        assert isinstance(value, Outcome)
        assert flight.outcome is not None
        flight.delta = value.reward - flight.outcome.reward
        self._end(flight, "ok")

    def _let_copies_go(self, flight: Flight) -> None:
        for call in flight.running:
            if call in self.state.slots.running:
                self.state.abandon(call)
                flight.lost += 1
        flight.copy = -1

    def failed(self, call: TicketCall, completion: CompletionKind, fault: Fault) -> None:
        """
        A ticket's running call failed, was invalid, or ran out of time.

        While a second copy of a call that failed still runs, that one is waited for.
        """
        flight = self.flights[call.ticket.number]
        if flight.copy >= 0 and completion == "failed":
            flight.call = flight.call if call.id == flight.copy else flight.copy
            flight.copy = -1
            self.state.fault(fault)
            return
        flight.failed_in = call.kind
        flight.proposal = None
        flight.fault = fault
        flight.lost += completion == "timeout"
        self._end(flight, completion)

    def _end(self, flight: Flight, completion: CompletionKind) -> None:
        if flight.copy >= 0 or flight.call in self.state.slots.running:
            self._let_copies_go(flight)
        flight.phase = "ended"
        flight.held = None
        flight.completion = completion
        flight.ended = self.state.now
        self.state.tally.stragglers += self.stragglers.is_late(flight)
        self.running -= 1
        self.workers.free(flight.ticket.worker)
        self._ended.append(flight.ticket.number)

    def apply_ended(self, *, sweeping: bool) -> None:
        """
        Apply what has ended, if the gate lets it be applied.
        """
        if not self._ended:
            return
        state = self.state
        if not state.gate.ordered:
            self._apply_all(self._ended)
            return
        open_window = state.running and self.may_admit(sweeping)
        if self.running or open_window:
            return
        self._apply_all(sorted(self._ended))
        state.gate.applied()
        self._round_began, self._round_over = None, False
        state.tally.rounds += 1
        if state.tally.rounds == state.config.max_rounds:
            state.stop("rounds")

    def _apply_all(self, numbers: list[int]) -> None:
        self._ended = []
        for number in numbers:
            self._apply(self.flights.pop(number))

    def _apply(self, flight: Flight) -> None:
        state = self.state
        completion = flight.completion
        assert completion is not None
        unmade = flight.reserved
        state.budget.close(unmade, self._most_calls - unmade + flight.hedged - flight.lost)
        for kind, usage in flight.charged:
            state.charge(kind, flight.task, usage)
        state.tally.completions[completion] += 1
        if flight.fault is not None:
            state.fault(flight.fault)
        if completion == "ok":
            self._learn(flight)
        else:
            self._count_error(flight, completion)
            self.admission.failed(flight, completion)
        state.out.append(Notify(_ended(flight, completion, state.now)))

    def _learn(self, flight: Flight) -> None:
        state = self.state
        try:
            state.lookups.observe(flight.ended - flight.started)
            if state.plugin_errors:
                state.plugin_worked("duration estimator")
        except LookupRaised as raised:
            state.plugin_fault(raised.fault)
        if state.buffer.waiting:
            self.finished += 1
        self.admission.ended(flight)

    def _count_error(self, flight: Flight, completion: CompletionKind) -> None:
        state = self.state
        done = state.tally.completions
        if flight.failed_in in state.backoff.proven or completion in ("cancelled", "abandoned"):
            return
        bearable = state.config.max_worker_errors
        self.workers.erred(flight.ticket.worker, bearable)
        # Trials of a backend that fails go to one place after another, so some may never err.
        unbearable = self.workers.errors >= bearable * state.config.n_workers
        if unbearable or done["invalid"] == sum(done.values()) >= bearable:
            state.stop("error", flight.fault)

    def waited(self, seconds: float) -> None:
        """
        The run searched for so long: count the worker places that were free.
        """
        places, tally = len(self.workers.places), self.state.tally
        self.admission.waited(seconds)
        if not places:
            return
        tally.starved += seconds * places
        unused = min(places, self.state.slots.free)
        if unused and not self.admission.exhausted:
            tally.idle_waiting += seconds * unused

    def restart(self) -> None:
        """
        Another process makes the calls in flight again: let rounds and predictions begin now.
        """
        state = self.state
        self.stragglers.restart(self.flights)
        self._round_began = None if self._round_began is None else state.now

    def mind_stragglers(self) -> None:
        """
        Do with the rollouts that have overrun their prediction by now what was asked for.
        """
        for flight in self.stragglers.overrun(self.flights):
            if self.state.config.straggler == "hedge":
                self.stragglers.want_copy(flight)
            elif self.state.config.straggler == "cancel":
                self._cancel(flight)

    def next_straggler(self) -> float | None:
        """
        When something is to be done with a rollout that overruns its prediction.
        """
        return self.stragglers.next(self.flights)

    @property
    def late(self) -> int:
        """
        How many rollouts run on that have overrun their prediction.
        """
        flights = self.flights.values()
        return sum(f.phase != "ended" and self.stragglers.is_late(f) for f in flights)

    def _cancel(self, flight: Flight) -> None:
        factor = self.state.config.straggler_factor
        text = f"took more than {factor:g} times the seconds that were predicted"
        self._time_out(flight, "Straggler", text)

    def _time_out(self, flight: Flight, kind: str, text: str) -> None:
        flight.fault = Fault(where=flight.phase, type=kind, message=text, task=flight.task)
        flight.failed_in = flight.phase
        flight.proposal = None
        self._end(flight, "timeout")

    def _begin_round(self) -> None:
        state = self.state
        self._round_began = state.now
        if state.gate.base(-1, state.head.version) == state.head.version:
            self.workers.refresh(state.head)  # also the places that this round leaves free

    def round_ends(self) -> float | None:
        """
        When the open round ends at the latest.
        """
        seconds = self.state.config.round_timeout
        began = self._round_began
        return None if seconds is None or began is None else began + seconds

    def end_round(self) -> None:
        """
        End the rollouts of a round whose time is up, and begin no more in it.
        """
        ends = self.round_ends()
        if ends is None or ends > self.state.now:
            return
        if not self.flights:  # nobody could be let in
            self._round_began = None
            return
        self._round_over = True
        text = f"still running {self.state.config.round_timeout:g} s after its round began"
        for flight in self.flights.values():
            if flight.phase != "ended":
                self._time_out(flight, "Timeout", text)

    def give_up(self, completion: CompletionKind) -> None:
        """
        End every ticket in flight now; those that ended before are applied as they are.
        """
        self.admission.give_up()
        for flight in self.flights.values():
            if flight.phase != "ended":
                flight.proposal = None
                flight.lost += 0 if flight.held is not None else len(flight.running)
                self._end(flight, completion)
        self._apply_all(sorted(self._ended))


def _ended(flight: Flight, completion: CompletionKind, now: float) -> TicketEnded:
    ticket, outcome = flight.ticket, flight.outcome
    return TicketEnded(
        now,
        ticket.number,
        flight.task,
        completion,
        None if outcome is None else outcome.reward,
        ticket.group,
        ticket.member,
        ticket.attempt,
        flight.ended - flight.started,
        ticket.base,
    )


_AFTER: dict[str, Callable[[Tickets, Flight, CallValue], None]] = {
    "rollout": Tickets._rolled_out,
    "propose": Tickets._proposed,
    "verify": Tickets._verified,
}
"""What follows a finished call, by the ticket's phase."""
