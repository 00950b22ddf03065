"""
The built-in staleness policies do what every policy must.
"""

from __future__ import annotations

import pytest

from headway.builtins._policies import (
    Drop,
    Full,
    Guarded,
    Mask,
    Reflective,
    Soft,
    Wait,
    Window,
)
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


class TestWait(StalenessPolicyContract):
    @pytest.fixture
    def make(self):
        return Wait


class TestDrop(StalenessPolicyContract):
    @pytest.fixture
    def make(self):
        return Drop


class TestMask(StalenessPolicyContract):
    @pytest.fixture
    def make(self):
        return Mask


class TestSoft(StalenessPolicyContract):
    @pytest.fixture
    def make(self):
        return Soft


class TestWindow(StalenessPolicyContract):
    @pytest.fixture
    def make(self):
        return lambda: Window(4)
