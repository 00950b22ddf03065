"""
What the gates promise, counted from outside: from the events that go into the machine and the
instructions that come out, never from what the machine says about itself.
"""

from __future__ import annotations

from collections import defaultdict

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway import Commit, Consume, Measure, Registry, Work
from headway._prepare import prepare
from headway.builtins.standard import StandardAggregator
from headway.contracts import (
    CardDecided,
    Carry,
    HeadCommitted,
    HeadMoved,
    Proposal,
    SweepDone,
    TicketEnded,
)
from headway.drivers import Engine
from headway.drivers.simulated import Simulation
from headway.durations import Constant, LogNormal, Pareto
from headway.machine import Abandon, Abort, Done, Failed, Notify, Returned, Run, Yielded
from headway.options import make_options
from headway.testing._toy import ToyDomain

LAWS = (Constant(0.0), Constant(1.0), LogNormal(1.0, 1.0), Pareto(1.0, 1.2))
OF_TICKETS = ("rollout", "propose", "verify")


class Carrier:
    """
    Commits what is measured to help, carries what changes nothing, lets the rest go.
    """

    def __init__(self, batch=1, max_steps=1):
        self.batch, self.max_steps = batch, max_steps

    def step(self, cards, context):
        for card in cards:
            candidate = context.apply(card.diff)
            before, after = yield Measure((context.head, candidate), context.held_out)
            if sum(after) > sum(before):
                yield Commit(candidate, [card])
                return
            if sum(after) == sum(before):
                yield Carry([card])


class Fickle:
    """
    Does whatever the contract allows, and now and then what it does not.
    """

    def __init__(self, batch=1, max_steps=1, bad=0.03):
        self.batch, self.max_steps, self.bad = batch, max_steps, bad

    def select(self, ticket, head, memory, rng):
        task = rng.choice(["train-0", None, None])
        return Work(payload=ticket.number, task=task)

    def step(self, cards, context):
        rng, left = context.rng, list(cards)
        if rng.random() < 0.2 and not context.quiet:
            return None
        while left and rng.random() < 0.9:
            card = left.pop(rng.randrange(len(left)))
            draw = rng.random()
            if draw < self.bad:
                raise RuntimeError("fickle")
            if draw < 0.3:
                yield Consume([card], "vetoed")
            elif draw < 0.5:
                yield Carry([card])
            elif draw < 0.7:
                yield Measure((context.apply(card.diff),), context.held_out)
            else:
                yield Commit(context.apply(card.diff), [card], memory=[card.number])
                return None
        return [len(left)]


def standard(batch=1, max_steps=1):
    return StandardAggregator(batch_size=batch, max_steps=max_steps)


AGGREGATORS = {"standard": standard, "carrier": Carrier, "fickle": Fickle}


class Watch:
    """
    Counts tickets, cards and calls from outside, and asserts the bounds after every event.
    """

    def __init__(self, options, n_train):
        self.options, self.n_train = options, n_train
        self.head = 0
        self.calls: dict[int, object] = {}
        self.in_flight: set[int] = set()
        self.proposed: dict[int, bool] = {}
        self.made = 0
        self.decided: set[int] = set()
        self.carrying: dict[int, set[int]] = defaultdict(set)
        self.carried: set[int] = set()
        self.drifts: list[int] = []
        self.bases: dict[int, int] = {}
        self.barren: set[str] = set()
        self.events = 0
        self.most = 0
        self.commits: list[int] = []

    def hear(self, event):
        """
        Note what the machine is told.
        """
        self.events += 1
        if isinstance(event, Done | Failed):
            call = self.calls.pop(event.call, None)
            if isinstance(event, Done) and call is not None:
                self.answered(call, event.value)
        elif isinstance(event, Yielded) and isinstance(event.request, Carry):
            self.carrying[event.step].update(event.request.cards)

    def answered(self, call, value):
        if call.kind == "propose":
            self.proposed[call.ticket.number] = isinstance(value, Proposal) and not value.no_op
        elif isinstance(value, HeadMoved):
            self.moved(value.head)

    def see(self, event, instructions):
        """
        Note what the machine said to it, and check.
        """
        for instruction in instructions:
            if isinstance(instruction, Notify):
                self.told(instruction.notice)
            elif isinstance(instruction, Run):
                self.begun(instruction.call)
            elif isinstance(instruction, Abandon):
                self.calls.pop(instruction.call)
            elif isinstance(instruction, Abort):
                self.carrying.pop(instruction.step, None)
        ended = any(isinstance(i, Notify) and isinstance(i.notice, SweepDone) for i in instructions)
        if isinstance(event, Returned) and ended:  # else it waits for another step's commit
            self.carried |= self.carrying[event.step] - self.decided

    def moved(self, head):
        self.head = head.version
        self.barren.clear()

    def ended(self, notice):
        self.in_flight.remove(notice.ticket)
        proposed = self.proposed.get(notice.ticket, False)
        self.made += notice.completion == "ok" and proposed
        if notice.completion == "ok" and self.bases[notice.ticket] == self.head:
            (self.barren.discard if proposed else self.barren.add)(notice.task)

    def told(self, notice):
        if isinstance(notice, HeadCommitted):
            self.moved(notice.head)
        elif isinstance(notice, TicketEnded):
            self.ended(notice)
        elif isinstance(notice, CardDecided):
            assert notice.decision.card not in self.decided
            self.decided.add(notice.decision.card)
            self.carried.discard(notice.decision.card)
        elif isinstance(notice, SweepDone) and notice.committed:
            self.commits.append(notice.rollouts)

    def begun(self, call):
        self.calls[call.id] = call
        if call.kind == "rollout":
            self.in_flight.add(call.ticket.number)
            self.bases[call.ticket.number] = call.ticket.base
            self.drifts.append(self.head - call.ticket.base)

    @property
    def undecided(self):
        return self.made - len(self.decided) - len(self.carried)

    @property
    def nothing_left(self):
        """
        Whether all training tasks were tried at this head in vain, and nothing is held.
        """
        return len(self.barren) == self.n_train and self.made == len(self.decided)

    @property
    def running(self):
        return sum(
            call.kind == "rollout" or call.kind in OF_TICKETS for call in self.calls.values()
        )

    @property
    def slots_taken(self):
        return sum(call.kind not in ("commit", "promote") for call in self.calls.values())

    def check(self, batch, phase):
        """
        The bounds that hold in every mode, and the mode's own.
        """
        o = self.options
        work = len(self.in_flight) + self.undecided
        self.most = max(self.most, work)
        assert self.running <= o.n_workers
        assert self.slots_taken <= o.capacity
        assert len(self.carried) <= o.carry_limit
        if o.mode == "sync":
            assert work <= (o.round_size or o.n_workers)
            assert {0} >= set(self.drifts)
            return
        bound = o.n_workers + o.async_ratio + batch - 1
        assert work <= bound
        assert all(0 <= drift <= o.async_ratio for drift in self.drifts[-1:])
        idle = self.slots_taken < o.capacity and self.running < o.n_workers
        if phase == "running" and idle and not self.nothing_left:
            assert work == bound, "a slot idles while a rollout may start"


@attrs.define(eq=False, kw_only=True)
class Watched(Engine):
    """
    An engine whose machine is watched from outside.
    """

    watch: Watch

    def handle(self, event):
        self.watch.hear(event)
        out = super().handle(event)
        self.watch.see(event, out)
        self.watch.check(self.steps.aggregator.batch, self.machine.phase)
        return out


def simulate(domain=None, durations=None, **options):
    """
    Run under the simulated driver and watch; returns the watch and the machine.
    """
    options = make_options({"driver": "simulated", "validate": True} | options, {})
    prepared = prepare(domain or ToyDomain(), options, registry=Registry.discover())
    names = [field.name for field in attrs.fields(Engine) if field.init]
    watch = Watch(options, len(prepared.splits.train))
    engine = Watched(watch=watch, **{name: getattr(prepared.engine, name) for name in names})
    simulation = Simulation(engine=engine, seed=options.seed, durations=durations or {})
    simulation.start(prepared.started)
    simulation.run()
    assert {} == {n: c for n, c in watch.calls.items() if c.kind == "commit"}
    assert set(range(watch.made)) == watch.decided
    assert set() == watch.in_flight
    return watch, engine.machine


laws = st.fixed_dictionaries(
    {kind: st.sampled_from(LAWS) for kind in ("rollout", "propose", "measure", "rebase", "commit")}
)
common = {
    "seed": st.integers(0, 10_000),
    "n_workers": st.integers(1, 16),
    "slots": st.integers(1, 20),
    "carry_limit": st.integers(0, 4),
    "stall_patience": st.integers(1, 4),
    "policy": st.sampled_from(["full", "guarded", "reflective"]),
    "bind": st.sampled_from(["late", "early"]),
    "self_verify": st.booleans(),
    "rollout_timeout": st.sampled_from([None, 1.5]),
    "eval_timeout": st.sampled_from([None, 1.5]),
    "max_rollouts": st.sampled_from([5, 40]),
}
lagging = st.fixed_dictionaries(
    {
        **common,
        "async_ratio": st.integers(0, 6),
        "resync": st.sampled_from(["commit", "lag"]),
        "max_wait_rounds": st.integers(0, 3),
        "alpha": st.sampled_from([None, 0, 1, 5]),
    }
)
barrier = st.fixed_dictionaries({**common, "round_size": st.integers(1, 20)})
aggregators = st.builds(
    lambda name, batch, max_steps: AGGREGATORS[name](batch=batch, max_steps=max_steps),
    st.sampled_from(sorted(AGGREGATORS)),
    st.integers(1, 9),
    st.integers(1, 3),
)
domains = st.builds(
    ToyDomain,
    n_keys=st.sampled_from([3, 12]),
    right=st.sampled_from([0.1, 0.6]),
    breaking=st.sampled_from([0.0, 0.2]),
    n_tasks=st.just(4),
)


def ended_well(machine, aggregator):
    """
    Only a fickle optimizer can fail or stall; deadlines may leave nothing that can be measured.
    """
    if machine.stop_reason in ("max_iters", "exhausted"):
        return True
    if machine.error.type == "Timeout":
        return machine.stop_reason == "error"
    return isinstance(aggregator, Fickle) and machine.stop_reason in ("stalled", "error")


quietly = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@quietly
@settings(max_examples=120)
@given(options=lagging, durations=laws, aggregator=aggregators, domain=domains)
def test_the_lag_gate_keeps_its_bounds_at_every_instant(options, durations, aggregator, domain):
    """
    Drift at start, un-merged work, carried cards, workers and slots; no slot idles while work waits.
    """
    _, machine = simulate(domain, durations, mode="async", aggregator=aggregator, **options)

    assert ended_well(machine, aggregator), machine.error


@quietly
@settings(max_examples=60)
@given(options=barrier, durations=laws, aggregator=aggregators, domain=domains)
def test_the_barrier_keeps_its_bounds_at_every_instant(options, durations, aggregator, domain):
    """
    No more than a round of work, every base the head; a carried card meets it one commit later.
    """
    _, machine = simulate(domain, durations, mode="sync", aggregator=aggregator, **options)

    assert ended_well(machine, aggregator), machine.error
    if isinstance(aggregator, StandardAggregator):
        assert {0, 1} >= set(machine.statistics().eta_histogram)


@quietly
@settings(max_examples=60)
@given(options=lagging, durations=laws, aggregator=aggregators, domain=domains)
def test_only_stale_work_forces_a_refresh(options, durations, aggregator, domain):
    """
    A refresh comes after ``stall_patience`` sweeps with stale discards, and never without any.
    """
    _, machine = simulate(domain, durations, mode="async", aggregator=aggregator, **options)
    counts = machine.statistics()
    refreshes = -(-counts.forced_refreshes // options["n_workers"])  # each of at most n_workers

    assert counts.stale_discarded >= refreshes * options["stall_patience"]


@quietly
def test_runs_are_refreshed_exactly_when_stale_work_piles_up():
    """
    Seeded runs of each kind: nothing stale and no refresh, some stale and none, stale and refreshed.
    """
    seen = set()
    for patience, alpha in [(1, 64), (10**6, 1), (1, 1), (3, 1)]:
        _, machine = stale(stall_patience=patience, alpha=alpha, max_rollouts=120)
        counts = machine.statistics()
        seen.add((patience, alpha, counts.stale_discarded > 0, counts.forced_refreshes > 0))

    assert {
        (1, 64, False, False),
        (10**6, 1, True, False),
        (1, 1, True, True),
        (3, 1, True, True),
    } == seen


@quietly
@pytest.mark.parametrize("n_workers", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("resync", ["commit", "lag"])
@pytest.mark.parametrize("aggregator", [standard, Carrier])
def test_a_batch_larger_than_the_ratio_does_not_deadlock(n_workers, resync, aggregator):
    """
    A batch of 7 fills up with a ratio of 2, and the run goes to its end.
    """
    watch, machine = simulate(
        ToyDomain(n_keys=20, right=0.3),
        {"rollout": Pareto(1.0, 1.2), "measure": Constant(0.5)},
        mode="async",
        aggregator=aggregator(batch=7),
        async_ratio=2,
        n_workers=n_workers,
        resync=resync,
        max_wait_rounds=50,
        max_rollouts=80,
    )

    assert "max_iters" == machine.stop_reason
    assert 0 < machine.statistics().version
    assert watch.most <= n_workers + 2 + 6


def sweeps_of(n_workers, batch, max_wait_rounds):
    """
    How many cards each sweep took.
    """
    taken = []
    options = make_options(
        {
            "driver": "simulated",
            "mode": "async",
            "n_workers": n_workers,
            "max_rollouts": 60,
            "max_wait_rounds": max_wait_rounds,
            "aggregator": StandardAggregator(batch_size=batch),
        },
        {},
    )

    def watch(notice):
        if isinstance(notice, SweepDone):
            taken.append(notice.considered)

    domain = ToyDomain(n_keys=20, silent=0.0, useless=0.0)
    prepared = prepare(domain, options, registry=Registry.discover(), observers=[watch])
    simulation = Simulation(
        engine=prepared.engine, seed=0, durations={"rollout": LogNormal(1.0, 0.5)}
    )
    simulation.start(prepared.started)
    simulation.run()
    return taken


@quietly
@pytest.mark.parametrize("n_workers", [1, 2, 8])
def test_a_batch_is_waited_for_at_any_number_of_workers(n_workers):
    """
    With patience, all sweeps but the last one take a whole batch, one worker's too.
    """
    taken = sweeps_of(n_workers, batch=5, max_wait_rounds=99)

    assert 3 < len(taken)
    assert [n for n in taken[:-1] if n < 5] == []


@quietly
def test_a_batch_is_not_waited_for_longer_than_said():
    """
    ``n_workers`` finished rollouts are one waiting round.
    """
    taken = sweeps_of(1, batch=5, max_wait_rounds=1)

    assert {1, 2} == set(taken)


def stale(**options):
    """
    Workers may lag 64 versions behind, and a card that is 2 behind is worth nothing.
    """
    options = {"alpha": 1, "max_rollouts": 400} | options
    return simulate(
        ToyDomain(n_keys=26, n_values=3, right=0.9, silent=0.0, useless=0.0, n_tasks=26, width=1),
        {"rollout": Constant(1.0)},
        mode="async",
        seed=5,
        n_workers=8,
        async_ratio=64,
        resync="lag",
        bind="early",
        **options,
    )


@quietly
def test_a_large_ratio_against_a_small_alpha_does_not_livelock():
    """
    Stale sweeps refresh the workers, so that commits go on; without that they would not.
    """
    watch, machine = stale(stall_patience=3)
    stuck, _ = stale(stall_patience=10**6)

    assert machine.stop_reason in ("max_iters", "exhausted")
    assert machine.statistics().forced_refreshes > 0
    assert watch.head > 2 * stuck.head
    assert watch.events < 40 * 400


@pytest.mark.parametrize("seed", [5327])
def test_cards_become_enough_with_time(seed):
    """
    How many cards are enough is judged by durations, so any event may open a step, also one that
    changes nothing but which calls run.
    """
    from headway.testing import check

    assert check(seed) > 0
