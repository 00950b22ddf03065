"""
Advantages: how much better a member did than a baseline, and the batch's common factor.

A gradient is ``factor * sum over members of advantage * sum over unmasked units of grad log p``.  The
factor is one positive number for a whole batch (one over its tokens, say), so it can wait until the
optimizer's step; a baseline that depends on other groups cannot, because it changes each contribution by
a different amount.  ``needs_batch`` says which of the two a rule is.

A member whose segments are masked keeps its reward in the baseline; a member that was not scored has no
reward, stays out of the baseline and carries no weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import attrs

from headway.contracts import Structural
from headway_rl._checks import check_choice, check_number
from headway_rl._trajectories import Trajectory, TrajectoryGroup

Unit: TypeAlias = Literal["tokens", "sequences", "groups"]
UNITS: tuple[Unit, ...] = ("tokens", "sequences", "groups")
Rows: TypeAlias = tuple[tuple[float, ...], ...]


@attrs.frozen(kw_only=True)
class WeightedGroup:
    """
    A group as a trainer is given it.

    Args:
        group: The group.
        advantages: One a member, without the batch's common factor.
        oldest: Segments of an older version have no weight and stay as context; None masks none.
    """

    group: TrajectoryGroup
    advantages: tuple[float, ...]
    oldest: int | None = None

    @property
    def sequences(self) -> tuple[tuple[Trajectory, float], ...]:
        """
        The useful members with their advantages: those with a weight and at least one unmasked unit.
        """
        pairs = zip(self.group.members, self.advantages, strict=True)
        return tuple((t, a) for t, a in pairs if a and unmasked(t, self.oldest))

    @property
    def input_tokens(self) -> int:
        """
        What a forward pass over the useful members reads, masked units and all.
        """
        return sum(trajectory.input_tokens for trajectory, _ in self.sequences)

    @property
    def fully_masked(self) -> tuple[int, ...]:
        """
        The members all of whose segments are masked.
        """
        members = enumerate(self.group.members)
        return tuple(n for n, t in members if t.segments and not unmasked(t, self.oldest))


def unmasked(trajectory: Trajectory, oldest: int | None) -> int:
    """
    How many generated units of a trajectory are of a version that still has weight.
    """
    parts = trajectory.segments
    return sum(part.tokens for part in parts if oldest is None or part.version >= oldest)


def counted(groups: Iterable[TrajectoryGroup], unit: Unit, oldest: int | None = None) -> int:
    """
    What one divides by: unmasked tokens, sequences or groups of the scored members.
    """
    rows = [[unmasked(t, oldest) for t in group.members if t.scored] for group in groups]
    if unit == "tokens":
        return sum(map(sum, rows))
    if unit == "sequences":
        return sum(tokens > 0 for row in rows for tokens in row)
    return sum(any(row) for row in rows)


@runtime_checkable
class Advantages(Protocol, metaclass=Structural):
    """
    A rule that turns rewards into advantages; a frozen value.

    Attributes:
        needs_batch: Whether a group's advantages depend on other groups of its batch.
    """

    @property
    def needs_batch(self) -> bool:
        """
        Whether a group's advantages depend on other groups of its batch.
        """
        ...

    def of(self, groups: Sequence[TrajectoryGroup]) -> Rows:
        """
        The advantages of some groups, one row a group, one number a member.

        With ``needs_batch`` these must be all groups of the batch.
        """
        ...

    def factor(self, groups: Sequence[TrajectoryGroup], oldest: int | None) -> float:
        """
        The batch's common factor, a positive number, from all its groups; 0 when nothing has weight.
        """
        ...


def _check_unit(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    del instance
    check_choice(attribute.name, value, UNITS)


def _check_positive(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    del instance
    check_number(attribute.name, value, above=0.0)


@attrs.frozen(kw_only=True)
class Groupwise:
    """
    Reward minus the mean reward of the member's own group.

    A group all of whose rewards are equal has advantages of exactly 0, and no request is made for it.

    Args:
        scale: ``none``; ``group`` divides by the standard deviation of the group's rewards, plus
            ``epsilon``; ``batch`` by that of all centred rewards of the batch, which is one factor and
            can wait.
        per: What the gradient is divided by: ``tokens``, ``sequences`` or ``groups`` of the batch.
        epsilon: Keeps a division by a small deviation in bounds, in units of reward.

    Raises:
        OptionError: one of them is out of its range.
    """

    SCALES: ClassVar[tuple[str, ...]] = ("none", "group", "batch")

    scale: Literal["none", "group", "batch"] = "none"
    per: Unit = attrs.field(default="tokens", validator=_check_unit)
    epsilon: float = attrs.field(default=1e-6, validator=_check_positive)

    def __attrs_post_init__(self) -> None:
        check_choice("scale", self.scale, self.SCALES)

    @property
    def needs_batch(self) -> bool:
        """
        False: a group knows all that its own advantages depend on.
        """
        return False

    def of(self, groups: Sequence[TrajectoryGroup]) -> Rows:
        """
        The advantages of some groups, one row a group.
        """
        return tuple(map(self._row, groups))

    def _row(self, group: TrajectoryGroup) -> tuple[float, ...]:
        (row,) = centred([group.rewards])
        if self.scale != "group":
            return row
        deviation = _deviation(row, group.rewards) + self.epsilon
        return tuple(value / deviation for value in row)

    def factor(self, groups: Sequence[TrajectoryGroup], oldest: int | None) -> float:
        """
        One over what is counted, and over the batch's deviation where that was asked for.
        """
        factor = _one_over(counted(groups, self.per, oldest))
        if self.scale != "batch":
            return factor
        rows = [row for group in groups for row in centred([group.rewards])]
        return factor / (_deviation(_joined(rows), _rewards(groups)) + self.epsilon)


@attrs.frozen(kw_only=True)
class Batchwise:
    """
    Reward minus the mean reward of the whole batch; so nothing can begin before all of it is there.

    Args:
        scale: ``none``, or ``batch``: divide by the standard deviation of the batch's rewards.
        per: What the gradient is divided by: ``tokens``, ``sequences`` or ``groups`` of the batch.
        epsilon: Keeps a division by a small deviation in bounds, in units of reward.

    Raises:
        OptionError: one of them is out of its range.
    """

    SCALES: ClassVar[tuple[str, ...]] = ("none", "batch")

    scale: Literal["none", "batch"] = "none"
    per: Unit = attrs.field(default="tokens", validator=_check_unit)
    epsilon: float = attrs.field(default=1e-6, validator=_check_positive)

    def __attrs_post_init__(self) -> None:
        check_choice("scale", self.scale, self.SCALES)

    @property
    def needs_batch(self) -> bool:
        """
        True: the baseline is the mean of all rewards of the batch.
        """
        return True

    def of(self, groups: Sequence[TrajectoryGroup]) -> Rows:
        """
        The advantages of all groups of a batch, one row a group.
        """
        flat = iter(centred([_rewards(groups)])[0])
        return tuple(tuple(next(flat) for _ in group.members) for group in groups)

    def factor(self, groups: Sequence[TrajectoryGroup], oldest: int | None) -> float:
        """
        One over what is counted, and over the batch's deviation where that was asked for.
        """
        factor = _one_over(counted(groups, self.per, oldest))
        if self.scale == "none":
            return factor
        (row,) = centred([_rewards(groups)])
        return factor / (_deviation(row, _rewards(groups)) + self.epsilon)


def centred(rows: Iterable[Sequence[float | None]]) -> Rows:
    """
    Each row minus its mean; a missing reward is left out of the mean and becomes 0.

    The sums are exact before they are rounded, so the order of a row does not matter, and equal
    rewards give exactly 0.

    >>> centred([(0.1, 0.1, 0.1), (0.0, None, 1.0)])
    ((0.0, 0.0, 0.0), (-0.5, 0.0, 0.5))
    """
    return tuple(map(_centred, rows))


def _centred(row: Sequence[float | None]) -> tuple[float, ...]:
    known = [reward for reward in row if reward is not None]
    if not known or min(known) == max(known):
        return (0.0,) * len(row)
    mean = math.fsum(known) / len(known)
    return tuple(0.0 if reward is None else reward - mean for reward in row)


def _deviation(centred_row: Sequence[float], rewards: Sequence[float | None]) -> float:
    """
    The standard deviation of centred rewards, over the members that have one.
    """
    known = sum(reward is not None for reward in rewards)
    squares = math.fsum(value * value for value in centred_row)
    return math.sqrt(squares / known) if known else 0.0


def _rewards(groups: Iterable[TrajectoryGroup]) -> tuple[float | None, ...]:
    return tuple(reward for group in groups for reward in group.rewards)


def _joined(rows: Iterable[Sequence[float]]) -> tuple[float, ...]:
    return tuple(value for row in rows for value in row)


def _one_over(count: int) -> float:
    return 1.0 / count if count else 0.0


def weigh(
    groups: Sequence[TrajectoryGroup], advantages: Advantages, oldest: int | None = None
) -> tuple[WeightedGroup, ...]:
    """
    Groups with their advantages, as a trainer is given them.

    Args:
        groups: Some groups of a batch; all of them where the rule needs the batch.
        advantages: The rule.
        oldest: The oldest version whose segments have weight; None masks none.
    """
    return weighted_with(groups, advantages.of(groups), oldest)


def weighted_with(
    groups: Sequence[TrajectoryGroup], rows: Rows, oldest: int | None
) -> tuple[WeightedGroup, ...]:
    """
    Groups with advantages that are known; see ``weigh``.
    """
    return tuple(
        WeightedGroup(group=group, advantages=row, oldest=oldest)
        for group, row in zip(groups, rows, strict=True)
    )
