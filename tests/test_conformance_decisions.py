"""
The built-in decisions do what every conflict, fusion, acceptance and promotion rule must.
"""

from __future__ import annotations

import pytest

from headway.builtins.standard import BetterDelta, Confirmed, Sequential, SharedTasks, Union
from headway.testing.conformance import (
    AcceptanceContract,
    ConflictContract,
    FusionContract,
    PromotionContract,
)


class TestBetterDelta(ConflictContract):
    @pytest.fixture
    def make(self):
        return BetterDelta


class TestSharedTasks(ConflictContract):
    @pytest.fixture
    def make(self):
        return SharedTasks


class TestUnion(FusionContract):
    @pytest.fixture
    def make(self):
        return Union


class TestTournament(FusionContract):
    @pytest.fixture
    def make(self):
        return lambda: Union(tournament=True)


class TestSequential(AcceptanceContract):
    @pytest.fixture
    def make(self):
        return Sequential


class TestConfirmed(PromotionContract):
    @pytest.fixture
    def make(self):
        return Confirmed
