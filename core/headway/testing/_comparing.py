"""
What a comparison comes to, worked out anew beside the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from headway.contracts import Comparison


def compared(rows: Sequence[Sequence[float]]) -> Comparison:
    """
    The answer to a ``Compare`` whose scores are these: the reference's row, then the candidates'.
    """
    bar, *means = [round(fsum(row) / len(row), 9) for row in rows]
    better = tuple(number for number, mean in enumerate(means) if mean > bar)
    best = max(better, key=lambda number: (means[number], -number), default=None)
    return Comparison(best=best, better=better)
