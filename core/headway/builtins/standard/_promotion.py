"""
When a committed version becomes the stable one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import attrs

from headway._checks import check_count


@attrs.frozen(kw_only=True)
class Confirmed:
    """
    After some confirmations in a row, in none of which the head fell behind the stable version.

    Args:
        promote_after: How many confirmations.

    Raises:
        OptionError: it is no whole number of at least 1.
    """

    promote_after: int = 3

    def __attrs_post_init__(self) -> None:
        check_count("promote_after", self.promote_after, 1)

    def confirms(self, head: Sequence[float], stable: Sequence[float]) -> bool:
        """
        Whether the head's mean is not below the stable version's.
        """
        return fsum(head) >= fsum(stable)

    def due(self, confirmations: int) -> bool:
        """
        Whether there are enough of them.
        """
        return confirmations >= self.promote_after
