"""
The campaign's statistics against known values and against trying everything.
"""

from __future__ import annotations

from itertools import product
from statistics import fmean

import numpy as np
import pytest

from headway_es.campaign import bootstrap, compare, equivalence, holm, seeds_needed, sign_flip


def drawn(count, mean=0.0, deviation=1.0, seed=0):
    return np.random.default_rng(seed).normal(mean, deviation, count).tolist()


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_sign_flips_are_all_tried(count):
    """
    The p is the share of sign patterns whose sum is at least as far from 0.
    """
    given = drawn(count, 0.5)
    sums = [
        sum(s * d for s, d in zip(signs, given, strict=True))
        for signs in product((1, -1), repeat=count)
    ]
    far = sum(abs(s) >= abs(sum(given)) - 1e-9 for s in sums)

    assert far / 2**count == pytest.approx(sign_flip(given))


def test_fishers_darwin():
    """
    Darwin's fifteen pairs of maize, after Fisher's "The Design of Experiments": 1,726 of 32,768 patterns
    are as far; they are drawn here, not tried.
    """
    darwin = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]

    assert 1726 / 32768 == pytest.approx(sign_flip(darwin), abs=0.006)
    assert 863 / 16384 == pytest.approx(1726 / 32768)


def test_ties_count_as_far():
    """
    Also where adding up in another order rounds otherwise.
    """
    assert 1.0 == sign_flip([0.1, 0.2, -0.3])
    assert 1.0 == sign_flip([0.0, 0.0])
    assert 2 / 8 == sign_flip([0.1, 0.1, 0.1])


def test_a_drawn_p_is_never_zero():
    """
    The pattern that was found counts as one of those drawn.
    """
    assert 1 / 20_001 == sign_flip([1.0] * 40)


def test_false_alarms():
    """
    Without any difference one p in twenty is below 0.05.
    """
    found = [sign_flip(drawn(10, seed=n)) < 0.05 for n in range(1000)]

    assert 0.05 == pytest.approx(fmean(found), abs=0.02)


def test_the_interval_covers():
    """
    At 40 pairs the bootstrap's interval covers the mean nearly as often as it says.
    """
    covered = []
    for n in range(400):
        low, high = bootstrap(drawn(40, 2.0, seed=n))
        covered.append(low <= 2.0 <= high)

    assert 0.94 == pytest.approx(fmean(covered), abs=0.03)


def test_the_interval_is_that_of_the_normal_law():
    """
    Of 400 pairs, 1.96 standard errors to both sides.
    """
    given = drawn(400, 1.0)
    low, high = bootstrap(given)
    half = 1.96 * np.std(given) / 20

    assert (fmean(given) - half, fmean(given) + half) == pytest.approx((low, high), abs=0.01)


def test_the_interval_is_repeatable_and_follows_the_scale():
    """
    The same pairs give the same interval; ten times as large ones one ten times as wide.
    """
    given = drawn(12)
    low, high = bootstrap(given)

    assert (low, high) == bootstrap(given)
    assert (10 * low, 10 * high) == pytest.approx(bootstrap([10 * d for d in given]))
    assert (3.0, 3.0) == bootstrap([3.0])


def test_equivalence():
    """
    It is supported by many pairs near 0 and not by few, by wide ones, or by a mean beyond the margin.
    """
    assert equivalence(drawn(40, 0.0, 0.5), 1.0) < 0.001
    assert equivalence(drawn(3, 0.0, 0.5), 1.0) > 0.05
    assert equivalence(drawn(40, 0.0, 20.0), 1.0) > 0.05
    assert equivalence(drawn(40, 1.5, 0.5), 1.0) > 0.95
    assert equivalence(drawn(40, -1.5, 0.5), 1.0) > 0.95


def test_equivalence_is_two_one_sided_tests():
    """
    The larger of the shares of sign patterns, all of them tried.
    """
    given, margin = drawn(7, 0.3), 1.0
    ps = []
    for shifted in ([d + margin for d in given], [margin - d for d in given]):
        patterns = list(product((1, -1), repeat=7))
        sums = [sum(s * d for s, d in zip(signs, shifted, strict=True)) for signs in patterns]
        ps.append(fmean(s >= sum(shifted) - 1e-9 for s in sums))

    assert max(ps) == pytest.approx(equivalence(given, margin))


def test_holm():
    """
    The textbook's steps: times what is left, never falling, never above 1, in the order given.
    """
    assert [0.03, 0.06, 0.06, 0.02] == pytest.approx(holm([0.01, 0.03, 0.04, 0.005]))
    assert [1.0, 1.0] == holm([0.9, 0.8])
    assert [] == holm([])


@pytest.mark.parametrize(("power", "count"), [(0.8, 32), (0.9, 43)])
def test_seeds_needed(power, count):
    """
    The normal approximation's well-known numbers for half a standard deviation.
    """
    assert count == seeds_needed(2.0, 1.0, power=power)


def test_so_many_seeds_find_it():
    """
    With the pairs that are said to be needed, nine tests in ten find the difference.
    """
    count = seeds_needed(1.0, 0.5)
    found = [sign_flip(drawn(count, 0.5, seed=n)) < 0.05 for n in range(200)]

    assert 0.9 == pytest.approx(fmean(found), abs=0.06)


def test_comparing():
    """
    Pairs are subtracted one by one; without a margin nothing is said of equivalence.
    """
    found = compare([3.0, 5.0, 4.0], [1.0, 2.0, 3.0])

    assert (3, 2.0, 1.0, None) == (found.count, found.mean, found.deviation, found.equivalence)
    assert 0.0 == compare([1.0], [0.0]).deviation
    assert compare([3.0, 5.0], [1.0, 2.0], 9.0).equivalence == 0.25


def test_what_cannot_be_said():
    """
    Nothing is said of no pairs, of unequal lists, or with a margin of nothing.
    """
    with pytest.raises(ValueError, match="no differences"):
        sign_flip([])
    with pytest.raises(ValueError, match="no differences"):
        bootstrap([])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        compare([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="margin=0"):
        equivalence([1.0], 0)
    with pytest.raises(ValueError, match="difference=0"):
        seeds_needed(1.0, 0)
