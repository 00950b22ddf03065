"""
The contract of its kind, and what only this one does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headway._templates.conflict import NewcomerConflict
from headway.contracts import Card
from headway.testing.conformance import ConflictContract


class TestNewcomerConflict(ConflictContract):
    """
    What every conflict rule must do.
    """

    @pytest.fixture
    def make(self) -> Callable[[], NewcomerConflict]:
        """
        A function that makes a new one.
        """
        return NewcomerConflict


def test_the_newest_of_rivals_stays() -> None:
    """
    Cards that touch nothing in common stay together.
    """

    def card(number: int, base: int, *keys: str) -> Card:
        return Card(
            number=number, tickets=(number,), task="t", base=base, diff=0, digest="", keys=keys
        )

    older, newer, other = card(0, 1, "a"), card(1, 2, "a", "b"), card(2, 0, "c")
    context: Any = None  # it looks at nothing but the cards

    assert ((newer, other), (older,)) == NewcomerConflict().resolve([older, newer, other], context)
