"""
What holds for every aggregator, held against this one.
"""

from __future__ import annotations

import pytest

from headway.testing.conformance import AggregatorContract
from headway_islands import Islands


class TestIslands(AggregatorContract):
    """
    As it is made by its name.
    """

    options = Islands.defaults
    interleavings = 100

    @pytest.fixture
    def make(self):
        """
        A new one each time, alike.
        """
        return Islands
