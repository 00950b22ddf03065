"""
A fusion that tries every card alone and the most promising ones together.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.contracts import Card
from headway.errors import OptionError


class NewcomerFusion:
    """
    Every card alone, and one union of the ``most`` cards that helped most on their own tasks.

    Only cards that were seen to help are merged, and none that was made against a parent of its
    own: their union has no common ground.

    Args:
        most: How many cards the union has at most.

    Raises:
        OptionError: it is below 2.
    """

    def __init__(self, most: int = 4) -> None:
        if most < 2:
            raise OptionError("most", most, "Give a whole number of at least 2.")
        self.most: int = most

    def groups(self, cards: Sequence[Card], chance: float) -> tuple[tuple[Card, ...], ...]:
        """
        The groups to measure, single cards first.
        """
        del chance  # for a fusion that tries unions only while they mostly help
        helped = [card for card in cards if card.parent is None and (card.delta or 0) > 0]
        best = sorted(helped, key=lambda card: card.delta or 0, reverse=True)[: self.most]
        alone = tuple((card,) for card in cards)
        if len(best) < 2:
            return alone
        return (*alone, tuple(sorted(best, key=lambda card: card.number)))
