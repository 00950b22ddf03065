"""
The gate of groups against trying everything, in random states and in random runs.
"""

from __future__ import annotations

from random import Random

import pytest
from reservations_oracle import (
    Case,
    World,
    blocking,
    breaks_bound,
    due_now,
    early_differs,
    fewest_lost,
    gate_of,
    holds,
    in_time,
    joining,
    random_case,
    random_gate,
    selections,
    state_differs,
)

from headway import GateView, Reservations

STATES, RUNS = 4000, 300


def cases(seed, count=STATES, late=0.1):
    rng = Random(seed)
    return [random_case(rng, late) for _ in range(count)]


def test_the_oracle_knows_the_worked_example():
    """
    Of a, b, e, d (due at 12) and g, h (due at 13), a step at 11 may not be a and g, but a and b.
    """
    stamps = (10, 10, 10, 10, 11, 11)
    waits = Case(size=2, staleness=2, updates=1, version=11, stamps=stamps, ready=(0, 4, 5))
    steps = Case(size=2, staleness=2, updates=1, version=11, stamps=stamps, ready=(0, 1, 4))

    assert [] == selections(waits)
    assert [(0, 1)] == selections(steps)
    assert [0] == joining(waits, ())
    assert in_time((12, 12, 12, 12, 13, 13), 11, 2, 1)
    assert not in_time((12, 12, 12, 12, 12, 13), 11, 2, 1)
    assert not in_time((12, 12), 11, 1, 2)


def test_random_states_are_of_every_kind():
    """
    A step is legal in many, in many others it is not although enough groups are ready, and in some
    a group can't be trained in time whatever is done.
    """
    found = cases(1)
    enough = [case for case in found if len(case.ready) >= case.size]
    legal = [case for case in enough if selections(case)]
    late = [c for c in found if not in_time(c.deadlines, c.version, c.size, c.updates)]

    assert len(legal) > STATES / 3
    assert len(enough) - len(legal) > STATES / 20
    assert len(late) > STATES / 50
    assert sum(len(case.stamps) > 2 * case.size for case in legal) > STATES / 20


def test_every_decision_is_that_of_the_oracle():
    """
    A step begins exactly when some batch of ready groups leaves the others a way to be in time
    (safety, necessity), and takes such a batch: the oldest ready ones (the choice is optimal).
    """
    assert [] == [case for case in cases(2) if state_differs(case)]


def test_every_early_decision_is_that_of_the_oracle():
    """
    A group joins exactly when the batch can be completed and leaves the others a way to be in time;
    what is complete at once is what a whole batch would be.
    """
    assert [] == [case for case in cases(3) if early_differs(case)]


def test_early_batches_are_whole_batches():
    """
    With the same groups ready, groups that join one by one make the batch that a step would take.
    """
    for case in cases(4):
        (whole, view), (early, _) = gate_of(case), gate_of(case, early=True)
        early.take(view) and early.batch()

        assert early.full == whole.take(view)
        assert not early.full or whole.batch() == early.in_training


def test_a_step_is_legal_when_all_groups_are_ready():
    """
    Progress: the gate waits for groups that run, and for nothing else.
    """
    feasible = [c for c in cases(5, late=0.0) if len(c.stamps) >= c.size]
    for case in feasible:
        everyone = tuple(range(len(case.stamps)))
        gate, view = gate_of(Case(**{**as_dict(case), "ready": everyone}))

        assert gate.take(view)
        assert everyone[: case.size] == gate.batch()


def as_dict(case):
    return {name: getattr(case, name) for name in Case.__slots__ if name != "__weakref__"}


def test_a_step_keeps_a_state_feasible():
    """
    Closure, searched for: after a legal step all others can be trained in time, also beside as many
    new groups as are admitted then.
    """
    steps = 0
    for case in cases(6, late=0.0):
        gate, view = gate_of(case)
        if not gate.take(view):
            continue
        gate.trained(gate.batch())
        head, steps = case.version + case.updates, steps + 1
        while gate.admit(GateView(head=head)):
            gate.reserve(head)
        deadlines = (gate.stamp(n) + case.staleness - case.updates + 1 for n in gate.outstanding)

        assert in_time(tuple(deadlines), head, case.size, case.updates)
        assert gate.within_bound(GateView(head=head))

    assert steps > STATES / 3


def test_feasible_is_what_the_oracle_can_schedule():
    """
    ``within_bound`` and ``slack`` say whether all can be trained in time.
    """
    for case in cases(7, late=0.5):
        gate, view = gate_of(case)
        expected = in_time(case.deadlines, case.version, case.size, case.updates)

        assert expected == gate.within_bound(view)
        assert expected == (gate.slack(case.version) >= 0)


def test_the_fewest_groups_are_lost():
    """
    Without them all others can be trained in time, and with fewer gone they could not.
    """
    some = 0
    for case in cases(8, count=1000, late=1.0):
        gate, view = gate_of(case)
        lost = gate.lost(case.version)
        some += bool(lost)

        assert fewest_lost(case) == len(lost)
        for group in lost:
            gate.drop(group)
        assert gate.within_bound(view)

    assert some > 300


def test_who_blocks_runs_and_must_come_first():
    """
    Enough are ready and no step is legal: the group that is named is the oldest that runs, and
    there is one wherever the others can be trained in time.
    """
    blocked = 0
    for case in cases(9, late=0.0):
        gate, view = gate_of(case)
        waits = not selections(case) and len(case.ready) >= case.size
        running = [n for n in range(len(case.stamps)) if n not in case.ready]
        blocked += waits

        assert (running[0] if waits else None) == blocking(gate, view.head)

    assert blocked > STATES / 20


def test_the_simple_rule_is_the_same_for_two_batches():
    """
    With at most two batches outstanding, a step is legal exactly when nothing that would remain is
    due at the head's version; with more it may be illegal all the same.
    """
    differ = 0
    for case in cases(10, count=5 * STATES, late=0.0):
        if len(case.ready) < case.size or case.updates > 1:
            continue
        chosen = case.ready[: case.size]
        simple = all(d > case.version for n, d in enumerate(case.deadlines) if n not in chosen)
        gate, view = gate_of(case)
        legal = gate.take(view)

        assert legal == holds(case, chosen)
        assert simple or not legal
        if len(case.stamps) <= 2 * case.size:
            assert simple == legal
        differ += simple != legal

    assert differ > 5


@pytest.mark.parametrize("part", range(3))
def test_no_random_run_breaks_the_bound(part):
    """
    Whatever the options: drops, given up steps, commits that move nothing, crashes.
    """
    for seed in range(part * RUNS, (part + 1) * RUNS):
        world = World(random_gate(Random(seed)), seed, crashing=0.05).play(150).finish()

        assert max(world.ages, default=0) <= world.gate.max_staleness
        assert min(world.ages, default=0) >= 0


def test_the_weaker_rule_breaks_the_bound_with_two_batches_ahead():
    """
    Waiting only for what is due now: no run in which one batch is admitted ahead breaks the bound,
    some with two and with three do, and none under look-ahead.
    """
    counts = [sum(breaks_bound(s, due_now, ahead) for s in range(RUNS)) for ahead in (1, 2, 3)]

    assert 0 == counts[0]
    assert all(count > RUNS / 50 for count in counts[1:])
    assert [0, 0] == [sum(breaks_bound(s, None, ahead) for s in range(RUNS)) for ahead in (2, 3)]


def test_the_weaker_rule_is_the_same_with_one_batch_ahead():
    """
    At every event of random runs in which enough groups are ready.
    """
    asked = waited = 0
    for seed in range(RUNS):
        rng = Random(seed)
        gate = Reservations(
            groups_per_step=rng.randint(1, 4), max_staleness=rng.randint(1, 3), admit_ahead=1
        )
        world = World(gate, seed)
        for _ in range(100):
            world.happen()
            if world.began is None and len(gate.ready) >= gate.groups_per_step:
                asked += 1
                waited += not gate.take(world.view)

                assert due_now(world) == gate.take(world.view)

    assert asked > 1000
    assert waited > 50
