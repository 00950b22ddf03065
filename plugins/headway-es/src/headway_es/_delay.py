"""
Controlled delay: a keyed share of each batch is held back and used so many updates later.

No clock is in it: which cards are held depends on the run's seed and the version alone, never on their
fitness or on how long they took.  It is for experiments on what staleness does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from attrs.validators import ge, gt, instance_of, lt

from headway.contracts import Json
from headway_es._evidence import Evidence
from headway_es._philox import philox

_KEY = 0xDE1A7
_SHARE: Any = [instance_of((int, float)), gt(0), lt(1)]


@attrs.frozen(kw_only=True)
class Delay:
    """
    Holds ``round(share * N)`` of a batch's cards and delivers them ``by`` updates later.

    The first ``by`` batches are so much smaller; what is held when the run ends is used by nobody.

    Args:
        share: The share that is held, above 0 and below 1.
        by: How many updates later they are used.

    Raises:
        TypeError: an option is of another type.
        ValueError: it is out of its range.
    """

    share: float = attrs.field(validator=_SHARE)
    by: int = attrs.field(validator=[instance_of(int), ge(1)])

    def split(
        self, cards: Sequence[Evidence], held: Sequence[Evidence], *, seed: int, version: int
    ) -> tuple[list[Evidence], list[Evidence]]:
        """
        The cards that the step at a version uses, and those that are held after it.

        Args:
            cards: The batch, in the order of their jobs.
            held: What was held before.
            seed: The run's seed.
            version: The version that the step begins at.
        """
        bits = philox(seed, _KEY, (0, version, 0, 0))
        order = np.random.Generator(bits).permutation(len(cards)).tolist()
        late = set(order[: round(self.share * len(cards))])
        due = [attrs.evolve(c, lag=version - c.base) for c in held if version - c.base >= self.by]
        waiting = [card for card in held if version - card.base < self.by]
        now = [card for i, card in enumerate(cards) if i not in late]
        return now + due, waiting + [card for i, card in enumerate(cards) if i in late]


def held_json(cards: Sequence[Evidence]) -> Json:
    """
    Cards as a JSON value.
    """
    return [attrs.asdict(card) | {"fitness": list(card.fitness)} for card in cards]


def held_cards(value: Json) -> list[Evidence]:
    """
    The cards that ``held_json`` wrote.
    """
    cards = (Evidence(**card) for card in value)
    return [attrs.evolve(card, fitness=tuple(card.fitness)) for card in cards]
