"""
Options of a training run: what they come to, what is refused, what is warned of.
"""

from __future__ import annotations

import random

import attrs
import pytest

from headway import Reservations
from headway.errors import OptionError
from headway_rl import (
    Batchwise,
    ForwardBackwardBatch,
    GroupCompletion,
    Groupwise,
    Options,
    Schedule,
)

LOSES = {"accept_lost_data": True}
UNBOUND = {"accept_no_bound": True}


def schedule(**options):
    return Schedule(concurrency=8, **options)


def test_worked_example_1_the_guide_s_numbers():
    """
    Eight groups of eight, S=2, A=2: 24 groups, 192 trajectories.  A=1: 16.  A=5: still 24.
    """
    found = [
        Options(max_staleness=2, schedule=schedule(admit_ahead=ahead)).capacity
        for ahead in (2, 1, 5)
    ]

    assert [24, 16, 24] == found
    assert 192 == found[0] * Options().group_size


@pytest.mark.parametrize(
    ("bound", "ahead", "factor", "capacity", "mean_age"),
    [(2, 2, 1.5, 24, 2.0), (2, 1, 1.25, 20, 1.5), (2, 0, 1.5, 12, 0.5), (1, 0, 1.5, 12, 0.5)],
)
def test_worked_example_5_oversampling(bound, ahead, factor, capacity, mean_age):
    """
    How many groups are outstanding, and the mean age that follows.
    """
    given = Options(
        max_staleness=bound, schedule=schedule(admit_ahead=ahead, oversample_factor=factor)
    )

    assert (capacity, mean_age) == (given.capacity, given.implied_mean_age)


def test_worked_example_12_the_window_bound():
    """
    G=8, S=2, W=7: 2 + ceil(6/8) = 3.  A window of one overtakes nobody.
    """
    given = [Options(stale_policy="window", window=w, **UNBOUND).highest_age for w in (1, 7, 9, 10)]

    assert [2, 3, 3, 4] == given


@pytest.mark.parametrize(
    ("bound", "updates", "capacity", "mean_age"), [(1, 2, 8, 0.5), (3, 2, 16, 2.5), (2, 3, 8, 1.0)]
)
@pytest.mark.filterwarnings("ignore")
def test_worked_example_9_several_updates_a_step(bound, updates, capacity, mean_age):
    """
    The version moves by so many a step: S=1 and u=2 leave the groups of the step's own version.
    """
    given = Options(max_staleness=bound, updates_per_step=updates)

    assert (capacity, mean_age, bound) == (
        given.capacity,
        given.implied_mean_age,
        given.highest_age,
    )


@pytest.mark.parametrize(
    ("groups", "factor", "capacity"), [(9, 1.1, 10), (10, 1.1, 11), (3, 1.4, 5), (7, 2.0, 14)]
)
def test_a_factor_is_rounded_up_once(groups, factor, capacity):
    """
    9.9 becomes 10, and 11.000000000000002 is 11: what binary adds does not count.
    """
    given = Schedule(admit_ahead=0, oversample_factor=factor)

    assert capacity == given.capacity(groups, 3)


@pytest.mark.parametrize("policy", ["soft", "unbounded"])
def test_what_is_not_bounded_has_no_highest_age(policy):
    """
    A soft bound is never called "max".
    """
    given = Options(stale_policy=policy, **UNBOUND)

    assert given.highest_age is None
    assert "with no upper bound" in given.announcement()


REFUSED = [
    # Ranges and words.
    ({"max_staleness": -1}, "max_staleness=-1", "at least 0"),
    ({"max_staleness": 1.5}, "max_staleness=1.5", "whole number"),
    ({"max_staleness": True}, "max_staleness=True", "whole number"),
    ({"groups_per_step": 0}, "groups_per_step=0", "at least 1"),
    # Several updates a step.
    ({"updates_per_step": 0}, "updates_per_step=0", "at least 1"),
    ({"updates_per_step": 9, "max_staleness": 9}, "updates_per_step=9", "groups_per_step is 8"),
    ({"updates_per_step": 3, "max_staleness": 1}, "max_staleness=1", "give at least 2"),
    ({"updates_per_step": 2, "max_staleness": 0}, "max_staleness=0", "give at least 1"),
    ({"group_size": 0}, "group_size=0", "at least 1"),
    ({"stale_policy": "weit"}, "stale_policy='weit'", "Did you mean 'wait'?"),
    ({"batch_order": "oldest"}, "batch_order='oldest'", "completion, admission"),
    ({"sampling_policy": "turn"}, "sampling_policy='turn'", "trajectory, segment"),
    ({"accept_lost_data": 1}, "accept_lost_data=1", "true or false"),
    ({"accept_no_bound": "yes"}, "accept_no_bound='yes'", "true or false"),
    ({"forward_backward_batch": 32}, "forward_backward_batch=32", "'auto'"),
    ({"forward_backward_batch": "always"}, "forward_backward_batch='always'", "'auto'"),
    ({"advantages": "groupwise"}, "advantages='groupwise'", "Groupwise(...)"),
    ({"schedule": 64}, "schedule=64", "Schedule(...)"),
    ({"completion": "drop"}, "completion='drop'", "GroupCompletion(...)"),
    # What must be acknowledged.
    ({"stale_policy": "drop"}, "stale_policy='drop'", "accept_lost_data=True"),
    ({"stale_policy": "mask"}, "stale_policy='mask'", "accept_lost_data=True"),
    ({"stale_policy": "drop", **UNBOUND}, "stale_policy='drop'", "accept_lost_data=True"),
    ({"stale_policy": "soft"}, "stale_policy='soft'", "accept_no_bound=True"),
    ({"stale_policy": "unbounded", **LOSES}, "stale_policy='unbounded'", "accept_no_bound=True"),
    ({"stale_policy": "window", "window": 3}, "stale_policy='window'", "accept_no_bound=True"),
    ({"completion": GroupCompletion(on_failure="drop")}, "completion='drop'", "accept_lost_data"),
    (
        {"completion": GroupCompletion(on_failure="shrink", min_members=4)},
        "completion='shrink'",
        "accept_lost_data=True",
    ),
    # Synchronous runs.
    (
        {"max_staleness": 0, "schedule": schedule(oversample_factor=1.5)},
        "oversample_factor=1.5",
        "could never train",
    ),
    ({"max_staleness": 0, "stale_policy": "drop", **LOSES}, "stale_policy='drop'", "gets old"),
    ({"max_staleness": 0, "stale_policy": "mask", **LOSES}, "stale_policy='mask'", "gets old"),
    ({"max_staleness": 0, "stale_policy": "soft", **UNBOUND}, "stale_policy='soft'", "gets old"),
    # Windows.
    ({"stale_policy": "window", **UNBOUND}, "window=None", "at least 1"),
    ({"window": 3}, "window=3", "stale_policy='window'"),
    ({"stale_policy": "window", "window": 0, **UNBOUND}, "window=0", "at least 1"),
    # Orders.
    *(
        (
            {"batch_order": "admission", "stale_policy": policy, **UNBOUND, **more},
            "batch_order='admission'",
            "overtake",
        )
        for policy, more in [("soft", {}), ("unbounded", {}), ("window", {"window": 2})]
    ),
    # Chunks.
    (
        {"forward_backward_batch": ForwardBackwardBatch()},
        "forward_backward_batch=ForwardBackwardBatch",
        "max_staleness=0",
    ),
    (
        {
            "max_staleness": 0,
            "forward_backward_batch": ForwardBackwardBatch(),
            "advantages": Batchwise(),
        },
        "forward_backward_batch=ForwardBackwardBatch",
        "all rewards",
    ),
    # Members.
    ({"group_size": 1}, "group_size=1", "its own baseline"),
    (
        {"completion": GroupCompletion(on_failure="shrink", min_members=9), **LOSES},
        "min_members=9",
        "8 members",
    ),
    (
        {"completion": GroupCompletion(on_failure="shrink", min_members=1), **LOSES},
        "min_members=1",
        "its own baseline",
    ),
    # Caches.
    ({"max_kv_age": 1}, "max_kv_age=1", "together"),
    ({"kv_policy": "hold"}, "kv_policy='hold'", "together"),
    ({"max_kv_age": 1, "kv_policy": "hold"}, "max_kv_age=1", "sampling_policy='segment'"),
    (
        {"max_kv_age": 1, "kv_policy": "keep", "sampling_policy": "segment"},
        "kv_policy='keep'",
        "hold, refill",
    ),
    ({"max_kv_age": -1}, "max_kv_age=-1", "at least 0"),
]


@pytest.mark.parametrize(
    ("given", "told", "reason"),
    REFUSED,
    ids=[f"{told}-{n}" for n, (_, told, _) in enumerate(REFUSED)],
)
def test_what_does_not_go_together_is_refused(given, told, reason):
    """
    The error names the option, its value, and why or what else.
    """
    with pytest.raises(OptionError) as caught:
        Options(**given)

    assert told in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Schedule(concurrency=0), "concurrency=0"),
        (lambda: Schedule(admit_ahead=-1), "admit_ahead=-1"),
        (lambda: Schedule(max_sample_requests=0), "max_sample_requests=0"),
        (lambda: Schedule(oversample_factor=0.9), "oversample_factor=0.9"),
        (lambda: Schedule(oversample_factor=float("nan")), "oversample_factor=nan"),
        (lambda: Schedule(oversample_factor=float("inf")), "oversample_factor=inf"),
        (lambda: ForwardBackwardBatch(min_sequences=0), "min_sequences=0"),
        (lambda: ForwardBackwardBatch(min_tokens=-1), "min_tokens=-1"),
        (
            lambda: ForwardBackwardBatch(min_sequences=None, min_tokens=None),
            "min_sequences, min_tokens or both",
        ),
        (lambda: GroupCompletion(retries=-1), "retries=-1"),
        (lambda: GroupCompletion(on_failure="ignore"), "on_failure='ignore'"),
        (lambda: GroupCompletion(on_failure="shrink"), "min_members=None"),
        (lambda: GroupCompletion(on_failure="shrink", min_members=0), "min_members=0"),
        (lambda: GroupCompletion(on_failure="drop", min_members=2), "min_members=2"),
        (lambda: Groupwise(scale="std"), "scale='std'"),
        (lambda: Groupwise(per="token"), "Did you mean 'tokens'?"),
        (lambda: Groupwise(epsilon=0), "epsilon=0"),
        (lambda: Batchwise(scale="group"), "scale='group'"),
    ],
)
def test_a_part_out_of_its_range_is_refused(make, told):
    """
    Each part refuses what it can see alone.
    """
    with pytest.raises(OptionError) as caught:
        make()

    assert told in str(caught.value)


ACCEPTED = [
    {},
    {"max_staleness": 0},
    {"max_staleness": 0, "forward_backward_batch": ForwardBackwardBatch()},
    {"max_staleness": 0, "advantages": Batchwise()},
    {"advantages": Batchwise(), "group_size": 1},
    {"stale_policy": "mask", **LOSES},
    {"stale_policy": "drop", "batch_order": "admission", **LOSES},
    {"stale_policy": "window", "window": 3, **UNBOUND},
    {"batch_order": "admission"},
    {"sampling_policy": "segment", "max_kv_age": 0, "kv_policy": "refill"},
    {"completion": GroupCompletion(on_failure="shrink", min_members=2), **LOSES},
    {"max_staleness": 1_000},
]


@pytest.mark.parametrize("given", ACCEPTED)
def test_what_goes_together_is_accepted(given):
    """
    None of the rules refuses more than it must.
    """
    kept = {name: getattr(Options(**given), name) for name in given}

    assert given == kept


def test_options_are_frozen_and_change_by_evolving():
    """
    A changed copy is checked like the first.
    """
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        Options().max_staleness = 0
    with pytest.raises(OptionError):
        attrs.evolve(Options(), max_staleness=-1)

    assert 0 == attrs.evolve(Options(), max_staleness=0).max_staleness


WARNED = [
    (
        {"max_staleness": 2, "schedule": schedule(admit_ahead=2, oversample_factor=1.5)},
        ["oversample_factor=1.5 has no effect: 36 groups are cut to the 24", "leaves no slack"],
    ),
    (
        {"max_staleness": 2, "schedule": schedule(admit_ahead=1, oversample_factor=2.0)},
        ["oversample_factor=2 counts as 1.5: 32 groups are cut to the 24"],
    ),
    (
        {"max_staleness": 2, "schedule": schedule(admit_ahead=5)},
        ["admit_ahead=5 counts as 2", "leaves no slack"],
    ),
    ({"max_staleness": 1}, ["leaves no slack below max_staleness=1"]),
    (
        {"schedule": Schedule(concurrency=129)},
        ["concurrency=129 is never reached: at most 128 trajectories"],
    ),
    (
        {"schedule": schedule(max_sample_requests=9)},
        ["max_sample_requests=9 is never reached: 8 trajectories"],
    ),
    (
        {"batch_order": "admission", "schedule": schedule(oversample_factor=1.5)},
        ["oversample_factor=1.5 gives no choice"],
    ),
    (LOSES, ["accept_lost_data=True acknowledges nothing"]),
    (UNBOUND, ["accept_no_bound=True acknowledges nothing"]),
]


@pytest.mark.parametrize(("given", "told"), WARNED)
def test_what_has_no_effect_is_warned_of(given, told):
    """
    One sentence each, and nothing besides.
    """
    found = Options(**{"schedule": schedule(), **given}).warnings()

    assert len(told) == len(found)
    assert all(part in sentence for part, sentence in zip(told, found, strict=True))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"max_staleness": 0},
        {"max_staleness": 0, "schedule": schedule(admit_ahead=2)},
        {"max_staleness": 4, "schedule": schedule(admit_ahead=2, oversample_factor=1.2)},
        {"stale_policy": "mask", **LOSES},
        {"stale_policy": "soft", **UNBOUND},
    ],
)
def test_what_works_is_not_warned_of(given):
    """
    The default of ``admit_ahead`` may stay where the bound is 0: that is how one switches modes.
    """
    assert () == Options(**{"schedule": schedule(), **given}).warnings()


def test_auto_overlaps_only_where_that_is_sound():
    """
    Not with batch-centred advantages, not where a later event can take a group from the batch.
    """
    sizes = [
        Options(**given).overlap
        for given in (
            {},
            {"max_staleness": 0},
            {"advantages": Batchwise()},
            {"batch_order": "admission"},
            {"stale_policy": "mask", **LOSES},
            {"forward_backward_batch": None},
        )
    ]

    quarter = ForwardBackwardBatch(min_sequences=16, min_tokens=None)
    assert [quarter, quarter, None, None, None, None] == sizes


def test_the_announcement_names_both_ages():
    """
    The two dials, before anything has run.
    """
    told = Options(max_staleness=4, schedule=schedule(admit_ahead=2)).announcement()

    assert (
        "up to 24 groups (192 trajectories) outstanding, 8 a step: mean age 2, at most 4 updates"
        == told
    )


@pytest.mark.parametrize(
    ("completion", "members", "verdict"),
    [
        (GroupCompletion(), ["done", "waiting"], "wait"),
        (GroupCompletion(), ["done", "done"], "complete"),
        (GroupCompletion(), ["failed", "waiting"], "stop"),
        (GroupCompletion(on_failure="drop"), ["failed", "waiting"], "drop"),
        (
            GroupCompletion(on_failure="shrink", min_members=2),
            ["done", "failed", "waiting"],
            "wait",
        ),
        (
            GroupCompletion(on_failure="shrink", min_members=2),
            ["done", "failed", "done"],
            "complete",
        ),
        (GroupCompletion(on_failure="shrink", min_members=2), ["failed", "failed", "done"], "drop"),
        (GroupCompletion(on_failure="shrink", min_members=2), ["failed"] * 3, "drop"),
        (GroupCompletion(on_failure="drop"), ["failed"] * 3, "drop"),
        (GroupCompletion(), ["failed"] * 3, "stop"),
    ],
)
def test_a_failed_member_decides_what_its_group_does(completion, members, verdict):
    """
    Stop, shrink while enough can be left, or drop; all members failed is no batch of nothing.
    """
    assert verdict == completion.verdict(members)


@pytest.mark.parametrize("seed", range(200))
def test_the_capacity_announced_is_the_gate_s(seed):
    """
    Whatever the options; the gate rounds as these do.
    """
    rng = random.Random(seed)
    bound, ahead = rng.randrange(1, 6), rng.randrange(6)
    factor = rng.choice([1.0, 1.1, 1.25, 1.4, 1.5, 2.0, 1 + rng.random()])
    policy = rng.choice(["wait", "soft", "unbounded"])
    given = Options(
        max_staleness=bound,
        groups_per_step=rng.randrange(1, 12),
        stale_policy=policy,
        accept_no_bound=True,
        schedule=schedule(admit_ahead=ahead, oversample_factor=factor),
    )
    gate = Reservations(
        groups_per_step=given.groups_per_step,
        max_staleness=given.gate_staleness,
        admit_ahead=ahead,
        oversample_factor=factor,
        rule="wait" if policy == "wait" else "none",
    )

    assert gate.capacity == given.capacity


def test_what_is_unbounded_is_not_cut_by_the_bound():
    """
    Twelve batches may be ahead of a bound of 1, since that is none.
    """
    given = Options(
        max_staleness=1,
        stale_policy="unbounded",
        schedule=schedule(admit_ahead=12, oversample_factor=1.5),
        **UNBOUND,
    )

    assert 13 * 8 * 1.5 == given.capacity
    assert () == given.warnings()
