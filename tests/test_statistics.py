"""
The sequential test: its level, its power, and what it says of itself.
"""

from __future__ import annotations

import random
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.statistics import (
    BETS,
    PairedTest,
    Wealth,
    fixed_effect,
    fixed_pairs,
    least_cycles,
    share_of_level,
    smallest_effect,
)

ROUNDING = 1e-9


def make(**more):
    return PairedTest(**{"level": 0.05, "effect": 0.25, "power": 0.9, "cycles": 20} | more)


def played(rng, before, after, **more):
    """
    A test of coins to its end; each list holds a chance a task.
    """
    test = make(**more)
    verdict = "undecided"
    while verdict == "undecided" and test.seen < test.cycles:
        chances = zip(before, after, strict=True)
        verdict = test.add([(rng.random() < b) - (rng.random() < a) for a, b in chances])
    return verdict, test


def share(verdict, before, after, runs=1000, **more):
    rng = random.Random(7)
    return sum(played(rng, before, after, **more)[0] == verdict for _ in range(runs)) / runs


@pytest.mark.parametrize("level", [0.05, 0.2])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([0.5] * 10, [0.5] * 10),
        ([0.9] * 10, [0.9] * 10),
        ([0.1, 0.9] * 5, [0.9, 0.1] * 5),
        ([0.2] * 9 + [1.0], [0.3] * 9 + [0.1]),
    ],
)
def test_what_is_no_better_is_rarely_accepted(before, after, level):
    """
    However often one looks, and also when the tasks differ: one gains what another one loses.
    """
    accepted = share("accept", before, after, level=level, effect=0.9, power=1 - 1e-9)

    assert accepted <= level


def test_a_removal_that_hurts_by_the_margin_is_rarely_accepted():
    """
    At the edge of what is tolerated the level holds.
    """
    accepted = share("accept", [0.75] * 10, [0.5] * 10, level=0.1, margin=-0.25, effect=0.25)

    assert accepted <= 0.1


@pytest.mark.parametrize("effect", [0.2, 0.3, 0.4])
def test_an_effect_is_rarely_called_futile(effect):
    """
    A candidate that is better by the effect loses a test too early in one case of ten at most.
    """
    rejected = share("reject", [0.4] * 10, [0.4 + effect] * 10, effect=effect, level=0.001)

    assert rejected <= 0.1


@pytest.mark.parametrize("gains", [2, 3])
def test_a_small_gain_with_little_noise_is_not_futile(gains):
    """
    It is far below the effect that the largest variance hides, and is shown nonetheless.
    """
    before, after = [0.0] * 12, [0.9] * gains + [0.0] * (12 - gains)
    more = {"effect": 0.4, "level": 0.01, "cycles": 10}

    assert share("accept", before, after, **more) >= 0.8
    assert share("reject", before, after, **more) <= 0.1


@pytest.mark.parametrize("level", [0.01, 0.0005])
def test_the_smallest_effect_is_shown_with_its_power(level):
    """
    By the sequential test itself, for coins of the largest variance.
    """
    tasks, cycles = 20, 10
    effect = smallest_effect(tasks * cycles, level=level, power=0.8)
    low, high = 0.5 - effect / 2, 0.5 + effect / 2
    shown = share(
        "accept", [low] * tasks, [high] * tasks, level=level, effect=effect, cycles=cycles
    )

    assert shown >= 0.78


def test_useless_candidates_cost_less_than_a_fixed_sample():
    """
    On average, at the level and for the effect that the sequential test was made for.
    """
    rng = random.Random(3)
    level = 0.001
    effect = smallest_effect(200, level=level, power=0.8)
    tests = [
        played(rng, [0.5] * 20, [0.5] * 20, level=level, effect=effect, cycles=10)[1]
        for _ in range(300)
    ]

    assert sum(test.pairs for test in tests) / 300 < fixed_pairs(effect, level=level, power=0.8)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=8), st.floats(-0.9, 0.9))
def test_a_bet_never_loses_more_than_there_is(numbers, zero):
    """
    Wealth stays above nothing, whatever comes.
    """
    wealth = Wealth(zero)
    for number in numbers:
        wealth.add({number: 1})

    assert wealth.log > -log(1 / (1 - max(BETS))) * len(numbers) - log(len(BETS)) - ROUNDING


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=2, max_size=2))
def test_the_order_of_tasks_within_a_cycle_does_not_count(cycle):
    """
    Only whole cycles are looked at.
    """
    one, other = make(), make()
    one.add(cycle)
    other.add(cycle[::-1])

    assert (one.verdict, one.mean) == (other.verdict, other.mean)


def test_ties_prove_nothing():
    """
    For ever.
    """
    test = make(cycles=100)
    verdicts = {test.add([0.0] * 20) for _ in range(3)}

    assert "accept" not in verdicts
    assert 0.0 == test.mean


def test_a_test_without_hope_ends():
    """
    As soon as not even the best of all remaining draws could decide.
    """
    test = make(cycles=2, level=1e-6, effect=0.9, power=1 - 1e-9)

    assert "reject" == test.add([0.0])


def test_shares_of_a_level_sum_to_it():
    """
    And fall slowly: the hundredth test has more than a thousandth part of the first one's.
    """
    total = sum(share_of_level(0.05, n) for n in range(1, 200_000))
    rest = 0.05 * 200_000**-0.3 / 0.3 / 3.9

    assert 0.05 == pytest.approx(total + rest, rel=0.01)
    assert share_of_level(0.05, 100) > share_of_level(0.05, 1) / 1000


def test_a_fixed_sample_and_its_effect_belong_together():
    """
    One is the other's inverse.
    """
    pairs = fixed_pairs(0.3, level=0.01, power=0.8)
    effect = fixed_effect(pairs, level=0.01, power=0.8)

    assert effect <= 0.3 < fixed_effect(pairs - 1, level=0.01, power=0.8)
    assert 56 == pairs


@pytest.mark.parametrize("tasks", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("level", [0.05, 1e-3, 1e-6])
def test_fewer_cycles_could_not_accept(tasks, level):
    """
    Not even if the candidate always won; that many may.
    """
    least = least_cycles(tasks, level)
    test = make(level=level, cycles=1000, power=1 - 1e-9)
    verdicts = [test.add([1.0] * tasks) for _ in range(least)]

    assert "accept" not in verdicts[:-1]
    assert "accept" == verdicts[-1]
