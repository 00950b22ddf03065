"""
The domains of this distribution do what every domain must.
"""

from __future__ import annotations

import pytest

from headway.testing.conformance import DomainContract
from headway_domains.inflect import Inflect
from headway_domains.router import Router


class TestInflect(DomainContract):
    rollouts = 3

    @pytest.fixture
    def make(self):
        return Inflect


class TestNoisyInflect(DomainContract):
    tries = 8
    rollouts = 2

    @pytest.fixture
    def make(self):
        return lambda: Inflect(noise=0.1, useless=0.1, harmful=0.1, interaction=0.5)


class TestRouter(DomainContract):
    @pytest.fixture
    def make(self):
        return Router


class TestSlowRouter(DomainContract):
    tries = 4
    rollouts = 4

    @pytest.fixture
    def make(self):
        return lambda: Router(latency="constant:0.001", noise=0.5, universe=3)
