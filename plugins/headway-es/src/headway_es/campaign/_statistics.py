"""
Paired statistics of small samples, pure and repeatable: nothing here is drawn but from keyed streams.

Bootstrap after B. Efron, 1979; sign-flip test after R. A. Fisher, "The Design of Experiments", 1935;
correction after S. Holm, 1979; two one-sided tests after D. J. Schuirmann, 1987.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from statistics import NormalDist, fmean, stdev

import attrs
import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]

_EXACT = 14
"""Up to so many pairs all sign patterns are tried; else ``_DRAWN`` of them."""

_DRAWN = 20_000
_RESAMPLES = 10_000
_KEY = 0x57A75
_TIE = 1e-12
"""Sums that differ by less, relative to the largest possible, count as equal."""


@attrs.frozen(kw_only=True)
class Difference:
    """
    Paired differences of a condition from its control.

    Args:
        count: How many pairs.
        mean: Their mean.
        deviation: Their standard deviation; 0 for one pair.
        low: The lower end of the bootstrap's 95 % interval of the mean.
        high: Its upper end.
        p: That of the two-sided sign-flip test; 1 when all pairs are equal.
        equivalence: That of the equivalence test; None without a margin.
    """

    count: int
    mean: float
    deviation: float
    low: float
    high: float
    p: float
    equivalence: float | None = None


def compare(
    found: Sequence[float], control: Sequence[float], margin: float | None = None
) -> Difference:
    """
    All that is said about pairs.

    Args:
        found: One value a pair.
        control: The control's, in the same order.
        margin: What counts as equivalent.

    Raises:
        ValueError: there are no pairs, or not as many of one as of the other.

    >>> compare([3.0, 4.0, 5.0], [1.0, 1.0, 1.0]).mean
    3.0
    """
    differences = [a - b for a, b in zip(found, control, strict=True)]
    low, high = bootstrap(differences)
    return Difference(
        count=len(differences),
        mean=fmean(differences),
        deviation=stdev(differences) if len(differences) > 1 else 0.0,
        low=low,
        high=high,
        p=sign_flip(differences),
        equivalence=None if margin is None else equivalence(differences, margin),
    )


def bootstrap(differences: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """
    The percentile interval of the mean.

    Args:
        differences: One a pair.
        level: How often it is to cover the true mean.

    Raises:
        ValueError: there are no differences.
    """
    _check(differences)
    means = np.asarray(differences)[_picks(len(differences))].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def sign_flip(differences: Sequence[float]) -> float:
    """
    How often a sum at least as far from 0 comes of signs at random, in a two-sided test.

    Exact for up to 14 pairs.

    Raises:
        ValueError: there are no differences.

    >>> sign_flip([1.0, 2.0, 3.0])
    0.25
    """
    _check(differences)
    given = np.asarray(differences)
    sums, tie = np.abs(_signs(len(given)) @ given), _TIE * np.abs(given).sum()
    return _share(sums >= abs(given.sum()) - tie)


def equivalence(differences: Sequence[float], margin: float) -> float:
    """
    The larger p of two one-sided sign-flip tests: that the mean is above ``-margin``, and below ``margin``.

    It supports equivalence when it is small; a large one supports nothing.

    Raises:
        ValueError: there are no differences, or the margin is not above 0.
    """
    _check(differences)
    if not margin > 0:
        raise ValueError(f"margin={margin}: give one above 0")
    given = np.asarray(differences)
    return max(_one_sided(given + margin), _one_sided(margin - given))


def _one_sided(given: Float64) -> float:
    """
    How often signs at random give a sum at least as large.
    """
    sums, tie = _signs(len(given)) @ given, _TIE * np.abs(given).sum()
    return _share(sums >= given.sum() - tie)


def holm(ps: Sequence[float]) -> list[float]:
    """
    The p-values after Holm's correction, in the same order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, least = [0.0] * len(ps), 0.0
    for place, which in enumerate(sorted(range(len(ps)), key=lambda n: ps[n])):
        least = max(least, min(1.0, (len(ps) - place) * ps[which]))
        adjusted[which] = least
    return adjusted


def seeds_needed(
    deviation: float, difference: float, *, level: float = 0.05, power: float = 0.9
) -> int:
    """
    How many pairs a two-sided test needs to find a difference, in the normal approximation.

    Args:
        deviation: The standard deviation of paired differences.
        difference: What is to be found, above 0.
        level: How often the test may find something where nothing is.
        power: How often it is to find the difference.

    Raises:
        ValueError: the difference is not above 0.

    >>> seeds_needed(3.5, 2.0), seeds_needed(6.55, 1.6)
    (33, 177)
    """
    if not difference > 0:
        raise ValueError(f"difference={difference}: give one above 0")
    normal = NormalDist()
    both = normal.inv_cdf(1 - level / 2) + normal.inv_cdf(power)
    return max(2, math.ceil((both * deviation / difference) ** 2))


def _check(differences: Sequence[float]) -> None:
    if not differences:
        raise ValueError("there are no differences")


def _share(hits: npt.NDArray[np.bool_]) -> float:
    """
    The share of sign patterns; where they were drawn, the pattern that was found counts as one more.
    """
    exact = len(hits) & (len(hits) - 1) == 0
    count = int(np.count_nonzero(hits))
    return count / len(hits) if exact else (count + 1) / (len(hits) + 1)


def _stream(count: int, purpose: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[_KEY + purpose, count]))


@lru_cache(maxsize=4)
def _signs(count: int) -> Float64:
    """
    Patterns of -1 and +1, of shape (patterns, count).
    """
    if count <= _EXACT:
        return np.array(list(product((1.0, -1.0), repeat=count)))
    drawn = _stream(count, 0).integers(2, size=(_DRAWN, count))
    return np.where(drawn == 1, -1.0, 1.0)


@lru_cache(maxsize=4)
def _picks(count: int) -> npt.NDArray[np.int64]:
    """
    Resamples, as places, of shape (resamples, count).
    """
    return _stream(count, 1).integers(count, size=(_RESAMPLES, count))
