"""
What a commit says about itself in the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.contracts import Card


def commit_message(cards: Sequence[Card], *, reward: float | None, before: float | None) -> str:
    """
    A title, the mean held-out rewards as far as they are known, and a line for each card.

    Args:
        cards: What the commit is made of; none when a part is taken out.
        reward: The new state's reward.
        before: The head's.
    """
    numbers = ", ".join(str(card.number) for card in cards)
    title = f"Card{'s' if len(cards) > 1 else ''} {numbers}" if cards else "Without a part"
    lines = [_line(card) for card in cards]
    if reward is not None:
        was = "" if before is None else f", before {before:.6g}"
        lines.insert(0, f"Held-out reward {reward:.6g}{was}")
    return "\n".join([title, "", *lines]) if lines else title


def _line(card: Card) -> str:
    delta = "" if card.delta is None else f", {card.delta:+.6g} on it"
    return f"Card {card.number}: task {card.task}{delta}, eta {card.eta}"
