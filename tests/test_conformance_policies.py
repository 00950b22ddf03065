"""
The built-in staleness policies do what every policy must.
"""

from __future__ import annotations

import pytest

from headway.builtins._policies import Full, Guarded, Reflective
from headway.testing.conformance import StalenessPolicyContract


class TestFull(StalenessPolicyContract):
    @pytest.fixture
    def make(self):
        return Full


class TestGuarded(StalenessPolicyContract):
    @pytest.fixture
    def make(self):
        return Guarded


class TestReflective(StalenessPolicyContract):
    @pytest.fixture
    def make(self):
        return Reflective
