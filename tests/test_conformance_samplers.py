"""
The built-in samplers do what every sampler must.
"""

from __future__ import annotations

import pytest

from headway.builtins._rounds import DataParallel, Ensemble
from headway.builtins._sampler import ShuffledEpochs, UnsolvedEpochs
from headway.testing.conformance import SamplerContract


class TestShuffled(SamplerContract):
    laps = 2  # an epoch, from wherever one begins to look

    @pytest.fixture
    def make(self):
        return ShuffledEpochs


class TestUnsolved(SamplerContract):
    laps = 2

    @pytest.fixture
    def make(self):
        return UnsolvedEpochs


class TestData(SamplerContract):
    laps = 1

    @pytest.fixture
    def make(self):
        return DataParallel


class TestEnsemble(SamplerContract):
    @pytest.fixture
    def make(self):
        return Ensemble
