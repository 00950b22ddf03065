"""
The contract of its kind, and what only this one does.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway._templates.duration_estimator import NewcomerEstimator
from headway.testing.conformance import DurationEstimatorContract


class TestNewcomerEstimator(DurationEstimatorContract):
    """
    What every duration estimator must do.
    """

    @pytest.fixture
    def make(self) -> Callable[[], NewcomerEstimator]:
        """
        A function that makes a new one.
        """
        return NewcomerEstimator


def test_one_slow_call_misleads_nobody() -> None:
    """
    The median stays where most calls are; the highest quantile shows the slow one.
    """
    estimator = NewcomerEstimator()
    for seconds in (1.0, 1.0, 60.0, 1.0):
        estimator.observe(1.0, seconds)

    assert 1.0 == estimator.estimate(1.0)
    assert 60.0 == estimator.quantile(1.0, 1.0)
