"""
The contest of one round: contenders are measured, cycle by cycle, until enough is known.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from math import inf
from typing import Any

import attrs

from headway.contracts import (
    Artifact,
    Card,
    Compare,
    Comparison,
    Measure,
    Removal,
    Request,
    Scores,
    StepContext,
    Trial,
)


@attrs.define(eq=False, kw_only=True)
class Contender:
    """
    A candidate and its trial.

    Args:
        group: The cards that it is made of; none for a removal.
        artifact: What would be committed.
        trial: What is known about it.
        removal: The part that it lacks.
        vetoed: Whether an audit refused it.
        place: 0 for the best of those that were only compared, 1 for the others.
    """

    group: tuple[Card, ...]
    artifact: Artifact
    trial: Trial
    removal: Removal | None = None
    vetoed: bool = False
    place: int = 0

    @property
    def accepted(self) -> bool:
        """
        Whether it is known to be good.
        """
        return self.trial.verdict == "accept" and not self.vetoed

    @property
    def undecided(self) -> bool:
        """
        Whether nothing is known about it.
        """
        return self.trial.verdict == "undecided"

    @property
    def exhausted(self) -> bool:
        """
        Whether it has had all its draws and nothing is known.
        """
        return self.undecided and self.trial.seen >= self.trial.cycles

    @property
    def failed_union(self) -> bool:
        """
        Whether it is made of several cards and was not shown to help: they are then tried alone.
        """
        return len(self.group) > 1 and (self.trial.verdict == "reject" or self.exhausted)

    @property
    def hopeful(self) -> bool:
        """
        Whether it may still turn out to help.
        """
        return self.accepted or (self.undecided and self.trial.mean > 0)

    @property
    def rank(self) -> tuple[int, float, int, int]:
        """
        The best first; on a tie fewer cards, then older ones.
        """
        oldest = self.group[0].number if self.group else -1
        return (self.place, -round(self.trial.mean, 12), len(self.group), oldest)


def contest(
    contenders: Sequence[Contender], head: Artifact, context: StepContext, first: int
) -> Generator[Request, Any, int]:
    """
    Measure contenders against the head until one made of cards is accepted, or all are decided.

    Draws are taken in the order (task, draw), by whole cycles, so that the verdicts do not depend on
    the order in which scores arrive.

    Args:
        contenders: Whose trials go on.
        head: What they are compared with.
        context: The step's.
        first: The first draw.

    Returns:
        How many draws of each task were seen.
    """
    seen = 0
    while going := [c for c in contenders if c.undecided and not c.exhausted]:
        if any(c.accepted and c.group for c in contenders):
            break
        draws = 1 if seen else max(c.trial.opening for c in going)
        candidates = (head, *(c.artifact for c in going))
        rows: Scores = yield Measure(candidates, context.held_out, draws, first + seen)
        for contender, row in zip(going, rows[1:], strict=True):
            _add(contender, differences(row, rows[0], context.reward_range), draws)
        seen += draws
    return seen


def comparable(contenders: Iterable[Contender], context: StepContext) -> bool:
    """
    Whether it is enough to find out who is better.
    """
    return context.deterministic and all(hasattr(c.trial, "told") for c in contenders)


def compare(
    contenders: Sequence[Contender], head: Artifact, context: StepContext
) -> Generator[Request, Any, None]:
    """
    Find out which contenders are better than the head, and which is best; nothing is measured that
    could not change that.

    A removal is looked at when no card helps: else its turn is over.

    Args:
        contenders: All of the step so far; ``comparable``.
        head: What they are compared with.
        context: The step's.
    """
    cards = [c for c in contenders if c.group and not c.vetoed]
    helping: tuple[int, ...] = ()
    if cards:
        found: Comparison = yield Compare(head, (c.artifact for c in cards), context.held_out)
        helping = found.better
        for number, contender in enumerate(cards):
            _tell(contender, number in helping)
            contender.place = int(number != found.best)
    for contender in contenders:
        if contender.removal is not None and contender.undecided and not helping:
            found = yield Compare(contender.artifact, (head,), context.held_out)
            _tell(contender, found.best is None)


def _tell(contender: Contender, better: bool) -> None:
    trial: Any = contender.trial  # which has ``told``, says ``comparable``
    trial.told(better)


def _add(contender: Contender, gains: Sequence[float], draws: int) -> None:
    for cycle in range(draws):
        if contender.undecided and not contender.exhausted:
            contender.trial.add(gains[cycle::draws])


def differences(
    after: Iterable[float], before: Iterable[float], reward_range: tuple[float, float]
) -> list[float]:
    """
    Pair by pair, in units of the reward range; of an unbounded one only the signs count.

    >>> differences([3.0, 1.0], [1.0, 1.0], (0.0, 4.0)), differences([9.0], [2.0], (0.0, inf))
    ([0.5, 0.0], [1.0])
    """
    width = reward_range[1] - reward_range[0]
    gains = (new - old for new, old in zip(after, before, strict=True))
    if width < inf:
        return [gain / width for gain in gains] if width else [0.0 for _ in gains]
    return [float((gain > 0) - (gain < 0)) for gain in gains]
