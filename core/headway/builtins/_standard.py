"""
The standard aggregator: merges what helps and does not conflict.

A step resolves conflicts and measures, all at once and against the head on the same held-out tasks
and draws: each new card alone, and the union of those that helped before.  It commits the best of
them that is better than the head, and carries the other cards that help over to the next step, which
merges them.  So a step takes one measurement's time, and what does not help is measured once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import NormalDist, fmean, variance
from typing import TypeAlias

import attrs

from headway._checks import check_count, check_number
from headway.contracts import (
    Artifact,
    Card,
    Carry,
    Commit,
    Consume,
    Measure,
    Scores,
    Snapshot,
    Step,
    StepContext,
    touch_common,
)

Group: TypeAlias = tuple[Card, ...]
"""Cards that are measured, and committed, together."""


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
    max_steps: int = 1
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
        head = context.head.artifact
        same = [card for card in kept if _merged((card,), head, context) == head]
        if same:
            yield Consume(same, "duplicate")
            kept = tuple(card for card in kept if card not in same)
        yield from self._merge(kept, context)

    def _merge(self, cards: Sequence[Card], context: StepContext) -> Step:
        draws = 1 if context.deterministic else self.draws
        level = None if context.deterministic else self.accept_level
        head: Artifact = context.head.artifact
        groups: list[Group] = _groups(cards)
        while groups:
            candidates = [_merged(group, head, context) for group in groups]
            scores: Scores = yield Measure((head, *candidates), context.held_out, draws)
            rows = list(zip(groups, candidates, scores[1:], strict=True))
            helping = [row for row in rows if better(row[2], scores[0], level)]
            last = groups[-1]
            if len(last) > 1 and rows[-1] not in helping:
                groups = [*groups[:-1], *_alone(last)]  # what is known by now costs nothing again
                continue
            if not helping:
                return
            winners, best, _ = min(helping, key=_rank)
            late = [card for group, *_ in helping for card in group if card not in winners]
            if late and not context.quiet:
                yield Carry(late)
            published: Snapshot = yield Commit(best, winners)
            head = published.artifact
            groups = _alone(late) if context.quiet else []  # the last step is the last chance


def _rank(measured: tuple[Group, Artifact, tuple[float, ...]]) -> tuple[float, int, int]:
    """
    The best first; on a tie fewer cards, then older ones.
    """
    group, _, row = measured
    return (-fmean(row), len(group), group[0].number)


def _groups(cards: Sequence[Card]) -> list[Group]:
    """
    What is measured: each new card alone; those that were carried have helped alone, so together.
    """
    known = tuple(card for card in cards if card.carried and card.parent is None)
    if len(known) < 2:  # noqa: PLR2004 - a union takes two
        return _alone(cards)
    return [*_alone(card for card in cards if card not in known), known]


def _alone(cards: Iterable[Card]) -> list[Group]:
    return [(card,) for card in cards]


def _merged(group: Sequence[Card], head: Artifact, context: StepContext) -> Artifact:
    return context.apply(*(card.diff for card in group), onto=group[0].parent or head)
