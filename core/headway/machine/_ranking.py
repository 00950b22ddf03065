"""
Which candidates beat a reference and which is the best, as soon as no missing draw could change it.

A score that is missing lies somewhere in the reward range, so each row's mean has a lower and an upper
bound.  Guarantee: the answer is the one that complete rows would give, whatever the order of arrival;
what is known when it is given may differ, the answer may not.  So sums are exact (``fsum``), and means
are compared rounded, which keeps their order and makes equal what differs by rounding alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum

import attrs

from headway.contracts import Comparison

_DIGITS = 9

_NONE_BETTER = Comparison(best=None, better=())


@attrs.define(eq=False)
class Row:
    """
    What is known about one candidate's mean.

    Args:
        size: How many scores a complete row has.
        known: The scores that have arrived.
    """

    size: int
    known: list[float] = attrs.field(factory=list[float])
    lower: float = 0.0
    upper: float = 0.0

    def bound(self, low: float, high: float) -> None:
        """
        Bound the mean, with every missing score between ``low`` and ``high``.
        """
        total, missing = fsum(self.known), self.size - len(self.known)
        if missing:
            self.lower = round((total + missing * low) / self.size, _DIGITS)
            self.upper = round((total + missing * high) / self.size, _DIGITS)
        else:  # a range without an end times no missing score would be no number
            self.lower = self.upper = round(total / self.size, _DIGITS)


@attrs.define(eq=False)
class Ranking:
    """
    Rows that are compared with the first of them.

    Args:
        low: The lowest reward.
        high: The highest reward.
        rows: The reference's, then each candidate's.
    """

    low: float
    high: float
    rows: list[Row] = attrs.field(factory=list[Row])

    def add(self, size: int, known: list[float]) -> None:
        """
        Add a row that misses some of its scores; it keeps the list of those that are known.
        """
        row = Row(size, known)
        row.bound(self.low, self.high)
        self.rows.append(row)

    def arrived(self, row: int, score: float) -> None:
        """
        One more score of a row.
        """
        self.rows[row].known.append(score)
        self.rows[row].bound(self.low, self.high)

    @property
    def answer(self) -> Comparison | None:
        """
        The answer, once it is certain.
        """
        reference, *others = self.rows
        better: list[int] = []
        for number, row in enumerate(others):
            if row.lower > reference.upper:
                better.append(number)
            elif row.upper > reference.lower:
                return None
        if not better:
            return _NONE_BETTER
        best = next(self._best(better), None)
        return None if best is None else Comparison(best=best, better=tuple(better))

    def _best(self, better: Sequence[int]) -> Iterator[int]:
        """
        Those that no other one can beat; of equal ones the first counts.
        """
        for number in better:
            lower = self.rows[number + 1].lower
            uppers = [(other, self.rows[other + 1].upper) for other in better if other != number]
            if all(lower > u or (lower == u and number < other) for other, u in uppers):
                yield number
