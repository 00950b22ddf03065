"""
The standard aggregator: merges what helps and does not conflict.

A step resolves conflicts, measures each card alone and the union of all against the head, on the
same held-out tasks and draws, and commits the best of them that is better than the head.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist, fmean, variance

import attrs

from headway._checks import check_count, check_number
from headway.contracts import (
    Artifact,
    Card,
    Commit,
    Consume,
    Measure,
    Step,
    StepContext,
    touch_common,
)


def conflict_free(cards: Sequence[Card]) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
    """
    Split cards into those that can be merged together and those that contradict a better one.

    Two cards contradict when they touch a common part of the artifact (``touch_common``).  The one
    with the larger own ``delta`` stays, on a tie the older one.
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


def better(candidate: Sequence[float], head: Sequence[float], level: float | None) -> bool:
    """
    Whether a candidate beats the head on the same tasks and draws; a tie never does.

    Args:
        candidate: The candidate's scores.
        head: The head's scores, in the same order.
        level: None when scores are deterministic: any gain counts.  Else the one-sided level of a
            paired t-like test with the normal quantile, per decision.
    """
    gains = [after - before for after, before in zip(candidate, head, strict=True)]
    mean = fmean(gains)
    if level is None or mean <= 0 or len(gains) < 2:  # noqa: PLR2004 - a variance needs two
        return level is None and mean > 0
    spread = sqrt(variance(gains) / len(gains))
    return mean > NormalDist().inv_cdf(1 - level) * spread


@attrs.define(eq=False, kw_only=True)
class StandardAggregator:
    """
    Commits the best conflict-free union that is measured to be better than the head.

    Args:
        batch: How many new cards make a step worth while.
        max_steps: How many steps may be open at once, 1 to 3.
        draws: Draws of each held-out task when rewards are not deterministic.
        accept_level: One-sided level of each acceptance when rewards are not deterministic.

    Raises:
        OptionError: a count is no whole number or out of its range, or the level not within (0, 1).
    """

    batch: int = 1
    max_steps: int = 2
    draws: int = 4
    accept_level: float = 0.05

    def __attrs_post_init__(self) -> None:
        check_count("batch", self.batch, 1)
        check_count("max_steps", self.max_steps, 1, 3)
        check_count("draws", self.draws, 1)
        check_number("accept_level", self.accept_level, above=0, below=1)

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Merge what helps.
        """
        kept, clashing = conflict_free(cards)
        if clashing:
            yield Consume(clashing, "conflict")
        singles = [context.apply(card.diff, onto=card.parent) for card in kept]
        same = [
            c for c, single in zip(kept, singles, strict=True) if single == context.head.artifact
        ]
        if same:
            yield Consume(same, "duplicate")
            singles = [s for s in singles if s != context.head.artifact]
            kept = tuple(card for card in kept if card not in same)
        if kept:
            yield from self._merge(kept, singles, context)

    def _merge(
        self, cards: Sequence[Card], singles: Sequence[Artifact], context: StepContext
    ) -> Step:
        draws = 1 if context.deterministic else self.draws
        level = None if context.deterministic else self.accept_level
        head = context.head.artifact
        scores = yield Measure((head, *singles), context.held_out, draws)
        base = scores[0]
        ranked = sorted(
            (
                (-fmean(row), card.number, card, single, row)
                for card, single, row in zip(cards, singles, scores[1:], strict=True)
                if better(row, base, level)
            ),
            key=lambda entry: entry[:2],
        )
        if not ranked:
            return
        helping = sorted((entry[2] for entry in ranked), key=lambda c: c.number)
        _, _, best_card, best, best_row = ranked[0]
        winners: Sequence[Card] = (best_card,)
        if len(helping) > 1 and all(card.parent is None for card in helping):
            union = context.apply(*(card.diff for card in helping))
            row = (yield Measure((union,), context.held_out, draws))[0]
            if fmean(row) > fmean(best_row) and better(row, base, level):
                winners, best = helping, union
        yield Commit(best, winners)
