"""
The best-of-N control: independent samples at equal budget.

Every ticket works on the first head, so no sample knows of another one, and the best sample that was
measured is committed.  What a search does better than this, it owes to building on what it found.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import ClassVar

import attrs

from headway._checks import check_count
from headway.contracts import (
    Artifact,
    Card,
    Commit,
    Compare,
    Comparison,
    Json,
    Measure,
    Scores,
    Snapshot,
    Step,
    StepContext,
    Ticket,
    Work,
)


@attrs.define(eq=False, kw_only=True)
class BestOfN:
    """
    Commits the best single proposal to the first head; nothing is built on anything.

    A sample is measured on the held-out tasks beside the best one so far, over the same draws, and
    takes its place when its mean is higher; on a tie the older one stays.  When rewards are not
    deterministic the best of many means is optimistic: the run's final score, on fresh draws, is
    the one to believe.

    Its memory is ``{"seed": state}`` from the first commit on.  A sample does not age, so it brings the
    staleness policy ``full``; the others discard it once more than ``alpha`` samples were committed
    after it began.  Whether a sample helps its own task is nothing that it asks.

    Args:
        batch: How many samples make a step worth while.
        max_steps: How many steps may be open at once, 1 to 3.
        draws: Draws of each held-out task when rewards are not deterministic.

    Raises:
        OptionError: a count is no whole number or out of its range.
    """

    defaults: ClassVar[Mapping[str, Json]] = {"policy": "full", "self_verify": False}

    batch: int = 1
    max_steps: int = 3
    draws: int = 4

    def __attrs_post_init__(self) -> None:
        check_count("batch", self.batch, 1)
        check_count("max_steps", self.max_steps, 1, 3)
        check_count("draws", self.draws, 1)

    def select(self, ticket: Ticket, head: Snapshot, memory: Json, rng: random.Random) -> Work:
        """
        Always the first head, which nothing has replaced while there is no memory.
        """
        return Work(parent=head.artifact if memory is None else Artifact(memory["seed"]))

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Measure the samples, and commit the best of them if it is better than the best so far.
        """
        head = context.head.artifact
        samples = [context.apply(card.diff, onto=card.parent) for card in cards]
        if context.deterministic:
            found: Comparison = yield Compare(head, samples, context.held_out)
            best = found.best
        else:
            rows: Scores = yield Measure((head, *samples), context.held_out, self.draws)
            best = _best([fmean(row) for row in rows])
        if best is not None:
            card = cards[best]
            yield Commit(samples[best], [card], memory=context.memory or _seed(card, context))


def _best(means: Sequence[float]) -> int | None:
    """
    The first sample of the highest mean, if that is above the head's, which stands before them.
    """
    best = max(range(len(means)), key=means.__getitem__)
    return best - 1 if best else None


def _seed(card: Card, context: StepContext) -> Json:
    parent = context.head.artifact if card.parent is None else card.parent
    return {"seed": parent.value}
