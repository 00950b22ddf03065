"""
Every invariant that ties the machine's parts together.
"""

from __future__ import annotations

from collections import Counter

from headway.errors import InvariantError
from headway.machine._calls import CommitCall, TicketCall
from headway.machine._groups import Groups
from headway.machine._open import OpenSweep
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
    _open_sweeps(state, sweeps)
    if isinstance(tickets.admission, Groups):
        _groups(state, tickets, tickets.admission)
    if not scoring.holds_back():
        _no_idle_slot(state, tickets, sweeps, scoring)
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
    view = tickets.view(sweeping=bool(sweeps.open))
    _must(state.gate.within_bound(view), "the gate's own bound")
    _must(len(state.slots.running) <= config.slots, "more calls run than there are slots")
    running = [f.phase != "ended" for f in tickets.flights.values()].count(True)
    _must(running == tickets.running <= config.n_workers, "more rollouts run than workers")
    called = [c.ticket.number for c in state.slots.running.values() if isinstance(c, TicketCall)]
    hedged = [flight.copy >= 0 for flight in tickets.flights.values()].count(True)
    calls = running + hedged - tickets.held
    _must(calls == len(called), "a ticket's call is lost, or its slot freed twice")
    _must(len(called) == len({*called}) + hedged, "a ticket runs more than a call and its copy")
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
    _metered(state, tickets)
    if budget.max_rollouts is not None:
        _must(budget.rollouts <= budget.max_rollouts, "rollouts overshot")
    _must(budget.rollouts == state.tally.tickets, "rollouts = tickets")
    _must(budget.calls == sum(state.tally.calls.values()), "calls are counted once")


def _metered(state: State, tickets: Tickets) -> None:
    budget, flights = state.budget, tickets.flights.values()
    measured = [call.kind for call in state.slots.running.values()].count("measure")
    per_ticket = state.config.calls_per_ticket
    begun = sum([per_ticket - f.reserved + f.hedged - f.lost for f in flights])
    _must(
        budget.open == begun + measured + len(state.abandoned), "a call is settled twice, or never"
    )
    _must(budget.open + budget.settled == budget.calls, "calls = open + settled")
    held = budget.open + budget.reserved
    for resource in budget.metered:
        if (
            resource.ceiling is not None
            and resource.most is not None
            and not state.tally.above_ceiling
        ):
            spent = resource.spent - resource.apart + held * resource.ceiling
            _must(spent <= resource.most, f"{resource.name} overshot")


def _open_sweeps(state: State, sweeps: Sweeps) -> None:
    _must(len(sweeps.open) <= state.config.max_steps, "more sweeps are open than may be")
    held = sorted(number for sweep in sweeps.open.values() for number in sweep.cards)
    leased = [card.number for card in state.buffer.leased]
    _must(leased == held, "a leased card is held by no open sweep, or by two")
    for sweep in sweeps.open.values():
        _open_sweep(state, sweep)
    _training(state, sweeps)
    commits = [s.begun is not None and s.begun.commit is not None for s in sweeps.open.values()]
    _must(commits.count(True) <= 1, "two commits are on their way")
    turns = [s.begun is not None and s.begun.awaiting == "turn" for s in sweeps.open.values()]
    _must(any(commits) or not any(turns), "a step waits for a commit that is not on its way")


def _training(state: State, sweeps: Sweeps) -> None:
    training = state.training
    waiting = [s.step.number for s in sweeps.open.values() if s.trains]
    asked = [*training.wishes] + ([] if training.running is None else [training.running.step])
    _must(sorted(asked) == sorted(waiting), "a training and no step that waits for it, or none")
    if state.phase in ("running", "draining"):
        _must(training.next(state.now) is None, "a training waits and none runs")
    if state.config.max_train_errors <= training.errors:
        _must(state.stop_reason, "trainings failed too often, and the run goes on")


def _open_sweep(state: State, sweep: OpenSweep) -> None:
    _must(sweep.head == state.head.version, "a sweep is open on a head that was replaced")
    waiting = {card.number for card in sweep.rebasing}
    rebasing = {*sweep.rebases.values()}
    _must(waiting | rebasing <= {*sweep.verifying}, "a card is rebased and not verified")
    _must(not waiting & rebasing, "a card waits for a rebase that runs")
    lost = [call for call in sweep.rebases if call not in state.slots.running]
    _must(not lost, "a sweep waits for a rebase that does not run")
    step = sweep.begun
    if step is None:
        return
    _must(step.carried <= set(sweep.survivors), "a step carries a card that it has not got")
    commit = step.commit
    _must((commit is not None) == (step.awaiting == "commit"), "a commit and no wait for it")
    if isinstance(commit, CommitCall):
        _must(commit.expected == sweep.head, "a commit expects another head")
        _must(set(commit.cards) <= set(sweep.survivors), "a commit of a card that was let go")


def _groups(state: State, tickets: Tickets, groups: Groups) -> None:
    gate = groups.gate
    outstanding, held = {*gate.outstanding}, {*state.buffer.held}
    _must(outstanding == held | {*groups.open}, "a group is lost, or held and not outstanding")
    _must(not held & {*groups.open}, "a group is complete and waits for a member")
    _must(held >= {*gate.ready}, "a group is ready and has no card")
    used = state.tally.decisions["committed"]
    let_go = sum(state.tally.lost_groups.values()) + sum(state.tally.decisions.values()) - used
    _must(
        gate.standing(state.head.version).admitted == len(outstanding) + used + let_go,
        "a group ended twice, or never",
    )
    flying = Counter(flight.ticket.group for flight in tickets.flights.values())
    for group in groups.open.values():
        _must(
            group.to_end == flying[group.number] + groups.waiting(group.number), "a member is lost"
        )


def _no_idle_slot(state: State, tickets: Tickets, sweeps: Sweeps, scoring: Scoring) -> None:
    if not state.slots.free or state.phase not in ("running", "draining", "scoring"):
        return
    rebasing = any(sweep.rebasing for sweep in sweeps.open.values())
    _must(not rebasing, "a slot idles while a rebase waits")
    paused = not state.may_pay
    if state.measuring.next() is not None and not paused:
        _must(not state.budget.affords(1), "a slot idles while a measurement waits")
    _must(paused or not tickets.held, "a slot idles while a ticket's call waits")
    view = tickets.view(sweeping=bool(sweeps.open))
    affordable = state.budget.affords(state.config.calls_per_ticket) and not paused
    searching = state.running and not scoring.target_reached
    if searching and tickets.workers.places and affordable:
        _must(not tickets.may_admit(view.sweeping), "a slot idles while a rollout may start")
    racing = sweeps.open and sweeps.room and state.buffer.leasable and sweeps.worth_while
    if racing and not scoring.target_reached:
        _must(not state.gate.take(view), "a slot idles while a further step may begin")


def _finished(state: State, tickets: Tickets, sweeps: Sweeps) -> None:
    _must(not len(state.buffer), "the run ended and a card is undecided")
    _must(not tickets.flights, "the run ended and a ticket is in flight")
    _must(not sweeps.open, "the run ended and a sweep is open")
    _must(not state.slots.running, "the run ended and a call runs")
    _must(state.training.running is None, "the run ended and a training runs")
    _must(not state.promotions, "the run ended and a promotion is waited for")
    _must(state.stop_reason, "the run ended for no reason")
