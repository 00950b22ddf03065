"""
The contract of its kind, and what only this one does.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway._templates.acceptance import NewcomerAcceptance
from headway.contracts import TrialTerms
from headway.testing.conformance import AcceptanceContract


class TestNewcomerAcceptance(AcceptanceContract):
    """
    What every acceptance must do, at the level that it has by itself.
    """

    @pytest.fixture
    def make(self) -> Callable[[], NewcomerAcceptance]:
        """
        A function that makes a new one.
        """
        return NewcomerAcceptance


@pytest.mark.parametrize(("gain", "verdict"), [(0.5, "accept"), (0.1, "reject")])
def test_it_looks_once(gain: float, verdict: str) -> None:
    """
    Nothing is known before the last draw, and everything after it.
    """
    terms = TrialTerms(tasks=40, deterministic=False, step=1)
    trial = NewcomerAcceptance(max_draws=3).trial(terms)
    said = [trial.add([gain + 0.1, gain - 0.1] * 20) for _ in range(trial.cycles)]

    assert ["undecided", "undecided", verdict] == said
