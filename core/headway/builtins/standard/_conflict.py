"""
Which of several contradictory cards stays.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.contracts import Card, touch_common


class BetterDelta:
    """
    Of cards that touch a common part of the artifact, the one with the larger own ``delta`` stays.

    An unknown delta counts as none; on a tie the older card stays.
    """

    def resolve(self, cards: Sequence[Card]) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
        """
        The cards that can be merged together, and those that contradict a better one.
        """
        kept: list[Card] = []
        taken: set[str] = set()
        for card in sorted(cards, key=lambda c: (-(c.delta or 0.0), c.number)):
            if not kept or not touch_common(card.keys, taken):
                kept.append(card)
                taken.update(card.keys)
        numbers = {card.number for card in kept}
        rest = tuple(card for card in cards if card.number not in numbers)
        return tuple(sorted(kept, key=lambda c: c.number)), rest
