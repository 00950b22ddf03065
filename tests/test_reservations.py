"""
The gate of groups alone: worked examples, corner cases, and what it refuses.
"""

from __future__ import annotations

import json
import math

import attrs
import pytest
from reservations_oracle import blocking

from headway import GateView, Reservations
from headway.errors import OptionError


def gate_of(size=2, **options):
    return Reservations(groups_per_step=size, **options)


def reserve(gate, version, count=1):
    """
    Admit so many groups at a version; their numbers.
    """
    return [gate.reserve(version) for _ in range(count)]


def fill(gate, version, **view):
    """
    Admit as many as may be.
    """
    admitted = []
    while gate.admit(GateView(head=version, **view)):
        admitted.append(gate.reserve(version))
    return admitted


def complete(gate, *groups):
    for group in groups:
        gate.complete(group)


def takes(gate, version, **view):
    return gate.take(GateView(head=version, **view))


def step(gate, version, **view):
    """
    A whole step at a version: the groups that it trained.
    """
    assert takes(gate, version, **view)
    batch = gate.batch()
    gate.trained(batch)
    return batch


# ------------------------------------------------------------------------------- worked examples


@pytest.mark.parametrize(("ahead", "capacity"), [(2, 24), (1, 16), (5, 24), (0, 8)])
def test_example_guide_numbers(ahead, capacity):
    """
    8 groups a step and 2 versions: no more than three batches, however many are asked for.
    """
    gate = gate_of(8, max_staleness=2, admit_ahead=ahead)

    assert capacity == gate.capacity == len(fill(gate, 0))
    assert not gate.admit(GateView())


def looking_ahead(*ready):
    """
    a, b, e, d (0 to 3) of stamp 10, g and h (4 and 5) of stamp 11; the head is at 11.
    """
    gate = gate_of(2, max_staleness=2, admit_ahead=2)
    reserve(gate, 10, 4)
    reserve(gate, 11, 2)
    complete(gate, *ready)
    return gate


def test_example_look_ahead_waits():
    """
    a, g, h are ready, but then b, e, d would be due at 12, where only two have room: wait for b,
    although the oldest age is 1.
    """
    gate = looking_ahead(0, 4, 5)

    assert not takes(gate, 11)
    assert 1 == blocking(gate, 11)
    assert "bound" == gate.standing(11).waits_for
    assert 1 == gate.standing(11).blocking_age


def test_example_look_ahead_steps():
    """
    With a, b, g: a and b are taken, and the others still have room in time.
    """
    gate = looking_ahead(0, 1, 4)

    assert (0, 1) == step(gate, 11)
    assert gate.within_bound(GateView(head=12))
    assert (2, 3, 4, 5) == gate.outstanding


def test_example_no_staleness():
    """
    The whole batch must be ready; all ages are 0.
    """
    gate = gate_of(3, max_staleness=0, admit_ahead=0)
    for version in range(4):
        groups = fill(gate, version)
        complete(gate, groups[2], groups[0])
        assert not takes(gate, version)
        complete(gate, groups[1])
        assert tuple(groups) == step(gate, version)

    assert [*range(12)] == [number for number in range(12) if number not in gate.outstanding]


def test_example_full_look_ahead_is_fifo():
    """
    With cohorts of three versions outstanding, all of the oldest must be taken now.
    """
    gate = gate_of(2, max_staleness=2, admit_ahead=2)
    for version in (8, 9, 10):
        reserve(gate, version, 2)
    complete(gate, 0, 2, 3, 4, 5)

    assert not takes(gate, 10)
    complete(gate, 1)
    assert (0, 1) == step(gate, 10)


@pytest.mark.parametrize(
    ("staleness", "ahead", "factor", "capacity", "mean"),
    [(2, 2, 1.5, 24, 2.0), (2, 1, 1.25, 20, 1.5), (2, 0, 1.5, 12, 0.5), (1, 0, 1.5, 12, 0.5)],
)
def test_example_oversampling(staleness, ahead, factor, capacity, mean):
    """
    Within what the staleness allows; the mean age follows from it.
    """
    gate = gate_of(8, max_staleness=staleness, admit_ahead=ahead, oversample_factor=factor)

    assert (capacity, mean) == (gate.capacity, gate.mean_age)


def test_example_no_op():
    """
    A commit that moves nothing frees room, and no deadline comes closer.
    """
    gate = gate_of(2, max_staleness=2, admit_ahead=2)
    fill(gate, 11)
    complete(gate, 0, 1)
    assert 0 == gate.slack(11)
    step(gate, 11)

    assert 2 == gate.slack(11)
    assert [6, 7] == fill(gate, 11)
    assert 0 == gate.slack(11)
    assert 2 == gate.standing(11).trained


def test_example_two_updates_a_step():
    """
    With a staleness of 1, only groups that were admitted where the step begins are legal.
    """
    gate = gate_of(2, max_staleness=1, updates_per_step=2)
    assert [0, 1] == fill(gate, 10)
    complete(gate, 0, 1)

    assert takes(gate, 10)
    assert not takes(gate, 11)
    assert (0, 1) == gate.lost(11)
    assert 0.5 == gate.mean_age


def test_example_three_updates_a_step():
    """
    Can't keep a staleness of 1; the error says what could.
    """
    with pytest.raises(OptionError, match="max_staleness=1: Give at least 2"):
        gate_of(2, max_staleness=1, updates_per_step=3)


def test_example_hung_group():
    """
    Two more steps after the admission of a group that hangs, then it is waited for, by name.
    """
    gate, hung = gate_of(4, max_staleness=2, admit_ahead=2), 3
    for version in range(2):
        for group in fill(gate, version):
            if group != hung:
                gate.complete(group)
        step(gate, version)
    for group in fill(gate, 2):
        gate.complete(group)

    standing = gate.standing(2)
    assert not takes(gate, 2)
    assert ("bound", hung, 2) == (standing.waits_for, standing.blocking, standing.blocking_age)
    assert 11 == len(gate.ready)


def test_example_window_bound():
    """
    6 groups may overtake one, which makes it one batch older.
    """
    gate = gate_of(8, max_staleness=2, rule="window", window=7)

    assert 3 == gate.max_age


# ---------------------------------------------------------------------------------- corner cases


def test_all_members_of_a_group_fail():
    """
    It is dropped, and its room is free at once.
    """
    gate = gate_of(2, max_staleness=0, admit_ahead=0)
    fill(gate, 0)
    gate.drop(0)

    assert (1,) == gate.outstanding
    assert [2] == fill(gate, 0)
    assert 1 == gate.standing(0).dropped


def test_a_dropped_group_of_an_open_batch_makes_room_in_it():
    """
    With early assignment: another group takes the place, admitted at the same version.
    """
    gate = gate_of(2, max_staleness=0, admit_ahead=0, early=True)
    fill(gate, 0)
    gate.complete(0)
    assert takes(gate, 0)
    assert (0,) == gate.batch()
    gate.drop(0)
    assert [2] == fill(gate, 0)
    complete(gate, 2, 1)

    assert (1, 2) == gate.gather(GateView(head=0))
    assert gate.full
    assert () == gate.gather(GateView(head=0))


def test_a_dropped_group_of_a_whole_batch_holds_its_room_until_the_step_ends():
    """
    Else a group would be admitted whose only step is under way without it.
    """
    gate = gate_of(2, max_staleness=0, admit_ahead=0)
    complete(gate, *fill(gate, 0))
    takes(gate, 0)
    gate.batch()
    gate.drop(1)

    assert [] == fill(gate, 0)
    gate.trained([0])
    assert [2, 3] == fill(gate, 1)
    assert gate.within_bound(GateView(head=1))


def test_a_step_that_loses_all_its_groups():
    """
    Ends with its commit, or when it is given up.
    """
    for end in (lambda gate: gate.trained([]), lambda gate: gate.returned()):
        gate = gate_of(2)
        complete(gate, *fill(gate, 0))
        takes(gate, 0)
        for group in gate.batch():
            gate.drop(group)
        assert not takes(gate, 0)
        end(gate)

        assert takes(gate, 1)


@pytest.mark.parametrize("early", [False, True])
def test_a_result_that_comes_twice(early):
    """
    Is refused, whatever its group does by then, and changes nothing.
    """
    gate = gate_of(2, early=early)
    complete(gate, *fill(gate, 0)[:3])
    for _ in range(2):
        with pytest.raises(ValueError, match="group 1 is not running: it is in another state"):
            gate.complete(1)
        takes(gate, 0)
        if gate.ready == (0, 1, 2):
            gate.batch()
    gate.trained(gate.in_training)
    before = gate.memory
    with pytest.raises(ValueError, match="group 1 is not running: it is not outstanding"):
        gate.complete(1)

    assert before == gate.memory


def test_a_version_jump_by_a_foreign_writer():
    """
    What can't be trained in time is named; with the others it goes on.
    """
    gate = gate_of(2, max_staleness=2, admit_ahead=2)
    reserve(gate, 0, 2)
    reserve(gate, 1, 2)
    complete(gate, 0, 2, 3)

    assert () == gate.lost(2)
    assert (0, 1) == gate.lost(3)
    assert not gate.within_bound(GateView(head=3))
    assert not takes(gate, 3)
    for group in gate.lost(3):
        gate.drop(group)
    assert () == gate.lost(3)
    assert (2, 3) == step(gate, 3)


def test_of_equally_old_groups_those_that_run_are_lost_first():
    """
    Six of one version, and room for four.
    """
    gate = gate_of(2, max_staleness=2, admit_ahead=2)
    reserve(gate, 0, 6)
    complete(gate, 1, 3, 4, 5)

    assert (0, 2) == gate.lost(1)
    assert (0, 2, 4, 5) == gate.lost(2)


def test_an_old_batch_is_not_trained_in_the_order_of_admission_either():
    """
    After a jump of the head.
    """
    gate = gate_of(1, max_staleness=1, batch_order="admission")
    complete(gate, *fill(gate, 0))

    assert takes(gate, 0)
    assert not takes(gate, 2)
    assert (0, 1) == gate.lost(2)


def test_data_shorter_than_a_batch():
    """
    A batch is what there is, once all of it is ready.
    """
    gate = gate_of(4, groups=3)
    assert [0, 1, 2] == fill(gate, 0)
    complete(gate, 0, 2)
    assert not takes(gate, 0)
    complete(gate, 1)

    assert "nothing" == gate.standing(0).waits_for
    assert (0, 1, 2) == step(gate, 0)
    assert [] == fill(gate, 1)
    assert gate.exhausted


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("total", range(1, 10))
def test_finite_data_ends_with_a_smaller_batch(total, early):
    """
    Every batch is whole but for the last.
    """
    gate, sizes, version = gate_of(4, groups=total, early=early), [], 0
    while not (gate.exhausted and not gate.outstanding):
        complete(gate, *fill(gate, version))
        assert takes(gate, version)
        gate.batch()
        while early and gate.gather(GateView(head=version)) != ():
            pass
        sizes.append(len(gate.in_training))
        gate.trained(gate.in_training)
        version += 1

    assert [min(4, total - done) for done in range(0, total, 4)] == sizes


def test_a_dropped_group_makes_room_for_another_of_finite_data():
    """
    So that as many are trained as were asked for.
    """
    gate = gate_of(2, groups=2)
    fill(gate, 0)
    complete(gate, 0, 1)
    gate.drop(0)

    assert not takes(gate, 0)
    assert [2] == fill(gate, 0)
    complete(gate, 2)
    assert (1, 2) == step(gate, 0)


def test_a_draining_run_trains_what_is_left():
    """
    Once nothing runs any more; nothing is admitted.
    """
    gate = gate_of(2, max_staleness=1)
    fill(gate, 0)
    complete(gate, 0, 1, 2)
    assert (0, 1) == step(gate, 0, draining=True)

    assert [] == fill(gate, 1, draining=True)
    assert not takes(gate, 1, draining=True)
    gate.drop(3)
    assert not takes(gate, 1)
    assert (2,) == step(gate, 1, draining=True)


def test_a_huge_staleness():
    """
    Costs nothing: the capacity is what is admitted ahead.
    """
    gate = gate_of(2, max_staleness=10**9)
    fill(gate, 0)
    gate.complete(3)
    gate.complete(1)

    assert 4 == gate.capacity
    assert (1, 3) == step(gate, 10**9 - 1)
    assert not takes(gate, 10**9 + 1)


@pytest.mark.parametrize(
    ("size", "ahead", "factor", "capacity"),
    [(3, 2, 1.1, 10), (50, 0, 1.1, 55), (25, 1, 1.1, 55), (7, 0, 1.0001, 8), (1, 0, 1.5, 2)],
)
def test_the_rounding_of_oversampling(size, ahead, factor, capacity):
    """
    Upwards from the product as written: 50 * 1.1 is 55.
    """
    gate = gate_of(size, max_staleness=9, admit_ahead=ahead, oversample_factor=factor)

    assert capacity == gate.capacity


def test_a_group_that_completes_while_a_step_begins_or_is_open():
    """
    Before the batch is made it may be in it, afterwards it waits for the next one.
    """
    gate = gate_of(2)
    fill(gate, 0)
    complete(gate, 1, 2)
    assert takes(gate, 0)
    gate.complete(0)
    assert (0, 1) == gate.batch()
    gate.complete(3)

    assert ((0, 1), (2, 3)) == (gate.in_training, gate.ready)
    assert not takes(gate, 0)
    assert not takes(gate, 0, sweeping=True)


def test_no_step_begins_while_one_is_open():
    """
    Neither by the machine's word nor by the gate's own.
    """
    gate = gate_of(1)
    complete(gate, *fill(gate, 0))

    assert not takes(gate, 0, sweeping=True)
    assert takes(gate, 0)
    gate.batch()
    assert not takes(gate, 0)


def test_capacity_is_not_freed_between_take_and_commit():
    """
    But after it.
    """
    gate = gate_of(2, max_staleness=1)
    complete(gate, *fill(gate, 0))
    takes(gate, 0)
    assert [] == fill(gate, 0)
    batch = gate.batch()

    assert [] == fill(gate, 0)
    gate.trained(batch)
    assert [4, 5] == fill(gate, 1)


def test_a_step_that_is_given_up_begins_again_with_the_same_groups():
    """
    They are the oldest still; whoever got ready meanwhile may come before them.
    """
    gate = gate_of(2, max_staleness=1)
    fill(gate, 0)
    complete(gate, 1, 2)
    takes(gate, 0)
    assert (1, 2) == gate.batch()
    gate.returned()

    assert (1, 2) == gate.ready
    assert takes(gate, 0)
    assert (1, 2) == gate.batch()
    gate.returned()
    gate.complete(0)
    assert (0, 1) == step(gate, 0)


def test_giving_up_when_nothing_is_open():
    """
    Does nothing.
    """
    gate = gate_of(2)
    complete(gate, *fill(gate, 0))
    before = gate.memory
    gate.returned()

    assert before == gate.memory


# ----------------------------------------------------------------------------------- other rules


def test_the_order_of_admission():
    """
    A batch is the oldest groups and no others, in any order of their ends.
    """
    gate = gate_of(2, max_staleness=2, admit_ahead=2, batch_order="admission")
    fill(gate, 0)
    complete(gate, 5, 4, 3, 1)
    assert not takes(gate, 0)
    assert 0 == blocking(gate, 0)
    complete(gate, 0)

    assert (0, 1) == step(gate, 0)
    assert 2 == blocking(gate, 1)


@pytest.mark.parametrize(
    ("window", "last", "expected"), [(1, 1, False), (3, 2, True), (3, 3, False)]
)
def test_a_window_lets_few_overtake(window, last, expected):
    """
    Group 0 hangs: a batch of group 1 and another one reaches so far.
    """
    gate = gate_of(2, max_staleness=1, rule="window", window=window)
    fill(gate, 0)
    complete(gate, 1, last) if last > 1 else complete(gate, 1, 2)

    assert expected == takes(gate, 0)


def test_a_window_is_over_once_the_oldest_is_ready():
    """
    Nobody is overtaken then.
    """
    gate = gate_of(2, max_staleness=1, rule="window", window=1)
    complete(gate, *fill(gate, 0)[::-1])

    assert (0, 1) == step(gate, 0)


def test_without_a_rule_nothing_is_waited_for():
    """
    The oldest ready groups are taken, whatever age the others reach.
    """
    gate, hung = gate_of(2, max_staleness=1, rule="none"), 0
    for version in range(9):
        for group in fill(gate, version):
            if group != hung:
                gate.complete(group)
        step(gate, version)

    assert (None, None) == (gate.max_age, blocking(gate, 9))
    assert 0 == gate.outstanding[0]
    assert -9 > gate.slack(9)
    assert gate.within_bound(GateView(head=9))
    assert () == gate.lost(9)


def test_groups_join_an_open_batch_when_the_bound_is_sure():
    """
    Six groups due in three batches: with group 3 in the first, all others still have room; with a
    third group beside two of the oldest they would not.
    """
    gate = gate_of(2, max_staleness=2, admit_ahead=2, early=True)
    reserve(gate, 8, 2)
    reserve(gate, 9, 2)
    complete(gate, 2)

    assert not takes(gate, 10)
    assert 0 == blocking(gate, 10)
    complete(gate, 1)
    assert takes(gate, 10)
    assert (1,) == gate.batch()
    assert gate.gather(GateView(head=10)) is None
    assert ("bound", 0) == (gate.waits_for(10), blocking(gate, 10))
    complete(gate, 0)
    assert (0,) == gate.gather(GateView(head=10))
    assert ((0, 1), True) == (gate.in_training, gate.full)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"batch_order": "admission"}, ()),
        ({"rule": "window", "window": 2}, ()),
        ({"rule": "window", "window": 3}, (2,)),
        ({"rule": "none"}, (2,)),
        ({}, (2,)),
    ],
)
def test_early_assignment_under_every_rule(options, expected):
    """
    Group 2 is ready alone, two older ones run.
    """
    gate = gate_of(2, max_staleness=2, early=True, **options)
    fill(gate, 0)
    gate.complete(2)

    assert bool(expected) == takes(gate, 0)
    assert expected == (gate.batch() if expected else ())


def test_an_open_batch_ends_with_the_data():
    """
    When no more come and none runs; not before.
    """
    gate = gate_of(3, groups=2, early=True)
    fill(gate, 0)
    gate.complete(0)
    takes(gate, 0)
    gate.batch()
    assert gate.gather(GateView(head=0)) is None
    gate.complete(1)
    assert (1,) == gate.gather(GateView(head=0))
    assert not gate.full

    assert () == gate.gather(GateView(head=0))
    assert gate.full
    assert () == gate.gather(GateView(head=0))


def test_an_open_batch_does_not_end_beside_a_group_that_got_too_old():
    """
    Somebody else has moved the head: what is lost must go first.
    """
    gate, view = gate_of(3, max_staleness=1, early=True), GateView(head=5, draining=True)
    reserve(gate, 0, 2)
    gate.complete(0)
    takes(gate, 0)
    gate.batch()
    gate.complete(1)

    assert gate.gather(view) is None
    for group in gate.lost(5):
        gate.drop(group)
    assert () == gate.gather(view)


def test_a_whole_batch_needs_no_gathering():
    """
    It is complete from the start.
    """
    gate = gate_of(1)
    complete(gate, *fill(gate, 0))
    takes(gate, 0)
    gate.batch()

    assert gate.full
    assert () == gate.gather(GateView(head=0))


# ------------------------------------------------------------------------------------ statistics


def test_nothing_outstanding():
    """
    There is room for whole batches, and groups are waited for; none has a name.
    """
    standing = gate_of(2, max_staleness=1).standing(7)

    assert (0, 4) == (standing.outstanding, standing.slack)
    assert ("groups", None, None) == (
        standing.waits_for,
        standing.blocking,
        standing.blocking_age,
    )


def test_a_standing_names_who_is_waited_for_when_too_few_are_ready():
    """
    The oldest that runs; ``blocking`` alone speaks of the bound.
    """
    gate = gate_of(2)
    fill(gate, 3)
    gate.complete(0)
    standing = gate.standing(4)

    assert ("groups", 1, 1) == (standing.waits_for, standing.blocking, standing.blocking_age)
    assert blocking(gate, 4) is None


def test_a_standing_counts():
    """
    What was admitted is outstanding, trained or dropped; what is outstanding runs, waits or trains.
    """
    gate = gate_of(2, max_staleness=2, admit_ahead=2)
    complete(gate, *fill(gate, 0)[:5])
    step(gate, 0)
    takes(gate, 1)
    gate.batch()
    gate.drop(5)
    standing = gate.standing(1)

    assert (6, 2, 1, 3) == (
        standing.admitted,
        standing.trained,
        standing.dropped,
        standing.outstanding,
    )
    assert (1, 2, "nothing", 1) == (
        standing.ready,
        standing.in_training,
        standing.waits_for,
        standing.slack,
    )


def test_slack_counts_places():
    """
    The fewest over all deadlines.
    """
    gate = gate_of(2, max_staleness=2, admit_ahead=2)
    reserve(gate, 0, 3)
    reserve(gate, 1, 1)

    assert [3, 1, -1] == [gate.slack(version) for version in (0, 1, 2)]


def test_the_machines_gate():
    """
    It orders nothing, and starts rollouts from the head.
    """
    gate = gate_of(2)
    before = gate.memory
    gate.admitted()
    gate.applied()

    assert not gate.ordered
    assert 5 == gate.base(1, 5)
    assert before == gate.memory


def test_a_window_claims_no_age():
    """
    Its bound depends on what steps use, so that only the number of groups is claimed.
    """
    gate = gate_of(2, max_staleness=1, rule="window", window=2)
    fill(gate, 0)

    assert all(gate.within_bound(GateView(head=version)) for version in range(9))


def test_within_the_bound_during_a_step_of_several_updates():
    """
    The groups in training count from where their step began, until it has ended.
    """
    gate = gate_of(1, max_staleness=1, updates_per_step=2)
    complete(gate, *fill(gate, 0))
    takes(gate, 0)
    gate.batch()

    assert [True, True, True, False] == [
        gate.within_bound(GateView(head=version)) for version in range(4)
    ]


# ----------------------------------------------------------------------------------- what is wrong

BAD = [
    ({"groups_per_step": 0}, "groups_per_step"),
    ({"groups_per_step": True}, "groups_per_step"),
    ({"max_staleness": -1}, "max_staleness"),
    ({"max_staleness": 1.5}, "max_staleness"),
    ({"max_staleness": math.inf}, "max_staleness"),
    ({"admit_ahead": -1}, "admit_ahead"),
    ({"oversample_factor": 0.9}, "oversample_factor"),
    ({"oversample_factor": math.nan}, "oversample_factor"),
    ({"oversample_factor": math.inf}, "oversample_factor"),
    ({"max_staleness": 0, "oversample_factor": 1.1}, "oversample_factor"),
    ({"batch_order": "random"}, "batch_order"),
    ({"rule": "drop"}, "rule"),
    ({"rule": "window"}, "window"),
    ({"rule": "window", "window": -1}, "window"),
    ({"window": 3}, "window"),
    ({"rule": "none", "window": 3}, "window"),
    ({"batch_order": "admission", "rule": "none"}, "batch_order"),
    ({"batch_order": "admission", "rule": "window", "window": 2}, "batch_order"),
    ({"updates_per_step": 0}, "updates_per_step"),
    ({"max_staleness": 0, "updates_per_step": 2}, "max_staleness"),
    ({"early": 1}, "early"),
    ({"groups": 0}, "groups"),
    ({"bases": "oldest"}, "bases"),
]


@pytest.mark.parametrize(("options", "named"), BAD, ids=str)
def test_bad_options_are_refused(options, named):
    """
    The error names the option and what to give.
    """
    with pytest.raises(OptionError, match=rf"^{named}=.*: Give ") as caught:
        Reservations(**{"groups_per_step": 2} | options)

    assert named == caught.value.option


def calls():
    """
    What may not be done to a gate of which group 0 is trained, 1 is in training, 2 is ready and 3 runs.
    """
    return {
        "reserve beyond the capacity": lambda gate: gate.reserve(1),
        "complete a trained group": lambda gate: gate.complete(0),
        "complete a group in training": lambda gate: gate.complete(1),
        "complete a ready group": lambda gate: gate.complete(2),
        "complete an unknown group": lambda gate: gate.complete(99),
        "drop a trained group": lambda gate: gate.drop(0),
        "drop an unknown group": lambda gate: gate.drop(99),
        "train a trained group": lambda gate: gate.trained([1, 0]),
        "train a ready group": lambda gate: gate.trained([1, 2]),
        "train an unknown group": lambda gate: gate.trained([99]),
        "begin another step": lambda gate: gate.batch(),
        "ask the stamp of a trained group": lambda gate: gate.stamp(0),
    }


@pytest.mark.parametrize("name", calls())
def test_an_illegal_call_is_refused_and_changes_nothing(name):
    """
    It says so, and the gate goes on as before.
    """
    gate = gate_of(1, max_staleness=2, admit_ahead=2)
    complete(gate, *fill(gate, 0))
    step(gate, 0)
    assert [3] == fill(gate, 1)
    assert takes(gate, 1)
    gate.batch()
    before = gate.memory
    with pytest.raises(ValueError, match=r"group|step"):
        calls()[name](gate)

    assert before == gate.memory
    assert ((1,), (2,), (1, 2, 3)) == (gate.in_training, gate.ready, gate.outstanding)


def test_a_step_must_be_allowed():
    """
    By the last word of ``take``, and once.
    """
    gate = gate_of(2)
    fill(gate, 0)
    with pytest.raises(ValueError, match="ask take first"):
        gate.batch()
    complete(gate, 0, 1)
    assert takes(gate, 0)
    assert not takes(gate, 0, sweeping=True)
    with pytest.raises(ValueError, match="ask take first"):
        gate.batch()
    assert takes(gate, 0)
    gate.drop(0)
    with pytest.raises(ValueError, match="ask take first"):
        gate.batch()

    assert (1,) == gate.ready


def test_nothing_is_gathered_without_a_step():
    """
    Nor is an open batch trained before it is complete.
    """
    gate = gate_of(2, early=True)
    fill(gate, 0)
    gate.complete(0)
    with pytest.raises(ValueError, match="ask take first"):
        gate.gather(GateView())
    takes(gate, 0)
    gate.batch()
    with pytest.raises(ValueError, match="the batch is not complete"):
        gate.trained([0])

    assert (0,) == gate.in_training


def test_stamps_never_fall():
    """
    A head that somebody has set back is no head to admit for beside younger groups.
    """
    gate = gate_of(2)
    gate.reserve(5)
    with pytest.raises(ValueError, match="version 4 is older than the last group's stamp, 5"):
        gate.reserve(4)
    gate.drop(0)

    assert 1 == gate.reserve(4)


# ------------------------------------------------------------------------------------ checkpoints


def busy():
    """
    A gate with groups in every state.
    """
    gate = gate_of(2, max_staleness=3, admit_ahead=3, early=True)
    complete(gate, *fill(gate, 0)[2:6])
    takes(gate, 0)
    gate.batch()
    gate.drop(4)
    return gate


def test_a_memory_is_json_and_gives_the_same_gate():
    """
    Beside its options.
    """
    gate = busy()
    again = attrs.evolve(gate)
    again.memory = json.loads(json.dumps(gate.memory))

    assert (gate.memory, gate.standing(0)) == (again.memory, again.standing(0))
    assert gate.in_training == again.in_training == (2, 3)
    assert gate.full
    assert again.full


WRONG = {
    "two groups of one number": {"groups": [[0, 0], [0, 0]]},
    "groups out of order": {"groups": [[1, 0], [0, 0]]},
    "falling stamps": {"groups": [[0, 3], [1, 2]]},
    "a group that is to come": {"groups": [[9, 0]]},
    "a ready group that is not outstanding": {"ready": [7]},
    "a group that is ready twice": {"ready": [0, 0]},
    "a group that is ready and in training": {"ready": [0], "training": [0], "began": 0},
    "more groups than may be": {"groups": [[n, 0] for n in range(5)], "next": 5},
    "training without a step": {"training": [0]},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_memory_that_contradicts_itself_is_refused(name):
    """
    The gate stays as it is.
    """
    gate = gate_of(2, max_staleness=1)
    reserve(gate, 0, 2)
    before = gate.memory
    with pytest.raises(ValueError, match=r"group"):
        gate.memory = before | WRONG[name]

    assert before == gate.memory
