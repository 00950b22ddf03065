"""
Advantages, masks and what the gradient is divided by.
"""

from __future__ import annotations

import itertools
import math
import random

import pytest

from headway_rl import (
    Batchwise,
    Groupwise,
    Segment,
    Trajectory,
    TrajectoryGroup,
    WeightedGroup,
    centred,
    counted,
    weigh,
)


def segment(version, tokens=1, context=0):
    return Segment(version=version, actions=[0] * tokens, logprobs=[-0.5] * tokens, context=context)


def trajectory(reward, versions=(10,), tokens=1, *, scored=True):
    parts = tuple(segment(version, tokens) for version in versions)
    return Trajectory(segments=parts, reward=reward, scored=scored)


def group(*rewards, number=0, **more):
    members = tuple(trajectory(reward, **more) for reward in rewards)
    return TrajectoryGroup(number=number, task="t", members=members)


def test_groupwise_is_the_reward_minus_the_group_s_mean():
    """
    Each group by itself.
    """
    found = Groupwise().of([group(1.0, 0.0, 0.0, 1.0), group(4.0, 0.0, 0.0, 0.0)])

    assert ((0.5, -0.5, -0.5, 0.5), (3.0, -1.0, -1.0, -1.0)) == found


def test_batchwise_is_the_reward_minus_the_batch_s_mean():
    """
    A group of equal rewards has a weight then.
    """
    found = Batchwise().of([group(1.0, 1.0), group(0.0, 0.0)])

    assert ((0.5, 0.5), (-0.5, -0.5)) == found


def test_batchwise_is_not_deferrable():
    """
    Another group changes a group's own advantages by a sum, which no common factor can make good.
    """
    first = group(1.0, 0.0)
    alone, together = Batchwise().of([first])[0], Batchwise().of([first, group(1.0, 1.0)])[0]

    assert Batchwise().needs_batch
    assert not Groupwise().needs_batch
    assert alone[0] / together[0] != alone[1] / together[1]


def test_equal_rewards_weigh_exactly_nothing():
    """
    Though 0.1 + 0.1 + 0.1 is not 0.3 in binary; so such a group makes no request.
    """
    (weighted,) = weigh([group(0.1, 0.1, 0.1)], Groupwise(scale="group"))

    assert (0.0, 0.0, 0.0) == weighted.advantages
    assert () == weighted.sequences
    assert 0 == weighted.input_tokens


def test_the_order_of_members_does_not_show():
    """
    Sums are exact before they are rounded.
    """
    rng = random.Random(1)
    rewards = [rng.gauss(0, 1e3) for _ in range(7)]
    found = {
        dict(zip(order, centred([order])[0], strict=True))[rewards[0]]
        for order in itertools.islice(itertools.permutations(rewards), 200)
    }

    assert 1 == len(found)


def test_a_member_that_was_not_scored_stays_out_of_the_baseline():
    """
    Infrastructure that failed is no bad result.
    """
    members = (trajectory(1.0), trajectory(0.0), trajectory(0.0, scored=False))
    (weighted,) = weigh([TrajectoryGroup(number=0, task="t", members=members)], Groupwise())

    assert (0.5, -0.5, 0.0) == weighted.advantages
    assert 2 == counted([weighted.group], "sequences")


@pytest.mark.parametrize("scale", ["none", "batch"])
@pytest.mark.parametrize("per", ["tokens", "sequences", "groups"])
def test_a_common_factor_is_one_over_what_is_counted(scale, per):
    """
    And over the deviation of the batch's centred rewards where that was asked for.
    """
    groups = [group(1.0, 0.0, tokens=3), group(2.0, 2.0, tokens=5)]

    factor = Groupwise(scale=scale, per=per, epsilon=1e-9).factor(groups, None)

    count = {"tokens": 16, "sequences": 4, "groups": 2}[per]
    deviation = math.sqrt((0.25 + 0.25) / 4) if scale == "batch" else 1.0
    assert pytest.approx(1 / count / deviation) == factor


def test_group_scale_divides_by_the_group_s_own_deviation():
    """
    It is the group's own affair, so nothing has to wait for it.
    """
    (row,) = Groupwise(scale="group", epsilon=1e-9).of([group(1.0, 0.0, 1.0, 0.0)])

    assert pytest.approx((1.0, -1.0, 1.0, -1.0)) == row


def test_worked_example_6_segments():
    """
    Versions 10, 10, 11, 12 trained at 12 have ages 2, 2, 1, 0; under MASK with S=1 the first two lose
    their weight, and stay as context.
    """
    mixed = Trajectory(segments=tuple(map(segment, (10, 10, 11, 12))), reward=1.0)
    members = TrajectoryGroup(number=0, task="t", members=(mixed, trajectory(0.0, versions=(12,))))
    (weighted,) = weigh([members], Groupwise(), oldest=12 - 1)

    assert [2, 2, 1, 0] == [part.age(12) for part in mixed.segments]
    assert 2 + 1 == counted([members], "tokens", oldest=11)
    assert mixed.input_tokens + 1 == weighted.input_tokens
    assert 10 == mixed.version


def test_a_masked_member_s_reward_stays_in_the_baseline():
    """
    It is reported, weighs nothing and makes no sequence useful; the others are held against it.
    """
    members = (trajectory(1.0, versions=(9,)), trajectory(0.0, versions=(12,)))
    (weighted,) = weigh(
        [TrajectoryGroup(number=0, task="t", members=members)], Groupwise(), oldest=10
    )

    assert (0.5, -0.5) == weighted.advantages
    assert (0,) == weighted.fully_masked
    assert [members[1]] == [t for t, _ in weighted.sequences]
    assert 1 == counted([weighted.group], "sequences", oldest=10)


@pytest.mark.parametrize("unit", ["tokens", "sequences", "groups"])
def test_a_batch_that_is_masked_whole_has_no_weight(unit):
    """
    Nothing is divided by nothing.
    """
    old = group(1.0, 0.0, versions=(3,))

    assert 0 == counted([old], unit, oldest=4)
    assert 0.0 == Groupwise(per=unit).factor([old], 4)


def test_masked_units_do_not_count():
    """
    The normaliser counts unmasked units only.
    """
    groups = [group(1.0, 0.0, versions=(3, 5), tokens=4)]

    assert [16, 8] == [counted(groups, "tokens", oldest) for oldest in (None, 5)]
    assert [2, 2] == [counted(groups, "sequences", oldest) for oldest in (None, 5)]


def test_a_weighted_group_needs_an_advantage_a_member():
    """
    A row of another length is a mistake, not a default.
    """
    wrong = WeightedGroup(group=group(1.0, 0.0), advantages=(1.0,))

    with pytest.raises(ValueError, match="shorter"):
        _ = wrong.sequences
