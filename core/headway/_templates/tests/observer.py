"""
The contract of its kind, and what only this one does.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway._templates.observer import NewcomerObserver
from headway.contracts import CardDecided, Decision, DecisionKind, RunFinished
from headway.testing.conformance import ObserverContract


class TestNewcomerObserver(ObserverContract):
    """
    What every observer must do.
    """

    @pytest.fixture
    def make(self) -> Callable[[], NewcomerObserver]:
        """
        A function that makes a new one.
        """
        return NewcomerObserver


def test_the_line_says_what_became_of_the_cards(capsys: pytest.CaptureFixture[str]) -> None:
    """
    The largest count first, on standard error, since standard output is the result's.
    """
    observer = NewcomerObserver()
    for number, reason in enumerate(("worse", "", "worse")):
        kind: DecisionKind = "discarded" if reason else "committed"
        decision = Decision(card=number, kind=kind, reason=reason, version=0)
        observer(CardDecided(now=1.0, decision=decision, eta=0))
    observer(RunFinished(now=2.0, stop_reason="target", version=1, digest=""))

    assert ("", "cards: 2 worse, 1 committed\n") == capsys.readouterr()
