"""
What holds for every aggregator, held against this one.
"""

from __future__ import annotations

import pytest

from headway.testing.conformance import AggregatorContract
from headway_annealing import Annealing


class TestAnnealing(AggregatorContract):
    """
    As it is made by its name.
    """

    options = Annealing.defaults
    interleavings = 100

    @pytest.fixture
    def make(self):
        """
        A new one each time, alike.
        """
        return Annealing
