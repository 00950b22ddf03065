"""
The contract of its kind, and what only this one does.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway._templates.promotion import NewcomerPromotion
from headway.testing.conformance import PromotionContract


class TestNewcomerPromotion(PromotionContract):
    """
    What every promotion must do.
    """

    @pytest.fixture
    def make(self) -> Callable[[], NewcomerPromotion]:
        """
        A function that makes a new one.
        """
        return NewcomerPromotion


def test_a_head_that_is_hardly_worse_confirms() -> None:
    """
    Within the tolerance, and no further.
    """
    promotion = NewcomerPromotion(tolerance=0.1)

    assert promotion.confirms([0.5, 0.45], [0.5, 0.5])
    assert not promotion.confirms([0.3, 0.3], [0.5, 0.5])
