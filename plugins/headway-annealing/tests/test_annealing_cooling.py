"""
The temperature, and the rule of Metropolis.
"""

from __future__ import annotations

import math
import random

import pytest

from headway_annealing._cooling import Cooling, accepts


def test_the_temperature_halves_and_halves_again():
    """
    Every half-life.
    """
    cooling = Cooling(start=0.08, half_life=50)

    assert [0.08, 0.04, 0.02, 0.01] == [cooling.at(n) for n in (0, 50, 100, 150)]
    assert 0.0 == cooling.at(10**6)


@pytest.mark.parametrize("gain", [0.0, 0.001, 1.0])
def test_what_is_no_worse_is_always_accepted(gain):
    """
    Without a draw, also when it is cold.
    """
    rng = random.Random(0)
    before = rng.getstate()

    assert accepts(gain, 0.0, rng)
    assert before == rng.getstate()


def test_what_is_worse_is_accepted_as_often_as_the_rule_says():
    """
    4,000 draws at three temperatures; the bounds are five standard deviations away.
    """
    for temperature in (0.01, 0.02, 0.1):
        rng = random.Random(0)
        share = sum(accepts(-0.02, temperature, rng) for _ in range(4000)) / 4000
        wanted = math.exp(-0.02 / temperature)

        assert wanted == pytest.approx(share, abs=5 * math.sqrt(0.25 / 4000))


def test_nothing_worse_is_accepted_when_it_is_cold():
    """
    At zero, and where the chance is less than any number.
    """
    rng = random.Random(0)

    assert not any(accepts(-1e-9, 0.0, rng) for _ in range(100))
    assert not any(accepts(-1.0, 1e-300, rng) for _ in range(100))
