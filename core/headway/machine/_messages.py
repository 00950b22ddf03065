"""
What a commit says about itself in the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.contracts import Card

_TITLE = 60
"""Characters of the parts' names in a title."""


def commit_message(
    cards: Sequence[Card],
    *,
    keys: Sequence[str] | None,
    reward: float | None,
    before: float | None,
) -> str:
    """
    A title, the mean held-out rewards as far as they are known, and a line for each card.

    Args:
        cards: What the commit is made of; none when a part is taken out.
        keys: Which parts a commit without cards takes out, where that is known.
        reward: The new state's reward.
        before: The head's.
    """
    numbers = ", ".join(str(card.number) for card in cards)
    title = f"Card{'s' if len(cards) > 1 else ''} {numbers}{_about(cards)}"
    if not cards:
        title = f"Take out {_shortened(keys or ('a part that does not help any more',))}"
    lines = [_line(card) for card in cards]
    if reward is not None:
        was = "" if before is None else f", before {before:.6g}"
        lines.insert(0, f"Held-out reward {reward:.6g}{was}")
    return "\n".join([title, "", *lines]) if lines else title


def _about(cards: Sequence[Card]) -> str:
    """
    Which parts cards change, where they say.
    """
    keys = sorted({key for card in cards for key in card.keys if key != "*"})
    return f": {_shortened(keys)}" if keys else ""


def _shortened(keys: Sequence[str]) -> str:
    text = " ".join(", ".join(keys).split())
    return text if len(text) <= _TITLE else f"{text[:_TITLE]} ..."


def _line(card: Card) -> str:
    delta = "" if card.delta is None else f", {card.delta:+.6g} on it"
    return f"Card {card.number}: task {card.task}{delta}, eta {card.eta}"
