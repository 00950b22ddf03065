"""
The domains of the core do what every domain must.
"""

from __future__ import annotations

import pytest

from headway import Program
from headway.testing import ToyDomain
from headway.testing.conformance import DomainContract

WORD = "headway"


class TestToy(DomainContract):
    @pytest.fixture
    def make(self):
        return ToyDomain


class TestNoisyToy(DomainContract):
    @pytest.fixture
    def make(self):
        return lambda: ToyDomain(noise=0.2, breaking=0.3)


def spelt(state, task):
    return 1.0 if f"Letter {task} is {WORD[task]}." in state else 0.0


def propose(state, task, output, reward, rng):
    return f"Letter {task} is {rng.choice([WORD[task], 'x'])}."


async def asked(state, task):
    return spelt(state, task)


class TestProgram(DomainContract):
    commutes = False  # rules stand in the order in which they came

    @pytest.fixture
    def make(self):
        return lambda: Program(range(7), lambda task, output: output, run=spelt, propose=propose)


class TestProgramThatAwaits(DomainContract):
    commutes = False

    @pytest.fixture
    def make(self):
        return lambda: Program(range(7), lambda task, output: output, run=asked, propose=propose)
