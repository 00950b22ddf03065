"""
Merging members that are good at different instances.

A member carries the numbers of the changes that made it.  A merge is the better member of a pair with
the changes that only the other one has, in the order in which they were found.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from math import fsum

import attrs

from headway_pareto._front import Member


@attrs.frozen(kw_only=True)
class Pair:
    """
    Two members that may be worth merging.

    Args:
        better: The one with the higher mean.
        other: The other one.
    """

    better: Member
    other: Member

    @property
    def key(self) -> tuple[int, ...]:
        """
        Names the merge: the numbers of all changes that it has.
        """
        return tuple(sorted({*self.better.changes, *self.other.changes}))

    @property
    def missing(self) -> tuple[int, ...]:
        """
        The changes of the other one that the better one lacks, rising.
        """
        return tuple(n for n in self.other.changes if n not in self.better.changes)

    @property
    def promise(self) -> float:
        """
        By how much the mean would rise if the merge were on each instance as good as the better there.
        """
        pairs = zip(self.better.scores, self.other.scores, strict=True)
        return fsum(max(0.0, b - a) for a, b in pairs) / len(self.better.scores)


def most_promising(members: Sequence[Member], tried: Collection[tuple[int, ...]]) -> Pair | None:
    """
    The pair whose merge promises most and is neither a member nor was tried; None when there is none.

    Args:
        members: The front.
        tried: The keys of merges that were tried.
    """
    known = {*tried, *(member.changes for member in members)}
    pairs: list[Pair] = []
    for one, other in combinations(members, 2):
        better, worse = (one, other) if one.mean >= other.mean else (other, one)
        pairs.append(Pair(better=better, other=worse))
    open_pairs = [pair for pair in pairs if pair.promise > 0 and pair.key not in known]
    return max(open_pairs, key=lambda pair: pair.promise, default=None)
