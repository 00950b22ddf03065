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
    Each new card alone, and the union of those that an earlier step carried.

    What was carried has helped, or may help, alone.  A card with a parent of its own is never
    merged with others: their union has no common ground.

    Args:
        tournament: Whether the members of the union are tried alone as well, against it.

    Raises:
        OptionError: it is neither true nor false.
    """

    tournament: bool = False

    def __attrs_post_init__(self) -> None:
        check_flag("tournament", self.tournament)

    def groups(self, cards: Sequence[Card]) -> tuple[tuple[Card, ...], ...]:
        """
        The groups, single cards first.
        """
        known = tuple(card for card in cards if card.carried and card.parent is None)
        if len(known) < 2:  # noqa: PLR2004 - a union takes two
            return tuple((card,) for card in cards)
        alone = cards if self.tournament else [card for card in cards if card not in known]
        return (*((card,) for card in alone), known)
