"""
Quantiles of ages, by span and by token.

By span a few long ones count as little as a few short ones; by token they count for what they hold.  Of ten
spans, one of 8,000 tokens that is two updates old and nine of 100 tokens that are new, the median span is new,
and the mean token 1.8 updates old.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate


def quantile(values: Sequence[float], level: float) -> float:
    """
    A quantile, between the two nearest values in proportion.

    >>> quantile([2, 2, 1, 0], 0.5)
    1.5

    Args:
        values: At least one.
        level: From 0 to 1.
    """
    ordered = sorted(values)
    place = level * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def weighted_quantile(values: Sequence[float], weights: Sequence[int], level: float) -> float:
    """
    The smallest value that a share of all weight does not exceed.

    >>> weighted_quantile([2, 0], [8_000, 900], 0.5)
    2

    Args:
        values: At least one with a weight.
        weights: One a value, whole and not negative.
        level: From 0 to 1.
    """
    pairs = sorted((v, w) for v, w in zip(values, weights, strict=True) if w)
    wanted = level * sum(weight for _, weight in pairs)
    sums = accumulate(weight for _, weight in pairs)
    return next(v for (v, _), total in zip(pairs, sums, strict=True) if total >= wanted)


def weighted_mean(values: Sequence[float], weights: Sequence[int]) -> float:
    """
    The mean value of a unit of weight; 0 without weight.
    """
    total = sum(weights)
    return math.fsum(map(math.prod, zip(values, weights, strict=True))) / total if total else 0.0
