"""
The first-party aggregators, and three throw-away ones, run the conformance kit.
"""

import pytest
from test_contract_optimizers import Bowl, EvolutionStrategy, Frontier, Guesses, Hill, MapElites

from headway.builtins._best_of_n import BestOfN
from headway.builtins.standard import StandardAggregator
from headway.testing.conformance import AggregatorContract

FEWER = 60
"""Schedules for all but ``standard``: three in each chunk, one of which has new objects throughout."""


class TestStandard(AggregatorContract):
    @pytest.fixture
    def make(self):
        return StandardAggregator


class TestBestOfN(AggregatorContract):
    interleavings = FEWER
    scripted = 5

    @pytest.fixture
    def make(self):
        return BestOfN


class TestFrontier(AggregatorContract):
    interleavings = FEWER
    scripted = 5

    @pytest.fixture
    def make(self):
        return Frontier

    @pytest.fixture
    def domain(self):
        return lambda: Guesses(n_keys=4, n_values=3, n_tasks=3, right=0.6)


class TestEvolutionStrategy(AggregatorContract):
    order_free = True
    interleavings = FEWER
    scripted = 5

    @pytest.fixture
    def make(self):
        return EvolutionStrategy

    @pytest.fixture
    def domain(self):
        return Bowl


class TestMapElites(AggregatorContract):
    interleavings = FEWER
    scripted = 5

    @pytest.fixture
    def make(self):
        return MapElites

    @pytest.fixture
    def domain(self):
        return Hill
