"""
What holds for every aggregator, held against this one.
"""

from __future__ import annotations

import pytest

from headway.testing.conformance import AggregatorContract
from headway_pareto import ParetoFront


class TestParetoFront(AggregatorContract):
    """
    As it is made by its name.
    """

    options = ParetoFront.defaults
    interleavings = 100

    @pytest.fixture
    def make(self):
        """
        A new one each time, alike.
        """
        return ParetoFront
