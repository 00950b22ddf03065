"""
A conflict rule by which the newest proposal stays.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.contracts import Card, Resolved, StepContext, touch_common


class NewcomerConflict:
    """
    Of cards that touch a common part of the artifact, the one that knows the newest head stays.

    Of those that know the same head it is the last one that came in.
    """

    def resolve(self, cards: Sequence[Card], context: StepContext) -> Resolved:
        """
        Take cards from the newest to the oldest, each that contradicts none taken before.
        """
        del context
        kept: list[Card] = []
        for card in sorted(cards, key=lambda card: (card.base, card.number), reverse=True):
            if not any(touch_common(card.keys, other.keys) for other in kept):
                kept.append(card)
        stays = {card.number for card in kept}
        return (
            tuple(card for card in cards if card.number in stays),
            tuple(card for card in cards if card.number not in stays),
        )
