"""
What the gate of groups promises, at every event of runs that Hypothesis draws.

``World`` keeps books of its own and compares them with the gate's after every event.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reservations_oracle import World, random_gate

from headway import GateView, Reservations

seeds = st.integers(0, 10**6)
EVENTS = 120


def world_of(seed, *, hung=0.0, dropping=0.1, crashing=0.0, jumping=0.0, **options):
    """
    A gate of any kind in a world.
    """
    gate = random_gate(Random(seed), **options)
    return World(gate, seed, hung=hung, dropping=dropping, crashing=crashing, jumping=jumping)


@given(seeds)
def test_every_trained_group_is_within_the_staleness(seed):
    """
    Its age is counted from its stamp to the last update of the step that trained it.
    """
    world = world_of(seed).play(EVENTS).finish()

    assert all(0 <= age <= world.gate.max_age for age in world.ages)


@given(seeds, st.integers(1, 9))
def test_every_trained_group_is_within_the_bound_of_a_window(seed, window):
    """
    So many batches later as the window is larger than one group.
    """
    options = {"rule": "window", "window": window, "batch_order": "completion"}
    world = world_of(seed, **options).play(EVENTS).finish()
    order = [number for batch in world.batches for number in batch]

    assert all(0 <= age <= world.gate.max_age for age in world.ages)
    for at, number in enumerate(order):
        assert sum(other > number for other in order[:at]) < window


@given(seeds)
def test_capacity(seed):
    """
    Never more groups than it, and no more than the staleness allows; all of it can be used.
    """
    world = world_of(seed, groups=None)
    gate = world.gate
    while gate.admit(world.view):
        world.admit()

    assert gate.capacity == len(gate.outstanding)
    assert gate.capacity <= (1 + gate.max_staleness) * gate.groups_per_step
    for _ in range(EVENTS):
        world.happen()

        assert len(gate.outstanding) <= gate.capacity


@given(seeds)
def test_every_group_ends_once(seed):
    """
    Trained or dropped, and no number comes twice; what isn't is outstanding.
    """
    world = world_of(seed).play(EVENTS).finish()
    trained = [number for number, *_ in world.trained]
    dropped = [entry[1] for entry in world.log if entry[0] == "drop"]
    ends = Counter([*trained, *dropped, *world.stamps])

    assert [*range(world.gate.standing(world.head).admitted)] == sorted(ends)
    assert {1} >= set(ends.values())


@given(seeds)
def test_nothing_is_left_of_a_run_that_drains(seed):
    """
    No gate keeps a ready group for ever.
    """
    world = world_of(seed).play(EVENTS).finish()

    assert ((), ()) == (world.gate.outstanding, world.gate.in_training)
    assert world.began is None


@given(seeds)
def test_a_run_never_stands_still(seed):
    """
    As long as a group may come, something can happen.
    """
    world = world_of(seed, groups=None)
    for _ in range(EVENTS):
        assert world.happen()


@given(seeds)
def test_a_run_that_stands_still_names_who_hangs(seed):
    """
    When nothing but a hung group can end, it is named, and it is the oldest that runs.
    """
    world = world_of(seed, hung=0.2, dropping=0.0, groups=None).play(1000)
    standing = world.gate.standing(world.head)

    if world.those("running") == [] and not world.gate.admit(world.view):
        hung = world.those("hung")
        assert hung
        assert min(hung) == standing.blocking
        assert world.head - world.stamps[min(hung)] == standing.blocking_age
        assert standing.waits_for in ("bound", "groups")


@given(seeds)
def test_the_batches_are_the_oldest(seed):
    """
    Of those that were ready, or of all.
    """
    world = world_of(seed, early=False)
    gate = world.gate
    for _ in range(EVENTS):
        ready, outstanding = gate.ready, gate.outstanding
        before = len(world.log)
        world.happen()
        for entry in world.log[before:]:
            if entry[0] == "batch":
                size = len(entry[1])
                pool = outstanding if gate.batch_order == "admission" else ready
                assert pool[:size] == entry[1]
                assert size == gate.groups_per_step or size == len(outstanding)


@given(seeds)
def test_groups_that_joined_a_batch_stay_in_it(seed):
    """
    Until it is trained or given up, or they are dropped.
    """
    world = world_of(seed, early=True, crashing=0.1)
    held: set[int] = set()
    for _ in range(EVENTS):
        before = len(world.log)
        world.happen()
        for kind, *what in world.log[before:]:
            if kind == "drop":
                held.discard(what[0])
            elif kind in ("commit", "give up"):
                held = set()
            elif kind == "batch":
                held.update(what[0])

        assert held == set(world.gate.in_training)


@given(seeds, st.booleans())
def test_without_staleness_all_is_synchronous(seed, early):
    """
    Every age is 0, and the batches are those of a loop that admits one and waits for it.
    """
    world = world_of(
        seed, max_staleness=0, updates_per_step=1, early=early, dropping=0.0, groups=None
    ).play(EVENTS)
    size = world.gate.groups_per_step
    rounds = [tuple(range(at * size, (at + 1) * size)) for at in range(len(world.batches))]

    assert {0} >= set(world.ages)
    assert rounds == world.batches


@given(seeds)
def test_the_mean_age_is_what_is_admitted_ahead(seed):
    """
    Every version that passes adds one to the age of each group that is not trained by it: with as
    many outstanding as may be, capacity less a batch.
    """
    gate = random_gate(Random(seed), updates_per_step=1, groups=None, early=False)
    rng, head, trained, stamps = Random(seed), 0, 0, {}
    for _ in range(40):
        view = GateView(head=head)
        while gate.admit(view):
            stamps[gate.reserve(head)] = head
        running = [n for n in gate.outstanding if n not in gate.ready]
        rng.shuffle(running)
        while not gate.take(view):
            gate.complete(running.pop())
        batch = gate.batch()
        trained += sum(head - stamps[n] for n in batch)
        gate.trained(batch)
        head += 1
    left = sum(head - stamps[n] for n in gate.outstanding)

    assert head * (gate.capacity - gate.groups_per_step) == trained + left
    assert gate.mean_age == pytest.approx((trained + left) / head / gate.groups_per_step)


@given(seeds)
def test_a_gate_goes_on_from_its_memory_at_any_event(seed):
    """
    The same future, event by event, as the one that was never lost.
    """
    steady, crashing = world_of(seed), world_of(seed)
    for _ in range(EVENTS):
        crashing.crash()

        assert steady.happen() == crashing.happen()
        assert steady.log == crashing.log
        assert steady.gate.memory == crashing.gate.memory


def sizes(gate):
    """
    How long each collection is that the gate holds, at any depth.
    """
    for name in type(gate).__slots__:
        held = getattr(gate, name, None)
        if attrs.has(type(held)):
            yield from sizes(held)
        elif isinstance(held, dict | list | set | tuple):
            yield len(held)


@settings(max_examples=20)
@given(seeds, st.sampled_from(["wait", "none"]))
def test_what_is_kept_is_as_large_as_what_is_outstanding(seed, rule):
    """
    After any number of batches, also beside a group that hangs.
    """
    options = {"batch_order": "completion", "groups": None, "early": False}
    gate = random_gate(Random(seed), rule=rule, **options)
    world = World(gate, seed, hung=0.0 if rule == "wait" else 0.01)
    for _ in range(1500):
        world.happen()

        assert max(sizes(gate)) <= gate.capacity

    assert len(world.batches) > 20 or world.those("hung")


@given(seeds)
def test_a_foreign_writer_costs_groups_and_never_the_bound(seed):
    """
    The head jumps now and then; what can't be trained in time is dropped, the rest is.
    """
    world = world_of(seed, jumping=0.3).play(EVENTS).finish()

    assert all(0 <= age <= world.gate.max_staleness for age in world.ages)


@given(seeds, st.integers(1, 30))
def test_finite_data_is_trained_to_the_last_group(seed, total):
    """
    As many as were asked for, in whole batches but for the last, whatever is dropped or given up.
    """
    world = world_of(seed, groups=total)
    while world.happen():
        world.check()

    assert total == len(world.trained)
    if not world.dropped:
        size = world.gate.groups_per_step
        whole = [min(size, total - done) for done in range(0, total, size)]
        assert whole == [len(batch) for batch in world.batches]


@given(seeds)
def test_what_is_trained_is_what_was_admitted(seed):
    """
    Nobody is favoured: without drops, all that was admitted is trained, but for what is outstanding.
    """
    world = world_of(seed, dropping=0.0, groups=None).play(EVENTS)
    trained = [number for number, *_ in world.trained]

    assert [*range(len(trained) + len(world.stamps))] == sorted([*trained, *world.stamps])


@given(seeds)
def test_a_question_changes_nothing(seed):
    """
    Asking in any order, as often as one likes.
    """
    world = world_of(seed)
    gate = world.gate
    for _ in range(40):
        world.happen()
        before = gate.memory
        gate.admit(world.view)
        gate.within_bound(world.view)
        gate.standing(world.head)
        gate.lost(world.head)
        gate.take(world.view)

        assert before == gate.memory


def test_a_gate_of_another_kind_can_be_made_from_the_same_class():
    """
    The options that a gate was made with stay what they were.
    """
    gate = Reservations(groups_per_step=2, oversample_factor=1.5)

    assert (2, 2, 1, 1.5, 6) == (
        gate.groups_per_step,
        gate.max_staleness,
        gate.admit_ahead,
        gate.oversample_factor,
        gate.capacity,
    )


def rebuilt(world):
    """
    A gate in the same state that remembers none of its answers.
    """
    options = {field.name: field for field in attrs.fields(Reservations) if field.init}
    gate = Reservations(**{name: getattr(world.gate, name) for name in options})
    gate.memory = world.gate.memory
    return gate


@given(seeds, st.integers(-2, 4))
def test_what_was_answered_before_changes_no_answer(seed, other):
    """
    Also when it was asked about a version that the head does not have; and a step that may begin is
    never one that ``ripe`` says not to ask for.
    """
    world = world_of(seed, jumping=0.05)
    for _ in range(EVENTS):
        world.happen()
        gate, fresh = world.gate, rebuilt(world)
        asked = max(0, world.head + other)
        may = fresh.take(world.view)

        assert gate.standing(asked) == fresh.standing(asked)
        assert gate.take(attrs.evolve(world.view, head=asked)) == fresh.take(
            attrs.evolve(world.view, head=asked)
        )
        assert gate.standing(world.head) == fresh.standing(world.head)
        assert gate.take(world.view) == may
        assert gate.ripe or not may or world.view.draining
