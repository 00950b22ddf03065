"""
Bugs to plant, one at a time: each must be found by the simulator.

A bug is a function that patches the machine through pytest's monkeypatch.  As a script,
``python tests/planted.py`` prints the seed that finds each.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import planted_trainings
import pytest

from headway.backpressure import Backpressure
from headway.buffer import EvidenceBuffer
from headway.contracts import NO_USAGE, Commit, Snapshot
from headway.drivers._recovery import Recovery
from headway.drivers.simulated import Simulation
from headway.errors import MachineError
from headway.gate import Barrier, LagGate
from headway.machine import (
    Abandon,
    Machine,
    PluginLookups,
    _checkpoint,
    _machine,
    _requests,
    _validate,
)
from headway.machine._answers import Answers
from headway.machine._backoff import Backoff
from headway.machine._budget import Budget, Resource
from headway.machine._measuring import Measuring
from headway.machine._requests import Requests
from headway.machine._slots import Slots
from headway.machine._state import State
from headway.machine._stragglers import Stragglers
from headway.machine._sweeps import Sweeps
from headway.machine._tickets import Tickets
from headway.merger import Merger
from headway.testing import AuditError, check

WITHIN = 2000
"""Schedules within which each bug must be found."""

Plant = Callable[[pytest.MonkeyPatch], None]


def gate_forgets_undecided(patch):
    """The lag gate counts tickets only, so that cards pile up ahead of the merger."""
    patch.setattr(LagGate, "admit", lambda self, view: view.running < self.n_workers)


def gate_checks_then_runs(patch):
    """The lag gate lets one too many in."""
    patch.setattr(
        LagGate,
        "admit",
        lambda self, view: (
            view.running < self.n_workers and view.in_flight + view.undecided <= self.capacity
        ),
    )


def gate_drifts(patch):
    """A worker's snapshot may be one version too old."""
    patch.setattr(
        LagGate,
        "base",
        lambda self, held, head: head if head - held > self.async_ratio + 1 else held,
    )


def gate_idles(patch):
    """The lag gate leaves one worker place unused."""
    plain = LagGate.admit

    def admit(self, view):
        return plain(self, view) and (self.n_workers == 1 or view.running < self.n_workers - 1)

    patch.setattr(LagGate, "admit", admit)


def barrier_opens_early(patch):
    """The barrier lets the next round in while a sweep is open."""
    patch.setattr(
        Barrier,
        "admit",
        lambda self, view: view.running < self.n_workers and self._window < self.round_size,
    )


def merger_takes_any_age(patch):
    """The merger accepts whatever the policy would discard."""
    plain = Merger._verdict

    def verdict(self, card, eta):
        return {"discard": "accept"}.get(plain(self, card, eta), "accept")

    patch.setattr(Merger, "_verdict", verdict)


def merger_skips_rebase(patch):
    """The merger keeps a card's old base."""
    plain = Sweeps._keep

    def keep(self, sweep, card):
        plain(self, sweep, attrs.evolve(card, base=card.base - card.eta))

    patch.setattr(Sweeps, "_keep", keep)


def budget_checks_late(patch):
    """The budget looks at what was spent, not at what is reserved."""
    patch.setattr(
        Budget,
        "affords",
        lambda self, calls: self.max_calls is None or self.calls + calls <= self.max_calls,
    )


def budget_counts_after(patch):
    """A ticket too many is admitted."""
    patch.setattr(
        Budget,
        "rollouts_left",
        property(lambda self: self.max_rollouts is None or self.rollouts <= self.max_rollouts),
    )


def budget_leaks(patch):
    """What a ticket did not use stays reserved."""
    patch.setattr(Budget, "release", lambda self, calls: None)
    patch.setattr(Budget, "close", lambda self, unmade, made: self.settle(made))


def ceiling_is_forgotten(patch):
    """A call that runs holds nothing: only what was charged counts."""
    patch.setattr(Resource, "fits", lambda self, held, settled: self.spent < self.most)


def late_charges_are_lost(patch):
    """What a call charges that was given up is not counted."""
    plain = State.late
    patch.setattr(State, "late", lambda self, call, usage: plain(self, call, NO_USAGE))


def charges_are_counted_twice(patch):
    """Every charge counts double."""
    plain = Budget.charge

    def charge(self, usage):
        plain(self, usage)
        plain(self, usage)

    patch.setattr(Budget, "charge", charge)


def given_up_calls_are_settled(patch):
    """A call that was given up is accounted for before it has said what it spent."""
    plain = State.abandon

    def abandon(self, call):
        plain(self, call)
        self.abandoned.discard(call)

    patch.setattr(State, "abandon", abandon)


def given_up_time_is_lost(patch):
    """A slot's time is not counted when its call is given up."""

    def abandon(self, call):
        given_up = self.slots.running.pop(call, None)
        if given_up is not None and given_up.paid:
            self.abandoned.add(call)
        self.out.append(Abandon(call))

    patch.setattr(State, "abandon", abandon)


def buffer_loses_a_card(patch):
    """A card that is given back now and then vanishes."""
    plain = EvidenceBuffer.give_back

    def give_back(self, numbers):
        numbers = list(numbers)
        plain(self, numbers)
        if len(numbers) > 2:
            self._waiting.pop(numbers[0])

    patch.setattr(EvidenceBuffer, "give_back", give_back)


def lease_is_lost(patch):
    """A sweep's cards stay in the buffer too, so a later sweep takes them again."""
    plain = EvidenceBuffer.lease

    def lease(self, numbers=None):
        cards, first = plain(self, numbers)
        if len(cards) > 3:
            self._waiting[cards[0].number] = cards[0]
        return cards, first

    patch.setattr(EvidenceBuffer, "lease", lease)


def backpressure_always_refreshes(patch):
    """Workers are refreshed after sweeps in which nothing was stale."""
    patch.setattr(Backpressure, "swept", lambda self, *, committed, stale: not committed)


def backpressure_hoards(patch):
    """Carried cards are never let go."""
    patch.setattr(Backpressure, "overflow", lambda self, carried: ())


def duplicate_frees_a_slot(patch):
    """A second answer to one call frees somebody else's slot."""
    plain = State.ended

    def ended(self, call):
        running, freed = self.slots.running, plain(self, call)
        if freed is None and running:
            running.pop(next(iter(running)))
        return freed

    patch.setattr(State, "ended", ended)
    patch.setattr(Answers, "_late", lambda self, event: None)


def slot_is_counted_twice(patch):
    """One call more than there are slots may run."""
    patch.setattr(Slots, "free", property(lambda self: self.capacity + 1 - len(self.running)))


def answer_to_another_request(patch):
    """A step's scores come in the order of arrival."""
    plain = Measuring._rows

    def rows(self, measure):
        return tuple(tuple(sorted(row)) for row in plain(self, measure))

    patch.setattr(Measuring, "_rows", rows)


def scores_of_another_candidate(patch):
    """The rows of two candidates are exchanged."""
    plain = Measuring._rows
    patch.setattr(Measuring, "_rows", lambda self, measure: plain(self, measure)[::-1])


def scores_of_another_measurement(patch):
    """Of several measurements made at once the answers are exchanged."""
    plain = Measuring.take
    patch.setattr(Measuring, "take", lambda self, requester: plain(self, requester)[::-1])


def race_is_ignored(patch):
    """A lost compare-and-swap is taken for a commit."""

    def lost(self, sweep, head):
        self.state.head = Snapshot(head.version, self.state.head.artifact)
        self._committed(sweep, ())

    patch.setattr(Requests, "_lost", lost)


def publishes_before_acknowledgement(patch):
    """The head is published when the commit is sent."""
    plain = Requests._commit

    def commit(self, sweep, request):
        plain(self, sweep, request)
        if sweep.step.commit is not None:
            cards = tuple(sweep.survivors[n] for n in request.cards)
            head = Snapshot(self.state.head.version + 1, request.candidate)
            self.state.adopt(head, cards)

    patch.setitem(_requests._DO, Commit, commit)


def loser_keeps_its_head(patch):
    """A step goes on, on the head that another one's commit has replaced."""

    plain = Sweeps.close_others

    def close_others(self, winner):
        open_ones = dict(self.open)
        self.open = {n: s for n, s in open_ones.items() if not s.waits or s is winner}
        plain(self, winner)
        self.open = {n: s for n, s in open_ones.items() if s.waits or s is winner}

    patch.setattr(Sweeps, "close_others", close_others)
    patch.setattr(_validate, "_open_sweeps", lambda state, sweeps: None)


def two_commits_on_their_way(patch):
    """A step that wants to commit does not wait for the commit of another."""
    plain = Requests._commit

    def commit(self, sweep, request):
        with pytest.MonkeyPatch.context() as blind:
            blind.setattr(Sweeps, "committing", None)
            plain(self, sweep, request)

    patch.setitem(_requests._DO, Commit, commit)
    patch.setattr(_validate, "_open_sweeps", lambda state, sweeps: None)


def memory_changes_under_a_step(patch):
    """A step goes on, with a memory that another one has replaced."""

    def remember(self, sweep, memory):
        del sweep
        self.state.memory = memory

    patch.setattr(Requests, "_remember", remember)


def one_step_too_many(patch):
    """A sweep begins whenever those that are open wait for measurements."""
    patch.setattr(Sweeps, "room", property(lambda self: self.waiting))
    patch.setattr(_validate, "_open_sweeps", lambda state, sweeps: None)


def decides_twice(patch):
    """A committed card is counted once more."""
    plain = State.decide

    def decide(self, number, kind, *more):
        card = plain(self, number, kind, *more)
        if kind == "committed" and number % 5 == 0:
            self.tally.decisions[kind] += 1
        return card

    patch.setattr(State, "decide", decide)


def timer_is_trusted(patch):
    """A tick lets every call with a deadline go, due or not."""

    def overdue(self, now):
        deadline = self.next_deadline()
        return None if deadline is None or now == 0.0 else self.running[self._deadlines[0][1]]

    def tick(self, event):
        while (call := overdue(self._state.slots, event.now)) is not None:
            self._state.slots.running.pop(call.id)

    patch.setattr(Machine, "_tick", tick)


def resume_forgets_the_lookups(patch):
    """After a crash the plug-ins are asked with an empty memory."""
    plain = Recovery.reopen

    def reopen(self, now):
        self.engine.machine._state.memory = None
        self.engine.machine._tickets.admission.queue.drawn = 0
        return plain(self, now)

    patch.setattr(Recovery, "reopen", reopen)


def pause_is_ignored(patch):
    """Calls begin however many failed in a row."""

    def unset(self, value):
        del self, value

    patch.setattr(Backoff, "until", property(lambda self: self._asked_until, unset))
    patch.setattr(Backoff, "trial", property(lambda self: None, unset))


def backend_asks_in_vain(patch):
    """What the backend says about when to come again is not heard."""
    plain = Backoff.failed

    def failed(self, call, *, retry_after, **more):
        return plain(self, call, retry_after=None, **more)

    patch.setattr(Backoff, "failed", failed)


def pause_never_ends(patch):
    """A success does not end a streak."""
    patch.setattr(Backoff, "answered", lambda self: None)


def both_copies_count(patch):
    """A second copy goes on when the first answer is there, and its own is taken too."""
    patch.setattr(Tickets, "_let_copies_go", lambda self, flight: None)


def hedges_without_end(patch):
    """A rollout that takes long gets one copy after the other."""
    plain = Stragglers.start_copies

    def start_copies(self, flights):
        plain(self, flights)
        for flight in flights.values():
            flight.hedged = False
            if flight.copy >= 0:
                self.to_hedge.append((flight.ticket.number, flight.call))

    patch.setattr(Stragglers, "start_copies", start_copies)


def hedge_is_not_reserved(patch):
    """A second copy is paid for from what others have reserved."""
    plain = Stragglers.start_copies

    def start_copies(self, flights):
        with pytest.MonkeyPatch.context() as loose:
            loose.setattr(Budget, "affords", lambda self, calls: True)
            plain(self, flights)

    patch.setattr(Stragglers, "start_copies", start_copies)


def round_goes_on(patch):
    """A round whose time is up lets its rollouts run."""
    patch.setattr(Tickets, "end_round", lambda self: None)


def head_is_handed_out_late(patch):
    """Workers keep what they hold for a round too long."""
    patch.setattr(
        Barrier,
        "base",
        lambda self, held, head: held if self._round % (self.refresh_interval + 1) else head,
    )


def checkpoint_forgets_deadlines(patch):
    """A machine that is made from a checkpoint gives up no call that ran before."""
    plain = _machine.read

    def read(checkpoint, parts):
        plain(checkpoint, parts)
        parts[0].slots._deadlines.clear()

    patch.setattr(_machine, "read", read)


def checkpoint_copies(patch):
    """What two parts of a machine share comes back twice."""
    plain = _checkpoint._Writer._object

    def write(self, value, kind):
        self._numbers.clear()
        return plain(self, value, kind)

    patch.setattr(_checkpoint._Writer, "_object", write)


def checkpoint_forgets_estimates(patch):
    """What the duration estimator has learnt does not come back."""
    patch.setattr(PluginLookups, "recall", lambda _self, _learnt: None)


def checkpoint_forgets_what_is_due(patch):
    """A simulated run that goes on from a checkpoint waits for nothing that began before."""
    plain = Simulation._put_back

    def put_back(self, checkpoint, arrived):
        plain(self, checkpoint, arrived)
        self._due.clear()

    patch.setattr(Simulation, "_put_back", put_back)


def held_step_waits(patch):
    """A step that is held back for a checkpoint waits for whatever happens next."""
    patch.setattr(Sweeps, "held_back", False)


BUGS: tuple[Plant, ...] = (
    gate_forgets_undecided,
    gate_checks_then_runs,
    gate_drifts,
    gate_idles,
    barrier_opens_early,
    merger_takes_any_age,
    merger_skips_rebase,
    budget_checks_late,
    budget_counts_after,
    budget_leaks,
    ceiling_is_forgotten,
    late_charges_are_lost,
    charges_are_counted_twice,
    given_up_calls_are_settled,
    given_up_time_is_lost,
    buffer_loses_a_card,
    lease_is_lost,
    backpressure_always_refreshes,
    backpressure_hoards,
    duplicate_frees_a_slot,
    slot_is_counted_twice,
    answer_to_another_request,
    scores_of_another_candidate,
    scores_of_another_measurement,
    race_is_ignored,
    publishes_before_acknowledgement,
    loser_keeps_its_head,
    two_commits_on_their_way,
    memory_changes_under_a_step,
    one_step_too_many,
    decides_twice,
    timer_is_trusted,
    resume_forgets_the_lookups,
    pause_is_ignored,
    backend_asks_in_vain,
    pause_never_ends,
    both_copies_count,
    hedges_without_end,
    hedge_is_not_reserved,
    round_goes_on,
    head_is_handed_out_late,
    checkpoint_forgets_deadlines,
    checkpoint_copies,
    checkpoint_forgets_estimates,
    checkpoint_forgets_what_is_due,
    held_step_waits,
    *planted_trainings.BUGS,
)


def first_failure(within: int) -> tuple[int, str] | None:
    """
    The first seed whose schedule goes wrong, and what it breaks; None when none does.
    """
    for seed in range(within):
        try:
            check(seed)
        except (AuditError, MachineError) as error:
            return seed, f"{type(error).__name__}: {error}"
    return None


def main() -> int:
    """
    Plant each bug and print the seed that finds it; 1 when one is not found.
    """
    missed = 0
    for bug in BUGS:
        with pytest.MonkeyPatch.context() as patch:
            bug(patch)
            found = first_failure(WITHIN)
        missed += found is None
        seed, text = found or ("not found", "")
        print(f"{bug.__name__:36} seed {seed:<6} {text[:90]}")
    print(f"{len(BUGS) - missed} of {len(BUGS)} planted bugs found within {WITHIN} schedules")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
