"""
A promotion that lets a version pass which is as good as the stable one, within a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from headway.errors import OptionError


class NewcomerPromotion:
    """
    Promotes after ``promote_after`` confirmations in a row; a head confirms that falls behind the
    stable version by at most ``tolerance``.

    Args:
        promote_after: How many confirmations.
        tolerance: How much lower the head's mean reward may be, at least 0.

    Raises:
        OptionError: one of them is out of its range.
    """

    def __init__(self, promote_after: int = 2, tolerance: float = 0.0) -> None:
        if promote_after < 1:
            raise OptionError("promote_after", promote_after, "Give a whole number of at least 1.")
        if not tolerance >= 0:
            raise OptionError("tolerance", tolerance, "Give a number of at least 0.")
        self.promote_after: int = promote_after
        self.tolerance: float = tolerance

    def confirms(self, head: Sequence[float], stable: Sequence[float]) -> bool:
        """
        Whether the head's mean is close enough; with no scores, rewards are certain and it is.
        """
        if not head:
            return True
        return fmean(head) >= fmean(stable) - self.tolerance

    def due(self, confirmations: int) -> bool:
        """
        Whether there are enough of them.
        """
        return confirmations >= self.promote_after
