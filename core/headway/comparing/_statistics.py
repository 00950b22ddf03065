"""
The few statistics that a comparison needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

import attrs

_BISECTIONS = 200
_PAIRS = 2
"""A spread takes two values."""


def quantile(values: Sequence[float], share: float) -> float:
    """
    The value below which a share of the values lies, between two of them in proportion.

    The same as NumPy's default (type 7 of Hyndman and Fan, 1996); infinities are values.

    >>> quantile([4.0, 1.0, 2.0], 0.25)
    1.5

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("there are no values")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    if below == above:
        return below
    return below + (place - math.floor(place)) * (above - below)


def t_within(t: float, degrees: int) -> float:
    """
    The probability that Student's t lies between ``-t`` and ``t``.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.

    >>> round(t_within(2.262157, 9), 6)
    0.95

    Args:
        t: Not negative.
        degrees: Degrees of freedom, at least 1.
    """
    angle = math.atan(t / math.sqrt(degrees))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = degrees % 2
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for k in range(2 + odd, degrees + 1, 2):
        total += term
        term *= cosine**2 * (k - 1) / k
    within = sine * total
    return 2 / math.pi * (angle + within) if odd else within


def t_quantile(level: float, degrees: int) -> float:
    """
    The t with ``t_within(t, degrees) == level``, by bisection.
    """
    low, high = 0.0, 1.0
    while t_within(high, degrees) < level:
        high *= 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if t_within(middle, degrees) < level else (low, middle)
    return high


@attrs.frozen
class Interval:
    """
    A mean and the interval that covers the true one.

    Args:
        mean: The mean.
        low: The interval's lower end; None when there is only one value.
        high: Its upper end.
    """

    mean: float
    low: float | None
    high: float | None


def paired_t(differences: Sequence[float], level: float = 0.95) -> Interval:
    """
    The mean of paired differences with the two-sided interval of the paired t test.

    Exact when the differences are independent and normal; close to it for ten or more that are
    neither very skewed nor all equal.  When all are equal the interval is that one value.

    Args:
        differences: One difference a pair.
        level: How often the interval is to cover the true mean.

    Raises:
        ValueError: there are no differences.
    """
    if not differences:
        raise ValueError("there are no differences")
    mean, count = fmean(differences), len(differences)
    if count < _PAIRS:
        return Interval(mean, None, None)
    half = t_quantile(level, count - 1) * stdev(differences) / math.sqrt(count)
    return Interval(mean, mean - half, mean + half)
