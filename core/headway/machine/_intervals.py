"""
Confidence intervals of mean rewards, about draws on given tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, pi, sqrt, tan
from statistics import NormalDist, fmean, variance
from typing import TypeAlias

Interval: TypeAlias = tuple[float, float]

LEVEL = 0.95
"""How often an interval holds the expected reward on the same tasks."""

_UPPER = (1 + LEVEL) / 2
_Z = NormalDist().inv_cdf(_UPPER)

_EXPANSION = (
    (_Z**3 + _Z) / 4,
    (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / 96,
    (3 * _Z**7 + 19 * _Z**5 + 17 * _Z**3 - 15 * _Z) / 384,
    (79 * _Z**9 + 776 * _Z**7 + 1482 * _Z**5 - 1920 * _Z**3 - 945 * _Z) / 92160,
)
"""Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5."""


def student_t(df: int) -> float:
    """
    The 97.5 % quantile of Student's distribution.

    Exact for 1 and 2 degrees of freedom, else by an expansion whose error is below 0.004.

    >>> [round(student_t(df), 2) for df in (1, 2, 5, 30)]
    [12.71, 4.3, 2.57, 2.04]
    """
    if df == 1:
        return tan(pi * (_UPPER - 0.5))
    if df == 2:  # noqa: PLR2004 - the other case that has a closed form
        lower = 1 - _UPPER
        return (1 - 2 * lower) / sqrt(2 * lower * _UPPER)
    return _Z + fsum(term / df**power for power, term in enumerate(_EXPANSION, 1))


def interval(rows: Sequence[Sequence[float]], bounds: Interval) -> Interval | None:
    """
    The 95 % interval of the mean over tasks of the expected reward.

    Tasks are strata: the mean is the mean over ``T`` tasks of the mean of ``d`` draws, and its
    variance is the sum over tasks of ``s^2 / d`` divided by ``T^2``, where ``s^2`` is the unbiased
    variance within the task.  The half width is that variance's root times Student's quantile, with
    the degrees of freedom of Welch and Satterthwaite, ``(sum s^2)^2 / sum (s^4 / (d - 1))``, for few
    draws.  When all draws of each task agree there is no variance to be seen, and the half width is
    what Wilson's interval has for a share of 0 or 1: ``range * z^2 / (n + z^2)`` with ``n = T * d``.
    The interval is cut to the reward range.

    Args:
        rows: The draws of each task.
        bounds: The lowest and the highest reward.

    Returns:
        The interval, or None with fewer than two draws a task: nothing is known of their spread.
    """
    draws = min(map(len, rows))
    if draws < 2:  # noqa: PLR2004 - one draw shows no spread
        return None
    low, high = bounds
    mean = fmean(fmean(row) for row in rows)
    spreads = [variance(row) for row in rows]
    total = sum(spreads)
    if total > 0:
        df = total**2 / sum(s**2 / (draws - 1) for s in spreads)
        half = student_t(max(1, int(df))) * sqrt(total / draws) / len(rows)
    else:
        half = (high - low) * _Z**2 / (len(rows) * draws + _Z**2)
    return max(low, mean - half), min(high, mean + half)
