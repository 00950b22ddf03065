"""
The contract of its kind, and what only this one does.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway._templates.staleness_policy import NewcomerPolicy
from headway.testing.conformance import StalenessPolicyContract


class TestNewcomerPolicy(StalenessPolicyContract):
    """
    What every staleness policy must do.
    """

    @pytest.fixture
    def make(self) -> Callable[[], NewcomerPolicy]:
        """
        A function that makes a new one.
        """
        return NewcomerPolicy


def test_its_patience_has_an_end() -> None:
    """
    With a lag budget of 2 it rebases up to 4 commits, and nothing that breaks a contract.
    """
    policy = NewcomerPolicy(patience=2)
    verdicts = [policy.decide(eta, 2, False) for eta in (0, 1, 4, 5)]

    assert ["accept", "rebase", "rebase", "discard"] == verdicts
    assert "discard" == policy.decide(1, 2, True)
