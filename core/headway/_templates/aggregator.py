"""
An aggregator that tries every card alone and commits the best one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev

from headway.contracts import Card, Commit, Compare, Comparison, Measure, Scores, Step, StepContext
from headway.errors import OptionError


class NewcomerAggregator:
    """
    Commits the card of a step that raises the held-out mean most; the others count as worse.

    Where rewards are noisy, a card must beat the head by two standard errors of their difference.

    Args:
        batch_size: How many new cards make a step worth while.
        draws: How often a candidate is scored on each held-out task when rewards are noisy.

    Raises:
        OptionError: one of them is below 1.
    """

    def __init__(self, batch_size: int = 1, draws: int = 8) -> None:
        for option, value in {"batch_size": batch_size, "draws": draws}.items():
            if value < 1:
                raise OptionError(option, value, "Give a whole number of at least 1.")
        # One that needs no proposals, such as an evolution strategy, also has learns_from = "outcomes".
        self.batch: int = batch_size
        self.draws: int = draws

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Score every card's candidate and the head on the same tasks, and commit the best.
        """
        candidates = [context.apply(card.diff, onto=card.parent) for card in cards]
        if context.deterministic:
            found: Comparison = yield Compare(context.head, candidates, context.held_out)
            best = found.best
        else:
            # Fresh draws in every step: a head that was lucky once would stay lucky on the old ones.
            first = context.step * self.draws
            rows: Scores = yield Measure(
                (context.head, *candidates), context.held_out, self.draws, first
            )
            best = clearly_best(rows)
        if best is not None:
            yield Commit(candidates[best], [cards[best]])


def clearly_best(rows: Scores) -> int | None:
    """
    The candidate whose gain is largest, if that is no accident; None when all may be.

    Args:
        rows: The head's scores first, then each candidate's, in the same order of tasks and draws.
    """
    head, *candidates = rows
    gains = [[new - old for new, old in zip(row, head, strict=True)] for row in candidates]
    best = max(range(len(gains)), key=lambda number: fmean(gains[number]))
    return best if fmean(gains[best]) > 2 * _standard_error(gains[best]) else None


def _standard_error(gains: Sequence[float]) -> float:
    return stdev(gains) / sqrt(len(gains)) if len(gains) > 1 else 0.0
