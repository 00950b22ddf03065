"""
The frozen count of everything, gathered from all parts of a machine.
"""

from __future__ import annotations

from collections import Counter

from headway.machine._state import State
from headway.machine._sweeps import Sweeps
from headway.machine._tally import Statistics
from headway.machine._tickets import Tickets


def count(state: State, tickets: Tickets, sweeps: Sweeps) -> Statistics:
    """
    A machine's counts at this instant.
    """
    tally = state.tally
    running = Counter(call.kind for call in state.slots.running.values())
    committing, budget = sweeps.committing is not None, state.budget
    training = state.training.running is not None
    return Statistics(
        version=state.head.version,
        tickets=tally.tickets,
        in_flight=len(tickets.flights),
        completions=dict(tally.completions),
        cards=tally.cards,
        held=len(state.buffer),
        decisions=dict(tally.decisions),
        considered=tally.considered,
        stale_discarded=tally.decisions["discarded:stale"],
        eta_histogram=dict(tally.etas),
        committed_by_eta=dict(tally.committed_etas),
        sweeps=dict(tally.sweeps),
        rounds=tally.rounds,
        calls=dict(tally.calls),
        forced_refreshes=tally.forced_refreshes,
        commit_races=tally.commit_races,
        stragglers=tally.stragglers + tickets.late,
        hedges=tally.hedges,
        retired_workers=tickets.workers.retired,
        late=tally.late,
        no_ops=tally.no_ops,
        sessions=tally.sessions,
        repeated=tally.repeated,
        usage=tally.usage(tokens=budget.tokens, cost=budget.cost, running=running, now=state.now),
        slot_seconds=tally.slot_seconds(running, slots=state.slots.capacity, now=state.now),
        merge_seconds=tally.merge_seconds(running, state.now),
        ledger_seconds=tally.ledger_seconds + committing * state.now,
        trainings=tally.trainings,
        train_seconds=tally.train_seconds + training * state.now,
        worker_starved_seconds=tally.starved,
        update_waits=dict(tally.waits),
        lost_groups=dict(tally.lost_groups),
        determinism=state.determinism,
    )
