"""
Which of several contradictory cards stays.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from math import fsum, isqrt

import attrs

from headway._checks import check_count
from headway.contracts import (
    Card,
    Measure,
    MeasureAll,
    Request,
    Resolved,
    Scores,
    StepContext,
    touch_common,
)


class BetterDelta:
    """
    Of cards that touch a common part of the artifact, the one with the larger own ``delta`` stays.

    It costs nothing, and holds the cards' deltas against each other though each is of another task.
    An unknown delta counts as none; on a tie the older card stays.
    """

    def resolve(self, cards: Sequence[Card], context: StepContext) -> Resolved:
        """
        The cards that can be merged together, and those that contradict a better one.
        """
        del context
        return _kept(cards, {})


@attrs.frozen(kw_only=True)
class SharedTasks:
    """
    Of cards that touch a common part of the artifact, the one that scores best on the same tasks stays.

    These are the tasks that the rivals were found on, all of them for each rival, with one draw.  They
    are training tasks: a card that was chosen on the held-out tasks would be tested on scores that it was
    chosen for.

    Only what may win is measured.  A card that did not help on its own task gives way to one that did,
    or that was not tried.  Of the rest the few with the largest deltas are compared, so few that
    it takes no more scores than one candidate's on the held-out tasks, or four where these are
    fewer.  Rivals that were tried on one and the same task have been compared there.  On a tie the
    larger delta, then the older card stays.  All that contradict each other are measured at once.

    Args:
        rivals: How many of the cards that contradict each other are measured at most.

    Raises:
        OptionError: the number is no whole one of at least 2.
    """

    rivals: int = 4

    def __attrs_post_init__(self) -> None:
        check_count("rivals", self.rivals, 2)

    def resolve(
        self, cards: Sequence[Card], context: StepContext
    ) -> Generator[Request, tuple[Scores, ...], Resolved]:
        """
        The cards that can be merged together, and those that contradict a better one.
        """
        if len(cards) == 1:
            return (cards[0],), ()
        most = min(self.rivals, max(2, isqrt(len(context.held_out))))
        circles = _circles([card for card in cards if _may_win(card)])
        rivals = [sorted(circle, key=_by_delta)[:most] for circle in circles]
        unsettled = [group for group in rivals if not _compared(group)]
        means: dict[int, float] = {}
        if unsettled:
            found = yield MeasureAll(_measure(group, context) for group in unsettled)
            for group, rows in zip(unsettled, found, strict=True):
                means |= {card.number: fsum(row) for card, row in zip(group, rows, strict=True)}
        return _kept(cards, means)


def _may_win(card: Card) -> bool:
    return card.delta is None or card.delta > 0


def _by_delta(card: Card) -> tuple[float, int]:
    return -(card.delta or 0.0), card.number


def _compared(rivals: Sequence[Card]) -> bool:
    """
    Whether their own trials have compared them.
    """
    return len(_tasks(rivals)) == 1 and all(card.delta is not None for card in rivals)


def _measure(rivals: Sequence[Card], context: StepContext) -> Measure:
    return Measure([context.apply(c.diff, onto=c.parent) for c in rivals], _tasks(rivals))


def _tasks(rivals: Sequence[Card]) -> list[str]:
    return sorted({card.task for card in rivals})


def _rank(card: Card, means: Mapping[int, float]) -> tuple[bool, float, bool, float, int]:
    mean = means.get(card.number)
    return (mean is None, -(mean or 0.0), not _may_win(card), *_by_delta(card))


def _circles(cards: Sequence[Card]) -> list[list[Card]]:
    """
    The cards that contradict another one, together with whom they contradict, directly or by others.
    """
    circles: list[list[Card]] = []
    for card in cards:
        met = [c for c in circles if any(touch_common(card.keys, other.keys) for other in c)]
        circles = [c for c in circles if c not in met]
        circles.append([*(other for c in met for other in c), card])
    return [circle for circle in circles if len(circle) > 1]


def _kept(cards: Sequence[Card], means: Mapping[int, float]) -> Resolved:
    """
    Take one card after the other that contradicts none before, the best first.

    Args:
        cards: All of them.
        means: How well those that were compared did, by their numbers; they come first, then those
            that may have won, by their deltas.
    """
    kept: list[Card] = []
    taken: set[str] = set()
    for card in sorted(cards, key=lambda c: _rank(c, means)):
        if not kept or not touch_common(card.keys, taken):
            kept.append(card)
            taken.update(card.keys)
    numbers = {card.number for card in kept}
    rest = tuple(card for card in cards if card.number not in numbers)
    return tuple(sorted(kept, key=lambda c: c.number)), rest
