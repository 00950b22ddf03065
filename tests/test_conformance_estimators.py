"""
The built-in duration estimators do what every estimator must.
"""

from __future__ import annotations

import pytest

from headway.builtins._estimators import Ewma, Linear
from headway.testing.conformance import DurationEstimatorContract


class TestLinear(DurationEstimatorContract):
    @pytest.fixture
    def make(self):
        return Linear


class TestEwma(DurationEstimatorContract):
    @pytest.fixture
    def make(self):
        return Ewma
