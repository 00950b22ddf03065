"""
Which cards are tried together.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from headway._checks import check_flag
from headway.contracts import Card


@attrs.frozen(kw_only=True)
class Union:
    """
    The union of all cards that may help when that is cheaper; else each new card alone, and the union
    of those that an earlier step carried, which have helped, or may help, alone.

    Trying n cards alone takes n candidates.  Trying their union first takes 1, and n more when it does
    not help: that is cheaper while the chance that it helps is above 1 / n.  So a card may be committed
    that was never tried alone; at least one of such a union was seen to help on its own task, and none
    was seen not to.  A card with a parent of its own is never merged with others: their union has no
    common ground.

    Args:
        tournament: Whether all cards are tried alone as well, so that the union must beat each of them.

    Raises:
        OptionError: it is neither true nor false.
    """

    tournament: bool = False

    def __attrs_post_init__(self) -> None:
        check_flag("tournament", self.tournament)

    def groups(self, cards: Sequence[Card], chance: float) -> tuple[tuple[Card, ...], ...]:
        """
        The groups, single cards first.
        """
        if len(cards) == 1:
            return (tuple(cards),)
        mergeable = tuple(card for card in cards if card.parent is None)
        union = tuple(card for card in mergeable if card.delta is None or card.delta > 0)
        if len(union) * chance <= 1 or not any(card.delta for card in union):
            union = tuple(card for card in mergeable if card.carried)
        if len(union) < 2:  # noqa: PLR2004 - a union takes two
            return tuple((card,) for card in cards)
        alone = cards if self.tournament else [card for card in cards if card not in union]
        return (*((card,) for card in alone), union)
