"""
The built-in duration estimators.

Both learn from one observation at a time in constant memory, both say None before the first one,
and neither ever predicts less than nothing.  Quantiles come from how the last observations relate
to what is predicted for them now.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import attrs

from headway._checks import check_count, check_number
from headway.contracts import Json

_Recent: TypeAlias = deque[tuple[float, float]]
"""The last (cost, seconds), to tell how far durations spread around their prediction."""


def _factor(recent: _Recent, predict: Callable[[float], float], level: float) -> float:
    """
    What a prediction is multiplied with so that a share ``level`` does not exceed it.
    """
    known = [(seconds, predict(cost)) for cost, seconds in recent]
    ratios = [seconds / expected for seconds, expected in known if expected > 0]
    factors = sorted(ratio for ratio in ratios if ratio < math.inf)
    if not factors:
        return 1.0
    rank = math.ceil(level * len(factors))  # nearest rank: a value that did occur
    return factors[max(rank, 1) - 1]


@attrs.define(eq=False)
class Linear:
    """
    Least squares: seconds = a + b * cost.

    While all costs are equal their mean duration is predicted.  The sums are kept around the means
    (Welford, Technometrics 4, 1962), so that large costs cancel nothing.

    Args:
        window: How many observations the quantiles look back on, at least 1.

    Raises:
        OptionError: the window is no whole number of at least 1.
    """

    window: int = 128
    _recent: _Recent = attrs.field(init=False)
    _count: int = attrs.field(default=0, init=False)
    _cost: float = attrs.field(default=0.0, init=False)
    _seconds: float = attrs.field(default=0.0, init=False)
    _spread: float = attrs.field(default=0.0, init=False)
    _together: float = attrs.field(default=0.0, init=False)

    def __attrs_post_init__(self) -> None:
        check_count("window", self.window, 1)
        self._recent = deque(maxlen=self.window)

    def observe(self, cost: float, seconds: float) -> None:
        """
        Learn from one finished piece of work.

        Raises:
            ValueError: the cost or the duration is no finite number, or the duration is negative.
        """
        _check(cost, seconds)
        self._count += 1
        away = cost - self._cost
        self._cost += away / self._count
        self._seconds += (seconds - self._seconds) / self._count
        self._spread += away * (cost - self._cost)
        self._together += away * (seconds - self._seconds)
        self._recent.append((cost, seconds))

    @property
    def memory(self) -> Json:
        """
        All that it has learnt, as JSON: how many observations, four means and sums over them, and the last ones.
        """
        sums = [self._cost, self._seconds, self._spread, self._together]
        return [self._count, *sums, [*map(list, self._recent)]]

    @memory.setter
    def memory(self, memory: Json) -> None:
        self._count, self._cost, self._seconds, self._spread, self._together, recent = memory
        self._recent = _recent(recent, self.window)

    def estimate(self, cost: float) -> float | None:
        """
        The expected duration in seconds; None before the first observation.
        """
        return self._predict(cost) if self._count else None

    def quantile(self, cost: float, level: float) -> float | None:
        """
        A duration that a share ``level`` of the work does not exceed, in seconds.

        Raises:
            ValueError: the level is not within [0, 1].
        """
        _check_level(level)
        if not self._count:
            return None
        return self._predict(cost) * _factor(self._recent, self._predict, level)

    def _predict(self, cost: float) -> float:
        slope = self._together / self._spread if self._spread > 0 else 0.0
        return max(0.0, self._seconds + slope * (cost - self._cost))


@attrs.define(eq=False)
class Ewma:
    """
    Seconds per unit of cost, with older observations counting less and less.

    Follows a backend whose speed drifts.  Duration and cost are averaged apart, so that work of no
    cost is no division by zero.

    Args:
        weight: What the newest observation counts, within (0, 1].
        window: How many observations the quantiles look back on, at least 1.

    Raises:
        OptionError: one of them is out of its range.
    """

    weight: float = 0.2
    window: int = 64
    _recent: _Recent = attrs.field(init=False)
    _means: tuple[float, float] | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        check_number("weight", self.weight, above=0, most=1)
        check_count("window", self.window, 1)
        self._recent = deque(maxlen=self.window)

    def observe(self, cost: float, seconds: float) -> None:
        """
        Learn from one finished piece of work.

        Raises:
            ValueError: the cost or the duration is no finite number, or the duration is negative.
        """
        _check(cost, seconds)
        old_cost, old_seconds = self._means or (cost, seconds)
        weight = self.weight
        self._means = (
            old_cost + weight * (cost - old_cost),
            old_seconds + weight * (seconds - old_seconds),
        )
        self._recent.append((cost, seconds))

    @property
    def memory(self) -> Json:
        """
        All that it has learnt, as JSON: the two means, and the last observations.
        """
        means = None if self._means is None else [*self._means]
        return [means, [*map(list, self._recent)]]

    @memory.setter
    def memory(self, memory: Json) -> None:
        means, recent = memory
        self._means = None if means is None else (means[0], means[1])
        self._recent = _recent(recent, self.window)

    def estimate(self, cost: float) -> float | None:
        """
        The expected duration in seconds; None before the first observation.
        """
        return None if self._means is None else self._predict(cost)

    def quantile(self, cost: float, level: float) -> float | None:
        """
        A duration that a share ``level`` of the work does not exceed, in seconds.

        Raises:
            ValueError: the level is not within [0, 1].
        """
        _check_level(level)
        if self._means is None:
            return None
        return self._predict(cost) * _factor(self._recent, self._predict, level)

    def _predict(self, cost: float) -> float:
        mean_cost, mean_seconds = self._means or (0.0, 0.0)
        return max(0.0, mean_seconds * cost / mean_cost if mean_cost > 0 else mean_seconds)


def _recent(pairs: Json, window: int) -> _Recent:
    return deque(((cost, seconds) for cost, seconds in pairs), maxlen=window)


def _check(cost: float, seconds: float) -> None:
    if not (-math.inf < cost < math.inf and 0 <= seconds < math.inf):  # NaN is within nothing
        raise ValueError(f"cannot learn from cost={cost!r}, seconds={seconds!r}")


def _check_level(level: float) -> None:
    if not 0 <= level <= 1:
        raise ValueError(f"level={level!r} is not within [0, 1]")
