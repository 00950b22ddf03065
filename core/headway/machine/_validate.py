"""
Every invariant that ties the machine's parts together.
"""

from __future__ import annotations

from headway.errors import InvariantError
from headway.machine._calls import CommitCall, TicketCall
from headway.machine._scoring import Scoring
from headway.machine._state import State
from headway.machine._sweeps import Sweeps
from headway.machine._tickets import Tickets


def validate(state: State, tickets: Tickets, sweeps: Sweeps, scoring: Scoring) -> None:
    """
    Assert every invariant.

    Raises:
        InvariantError: one is broken; the message says which.
    """
    if state.phase == "new":
        return
    _conservation(state, tickets)
    _bounds(state, tickets, sweeps)
    _budget(state, tickets, scoring)
    _sweep(state, sweeps)
    if not scoring.holds_back():
        _no_idle_slot(state, tickets, sweeps)
    state.measuring.validate()
    if state.phase == "finished":
        _finished(state, tickets, sweeps)
    _must(scoring.final is None or state.phase in ("scoring", "finished"), "scored too early")


def _must(holds: object, text: str) -> None:
    if not holds:
        raise InvariantError(text)


def _conservation(state: State, tickets: Tickets) -> None:
    tally, buffer = state.tally, state.buffer
    ended = sum(tally.completions.values())
    _must(tally.tickets == ended + len(tickets.flights), "tickets = completions + in flight")
    decided = sum(tally.decisions.values())
    _must(tally.cards == decided + len(buffer), "cards = decided + held")
    judged = sum(tally.etas.values()) + buffer.considered
    _must(tally.considered == judged, "a card is considered once")
    _must(tally.cards == buffer.put_in, "every card is put into the buffer once")
    _must(buffer.waiting >= 0 and buffer.undecided >= 0, "the buffer counts below zero")


def _bounds(state: State, tickets: Tickets, sweeps: Sweeps) -> None:
    config = state.config
    view = tickets.view(sweeping=sweeps.open is not None)
    _must(state.gate.within_bound(view), "the gate's own bound")
    _must(len(state.slots.running) <= config.slots, "more calls run than there are slots")
    running = [f.phase != "ended" for f in tickets.flights.values()].count(True)
    _must(running == tickets.running <= config.n_workers, "more rollouts run than workers")
    called = [isinstance(call, TicketCall) for call in state.slots.running.values()].count(True)
    _must(running == called, "a ticket's call is lost, or its slot freed twice")
    _must(running == tickets.workers.busy, "a worker place is lost or used twice")
    carried = len(state.buffer.carried)
    _must(carried <= state.backpressure.carry_limit, "more cards carried than the limit")


def _budget(state: State, tickets: Tickets, scoring: Scoring) -> None:
    budget = state.budget
    reserved = sum([f.reserved for f in tickets.flights.values()])
    _must(budget.reserved == reserved + scoring.put_aside, "a reservation is lost or kept")
    overspent = [f for f in tickets.flights.values() if f.reserved < 0]
    _must(not overspent, "a flight overspent")
    if budget.max_calls is not None:
        _must(budget.calls + budget.reserved <= budget.max_calls, "calls overshot")
    if budget.max_rollouts is not None:
        _must(budget.rollouts <= budget.max_rollouts, "rollouts overshot")
    _must(budget.rollouts == state.tally.tickets, "rollouts = tickets")
    _must(budget.calls == sum(state.tally.calls.values()), "calls are counted once")


def _sweep(state: State, sweeps: Sweeps) -> None:
    sweep = sweeps.open
    if sweep is None:
        _must(not state.buffer.leased, "cards are leased and no sweep is open")
        return
    leased = {card.number for card in state.buffer.leased}
    _must(leased == {*sweep.survivors, *sweep.verifying}, "leased = survivors + verifying")
    waiting = {card.number for card in sweep.rebasing}
    _must(waiting <= {*sweep.verifying}, "a card waits for a rebase and is not verified")
    if sweep.step is None:
        return
    _must(sweep.step.carried <= set(sweep.survivors), "a step carries a card that it has not got")
    commit = sweep.step.commit
    _must((commit is not None) == (sweep.step.awaiting == "commit"), "a commit and no wait for it")
    if isinstance(commit, CommitCall):
        _must(commit.expected == state.head.version, "a commit expects another head")
        _must(set(commit.cards) <= set(sweep.survivors), "a commit of a card that was let go")


def _no_idle_slot(state: State, tickets: Tickets, sweeps: Sweeps) -> None:
    if not state.slots.free or state.phase not in ("running", "draining", "scoring"):
        return
    rebasing = sweeps.open is not None and sweeps.open.rebasing
    _must(not rebasing, "a slot idles while a rebase waits")
    if state.measuring.next() is not None:
        _must(not state.budget.affords(1), "a slot idles while a measurement waits")
    if state.running and tickets.workers.places and not tickets.nothing_left():
        view = tickets.view(sweeping=sweeps.open is not None)
        _must(not state.gate.admit(view), "a slot idles while a rollout may start")


def _finished(state: State, tickets: Tickets, sweeps: Sweeps) -> None:
    _must(not len(state.buffer), "the run ended and a card is undecided")
    _must(not tickets.flights, "the run ended and a ticket is in flight")
    _must(sweeps.open is None, "the run ended and a sweep is open")
    _must(not state.slots.running, "the run ended and a call runs")
    _must(state.stop_reason, "the run ended for no reason")
