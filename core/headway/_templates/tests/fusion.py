"""
The contract of its kind, and what only this one does.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway._templates.fusion import NewcomerFusion
from headway.contracts import Card
from headway.testing.conformance import FusionContract


class TestNewcomerFusion(FusionContract):
    """
    What every fusion must do.
    """

    @pytest.fixture
    def make(self) -> Callable[[], NewcomerFusion]:
        """
        A function that makes a new one.
        """
        return NewcomerFusion


def test_the_cards_that_helped_most_are_tried_together() -> None:
    """
    After every card alone; one that did not help is in no union.
    """
    cards = [
        Card(number=n, tickets=(n,), task="t", base=0, diff=n, digest=str(n), delta=delta)
        for n, delta in enumerate((0.1, 0.3, -0.2, 0.2))
    ]
    groups = NewcomerFusion(most=2).groups(cards, 0.5)

    assert [[0], [1], [2], [3], [1, 3]] == [[card.number for card in group] for group in groups]
