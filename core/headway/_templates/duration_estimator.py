"""
A duration estimator that takes the median of what was seen lately.
"""

from __future__ import annotations

from collections import deque
from math import ceil, inf

from headway.contracts import Json
from headway.errors import OptionError


class NewcomerEstimator:
    """
    Predicts the median of the last durations, so that one slow call misleads nobody.

    It does not look at the cost, which suits work that has none declared.

    Args:
        window: How many durations it looks back on.

    Raises:
        OptionError: it is below 1.
    """

    def __init__(self, window: int = 64) -> None:
        if window < 1:
            raise OptionError("window", window, "Give a whole number of at least 1.")
        self._seen: deque[float] = deque(maxlen=window)

    @property
    def memory(self) -> Json:
        """
        All that it has learnt, as JSON, so that a run can go on from a checkpoint.
        """
        return list(self._seen)

    @memory.setter
    def memory(self, memory: Json) -> None:
        self._seen.clear()
        self._seen.extend(memory)

    def observe(self, cost: float, seconds: float) -> None:
        """
        Learn from one finished piece of work.

        Raises:
            ValueError: the duration is negative or not finite.
        """
        del cost
        if not 0 <= seconds < inf:
            raise ValueError(f"cannot learn from seconds={seconds!r}")
        self._seen.append(seconds)

    def estimate(self, cost: float) -> float | None:
        """
        The median in seconds; None before the first observation.
        """
        return self.quantile(cost, 0.5)

    def quantile(self, cost: float, level: float) -> float | None:
        """
        A duration in seconds that a share ``level`` of the last ones did not exceed.

        Raises:
            ValueError: the level is not within [0, 1].
        """
        del cost
        if not 0 <= level <= 1:
            raise ValueError(f"level={level!r} is not within [0, 1]")
        if not self._seen:
            return None
        rank = ceil(level * len(self._seen))  # nearest rank: a value that did occur
        return sorted(self._seen)[max(rank, 1) - 1]
