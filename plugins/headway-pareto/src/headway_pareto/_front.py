"""
The front: candidates that are the best on at least one instance, and how one of them is chosen.

Everything here is a pure function of frozen values.  An instance is a held-out task; a candidate's
score on it is the mean over the draws that were asked for.

Guarantees: no member of a pruned front is dominated by another, nor does one equal another on every
instance; the member with the best mean is always among them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import fsum
from typing import Any

import attrs

from headway.contracts import Artifact, Json


@attrs.frozen(kw_only=True)
class Member:
    """
    A candidate whose scores are known.

    Args:
        artifact: What it is.
        scores: Its score on each instance.
        changes: The numbers of the changes that made it, rising.
    """

    artifact: Artifact
    scores: tuple[float, ...]
    changes: tuple[int, ...] = ()

    @property
    def mean(self) -> float:
        """
        Its mean score.
        """
        return fsum(self.scores) / len(self.scores)

    @classmethod
    def from_json(cls, held: Any) -> Member:
        """
        The member that ``to_json`` wrote.
        """
        artifact, scores, changes = held
        return cls(artifact=artifact, scores=tuple(scores), changes=tuple(changes))

    def to_json(self) -> Json:
        """
        The member as a memory holds it.
        """
        return [self.artifact, list(self.scores), list(self.changes)]


def leads(members: Sequence[Member]) -> list[int]:
    """
    On how many instances each member is the best; all that tie for the best lead there.
    """
    best = [max(column) for column in zip(*(member.scores for member in members), strict=True)]
    return [
        sum(score == most for score, most in zip(member.scores, best, strict=True))
        for member in members
    ]


def dominates(one: Member, other: Member) -> bool:
    """
    Whether a member is nowhere worse than another one, and somewhere better.
    """
    pairs = list(zip(one.scores, other.scores, strict=True))
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def best_of(members: Sequence[Member]) -> Member:
    """
    The member with the highest mean score, the oldest of equal ones.
    """
    return max(members, key=lambda member: member.mean)


def pruned(members: Sequence[Member], size: int) -> tuple[Member, ...]:
    """
    The front of some members, oldest first, and at most ``size`` of it.

    Beside those that lead somewhere it holds the one with the best mean, which may lead nowhere.
    When there are too many, those that lead on the fewest instances go, the newest of them first.
    """
    best = best_of(members)
    front = [
        member
        for place, (member, led) in enumerate(zip(members, leads(members), strict=True))
        if member is best
        or (
            led
            and not any(dominates(other, member) for other in members)
            and all(other.scores != member.scores for other in members[:place])
        )
    ]
    while len(front) > size:
        led = leads(front)
        spare = [place for place, member in enumerate(front) if member is not best]
        del front[min(spare, key=lambda place: (led[place], -place))]
    return tuple(front)


def chosen(led: Sequence[int], rng: random.Random) -> int:
    """
    The place of a member, drawn in proportion to the number of instances on which it leads.

    Args:
        led: What ``leads`` says; at least one of them is above 0.
        rng: What draws.
    """
    return rng.choices(range(len(led)), weights=led)[0]
