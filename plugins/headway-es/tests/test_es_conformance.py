"""
The optimizers run the kit that every aggregator runs.
"""

from __future__ import annotations

from types import MappingProxyType

import pytest

from headway.testing.conformance import AggregatorContract
from headway_es import ES, AskTell, Cma, Delay, ESDomain

FEWER = 60
"""Schedules: three in each chunk, one of which has new objects throughout."""

UNPICKLED = (
    "numpy's RandomState asks the system for a seed when it is unpickled, and throws it away"
)


class TestES(AggregatorContract):
    interleavings = FEWER
    scripted = 5

    @pytest.fixture
    def make(self):
        return lambda: ES(population=3)

    @pytest.fixture
    def domain(self):
        return lambda: ESDomain(dim=4)


class TestDelayed(AggregatorContract):
    interleavings = FEWER
    scripted = 5

    @pytest.fixture
    def make(self):
        return lambda: ES(
            population=3,
            optimizer="momentum",
            corrections="recentre,decay,rate",
            delay=Delay(share=0.4, by=2),
            cosine=True,
        )

    @pytest.fixture
    def domain(self):
        return lambda: ESDomain(dim=4)


class TestSamples(AggregatorContract):
    interleavings = FEWER
    scripted = 5

    @pytest.fixture
    def make(self):
        return lambda: ES(population=4, mirrored=False, optimizer="sgd", noise="sign32-v1")

    @pytest.fixture
    def domain(self):
        return lambda: ESDomain(dim=4)


class TestCma(AggregatorContract):
    options = MappingProxyType({"max_staleness": 1, "admit_ahead": 1})
    caches = ("_kept",)
    most_lines = 1_000_000  # what CMA-ES asks for is worked out in select after a restart
    interleavings = FEWER
    scripted = 5

    @pytest.fixture
    def make(self):
        pytest.importorskip("cma", reason="needs cma")
        return lambda: AskTell(driven=Cma(max_lag=1), population=6)

    @pytest.fixture
    def domain(self):
        return lambda: ESDomain(dim=4)

    def test_it_has_no_effect_but_its_requests(self):
        pytest.skip(UNPICKLED)

    def test_select_is_pure(self):
        pytest.skip(UNPICKLED)
