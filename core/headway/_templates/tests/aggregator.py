"""
The contract of its kind, and what only this one does.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway._templates.aggregator import NewcomerAggregator, clearly_best
from headway.errors import OptionError
from headway.testing.conformance import AggregatorContract


class TestNewcomerAggregator(AggregatorContract):
    """
    What every aggregator must do.
    """

    @pytest.fixture
    def make(self) -> Callable[[], NewcomerAggregator]:
        """
        A function that makes a new one.
        """
        return NewcomerAggregator


def test_a_gain_that_may_be_an_accident_is_none() -> None:
    """
    Of two candidates with equal means, the one that gains everywhere is clearly better.
    """
    head = (0.5, 0.5, 0.5, 0.5)
    lucky, steady = (2.0, 0.1, 0.4, 0.1), (0.6, 0.7, 0.6, 0.7)

    assert 0 == clearly_best((head, steady))
    assert clearly_best((head, lucky)) is None


def test_a_batch_is_at_least_one_card() -> None:
    """
    What makes no sense is refused, with a remedy.
    """
    with pytest.raises(OptionError, match="batch_size=0: Give a whole number"):
        NewcomerAggregator(batch_size=0)
