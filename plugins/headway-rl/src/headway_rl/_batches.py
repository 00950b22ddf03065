"""
What a batch was made of, in numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

import attrs

from headway_rl._advantages import WeightedGroup
from headway_rl._trajectories import Trajectory

Item = TypeVar("Item")


@attrs.frozen(kw_only=True)
class Span:
    """
    A segment of a batch.

    Args:
        age: Updates between the weights that it was sampled with and those that it trains.
        tokens: What was generated.
        masked: Whether it has no weight.
    """

    age: int
    tokens: int
    masked: bool = False


@attrs.frozen(kw_only=True)
class Batch:
    """
    A batch that was trained on, or the part of one that an update was made of.

    Args:
        groups: The numbers of its groups.
        spans: Its segments.
        rewards: Its scored members' rewards.
        tokens: What each group has generated.
        version: The version that it trains.
        oldest: The oldest version of each group's segments; empty where nobody knows.
        useful: Members with a weight.
        fully_masked: Members all of whose segments are masked.
        trained: What the trainer told, by name.
        updated: How often the weights were moved.
        rebuilt: Whether the gradient had to be made anew.
        kv_ages: How many versions behind the weights that sampled the prefix of each segment was that had
            one of other weights.
        refills: How often a prefix was computed anew since weights had changed.
    """

    groups: tuple[int, ...]
    spans: tuple[Span, ...]
    rewards: tuple[float, ...]
    tokens: tuple[int, ...] = ()
    version: int = 0
    oldest: tuple[int, ...] = ()
    useful: int = 0
    fully_masked: int = 0
    trained: Mapping[str, float] = attrs.field(factory=dict[str, float])
    updated: int = 1
    rebuilt: bool = False
    kv_ages: tuple[int, ...] = ()
    refills: int = 0

    @classmethod
    def joined(cls, parts: Sequence[Batch]) -> Batch:
        """
        The parts of a batch as one, at the version of the last; of what the trainer told it has the mean
        over those of which it was told.

        Args:
            parts: At least one.
        """
        names = {name: None for part in parts for name in part.trained}
        told = {
            name: [part.trained[name] for part in parts if name in part.trained] for name in names
        }
        return cls(
            groups=_chained(part.groups for part in parts),
            spans=_chained(part.spans for part in parts),
            rewards=_chained(part.rewards for part in parts),
            tokens=_chained(part.tokens for part in parts),
            version=parts[-1].version,
            oldest=_chained(part.oldest for part in parts),
            useful=sum(part.useful for part in parts),
            fully_masked=sum(part.fully_masked for part in parts),
            trained={name: math.fsum(values) / len(values) for name, values in told.items()},
            updated=sum(part.updated for part in parts),
            rebuilt=any(part.rebuilt for part in parts),
            kv_ages=_chained(part.kv_ages for part in parts),
            refills=sum(part.refills for part in parts),
        )

    @classmethod
    def of(
        cls,
        groups: Sequence[WeightedGroup],
        version: int,
        trained: Mapping[str, float],
        *,
        updated: int = 1,
        rebuilt: bool = False,
    ) -> Batch:
        """
        The numbers of a batch that trains at a version.
        """
        return cls(
            groups=tuple(group.group.number for group in groups),
            spans=tuple(
                span
                for group in groups
                for member in group.group.members
                for span in _spans(member, version, group.oldest)
            ),
            rewards=tuple(r for g in groups for r in g.group.rewards if r is not None),
            tokens=tuple(group.group.tokens for group in groups),
            version=version,
            oldest=tuple(group.group.oldest(version) for group in groups),
            useful=sum(len(group.sequences) for group in groups),
            fully_masked=sum(len(group.fully_masked) for group in groups),
            trained=trained,
            updated=updated,
            rebuilt=rebuilt,
            kv_ages=tuple(
                part.version - part.kv_version
                for group in groups
                for member in group.group.members
                for part in member.segments
                if part.kv_version is not None
            ),
            refills=sum(member.refills for group in groups for member in group.group.members),
        )


def _chained(rows: Iterable[tuple[Item, ...]]) -> tuple[Item, ...]:
    return tuple(chain.from_iterable(rows))


def _spans(member: Trajectory, version: int, oldest: int | None) -> list[Span]:
    return [
        Span(
            age=part.age(version),
            tokens=part.tokens,
            masked=oldest is not None and part.version < oldest,
        )
        for part in member.segments
    ]
