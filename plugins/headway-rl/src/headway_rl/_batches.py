"""
What a batch was made of, in numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from headway_rl._advantages import WeightedGroup
from headway_rl._trajectories import Trajectory, TrajectoryGroup


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
    A batch that was trained on.

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
        updated: Whether the weights were moved.
        rebuilt: Whether the gradient had to be made anew.
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
    updated: bool = True
    rebuilt: bool = False

    @classmethod
    def of(
        cls,
        groups: Sequence[WeightedGroup],
        version: int,
        trained: Mapping[str, float],
        *,
        updated: bool = True,
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
            oldest=tuple(_oldest(group.group, version) for group in groups),
            useful=sum(len(group.sequences) for group in groups),
            fully_masked=sum(len(group.fully_masked) for group in groups),
            trained=trained,
            updated=updated,
            rebuilt=rebuilt,
        )


def _oldest(group: TrajectoryGroup, version: int) -> int:
    firsts = (member.version for member in group.members)
    return min((first for first in firsts if first is not None), default=version)


def _spans(member: Trajectory, version: int, oldest: int | None) -> list[Span]:
    return [
        Span(
            age=part.age(version),
            tokens=part.tokens,
            masked=oldest is not None and part.version < oldest,
        )
        for part in member.segments
    ]
