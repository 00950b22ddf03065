"""
Aggregators that learn from outcomes run the conformance kit.
"""

from __future__ import annotations

import pytest
from climbing import Climber, Gatherer, Hill

from headway.testing.conformance import AggregatorContract

FEWER = 60
"""Schedules: three in each chunk, one of which has new objects throughout."""


class TestClimber(AggregatorContract):
    interleavings = FEWER
    scripted = 5

    @pytest.fixture
    def make(self):
        return Climber

    @pytest.fixture
    def domain(self):
        return Hill


class TestGatherer(AggregatorContract):
    interleavings = FEWER
    scripted = 5

    @pytest.fixture
    def make(self):
        return Gatherer

    @pytest.fixture
    def domain(self):
        return Hill
