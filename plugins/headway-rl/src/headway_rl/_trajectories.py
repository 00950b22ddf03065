"""
What episodes give: segments, the trajectories made of them, and groups of trajectories.

All of it is frozen, and goes to JSON and back without loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

import attrs
import numpy as np

from headway.contracts import Json
from headway_rl._arrays import pack, unpack


def _ints(values: Iterable[int]) -> tuple[int, ...]:
    return tuple(values)


def _floats(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(values)


@attrs.frozen(kw_only=True)
class Segment:
    """
    What one sampling request gave.

    Args:
        version: The version of the weights that it was sampled with.
        actions: The tokens, or the one action, that were sampled.
        logprobs: Their log-probabilities under those weights, in nats, one for each.
        observation: What the policy was shown: a list of numbers for a small policy, tokens for a
            language model; a JSON value.
        context: Input tokens that the request read beside what it made; 0 where nobody counts.
        kv_version: The version that computed the oldest part of the cached prefix that it was sampled on;
            None where no part is older than ``version``.
    """

    version: int
    actions: tuple[int, ...] = attrs.field(converter=_ints)
    logprobs: tuple[float, ...] = attrs.field(converter=_floats)
    observation: Json = None
    context: int = 0
    kv_version: int | None = None

    @property
    def tokens(self) -> int:
        """
        How many tokens, or actions, were generated.
        """
        return len(self.actions)

    @property
    def prefix_version(self) -> int:
        """
        The version that computed the oldest part of what it was sampled on.
        """
        return self.version if self.kv_version is None else self.kv_version

    def age(self, version: int) -> int:
        """
        Commits between the weights that it was sampled with and a version.
        """
        return version - self.version


@attrs.frozen(kw_only=True)
class Trajectory:
    """
    One episode of one member.

    Args:
        segments: In the order in which they were sampled; their versions never fall.
        reward: The episode's reward.
        scored: False when the infrastructure failed: then there is no reward, good or bad.
        info: What the environment tells beside the reward; a JSON value.

    Raises:
        ValueError: the versions fall.
    """

    segments: tuple[Segment, ...]
    reward: float = 0.0
    scored: bool = True
    info: Json = None

    def __attrs_post_init__(self) -> None:
        versions = [segment.version for segment in self.segments]
        if versions != sorted(versions):
            message = f"the versions of a trajectory's segments never fall, but here are {versions}"
            raise ValueError(message)

    @property
    def tokens(self) -> int:
        """
        Tokens generated over all segments.
        """
        return sum(segment.tokens for segment in self.segments)

    @property
    def input_tokens(self) -> int:
        """
        Tokens that a forward pass reads: what was generated and what it was generated on.
        """
        return sum(segment.tokens + segment.context for segment in self.segments)

    @property
    def version(self) -> int | None:
        """
        The version of the first segment, which the bound is about; None without segments.
        """
        return self.segments[0].version if self.segments else None

    @property
    def refills(self) -> int:
        """
        How often, after weights had changed, the prefix was computed anew.
        """
        return sum(
            before.version < part.version and before.prefix_version < part.prefix_version
            for before, part in pairwise(self.segments)
        )

    def to_json(self) -> Json:
        """
        The trajectory as a JSON value: columns, not rows, since episodes are many.
        """
        parts = self.segments
        return {
            "reward": self.reward,
            "scored": self.scored,
            "info": self.info,
            "versions": [part.version for part in parts],
            "lengths": [part.tokens for part in parts],
            "actions": [action for part in parts for action in part.actions],
            "logprobs": pack(np.array([p for part in parts for p in part.logprobs], np.float64)),
            "observations": _packed([part.observation for part in parts]),
            "contexts": [part.context for part in parts] if any(p.context for p in parts) else None,
            "kv": None
            if all(p.kv_version is None for p in parts)
            else [p.kv_version for p in parts],
        }

    @classmethod
    def from_json(cls, value: Json, *, outline: bool = False) -> Trajectory:
        """
        What ``to_json`` made a value of.

        Args:
            value: That value.
            outline: Leaves out what was observed and the log-probabilities, as whoever only counts
                and weighs does; that is several times as quick.

        Raises:
            ValueError: the value is no trajectory.
        """
        try:
            segments = _outline(value) if outline else _segments(value)
            return cls(
                segments=segments,
                reward=float(value["reward"]),
                scored=bool(value["scored"]),
                info=value["info"],
            )
        except (KeyError, TypeError) as error:
            message = f"this is no trajectory: {type(error).__name__}: {error}"
            raise ValueError(message) from error


def _outline(value: Json) -> tuple[Segment, ...]:
    count = len(value["versions"])
    contexts = value["contexts"] or [0] * count
    ends = list(accumulate(value["lengths"], initial=0))
    actions = value["actions"]
    return tuple(
        Segment(
            version=value["versions"][n],
            actions=actions[ends[n] : ends[n + 1]],
            logprobs=(),
            context=contexts[n],
        )
        for n in range(count)
    )


def _segments(value: Json) -> tuple[Segment, ...]:
    logprobs = unpack(value["logprobs"]).tolist()
    observations = _unpacked(value["observations"])
    count = len(value["versions"])
    contexts = value["contexts"] or [0] * count
    caches = value["kv"] or [None] * count
    made: list[Segment] = []
    at = 0
    for place, length in enumerate(value["lengths"]):
        made.append(
            Segment(
                version=value["versions"][place],
                actions=value["actions"][at : at + length],
                logprobs=logprobs[at : at + length],
                observation=observations[place],
                context=contexts[place],
                kv_version=caches[place],
            )
        )
        at += length
    return tuple(made)


def _packed(observations: Sequence[Json]) -> Json:
    """
    Lists of numbers of one length as one array, anything else as it is.
    """
    if observations and all(map(_is_vector, observations)):
        lengths = {len(observation) for observation in observations}
        if len(lengths) == 1:
            return pack(np.array(observations, np.float64))
    return list(observations)


def _is_vector(observation: Json) -> bool:
    return isinstance(observation, list) and all(isinstance(x, float) for x in observation)  # pyright: ignore[reportUnknownVariableType] # JSON


def _unpacked(value: Json) -> list[Json]:
    return unpack(value).tolist() if isinstance(value, dict) else list(value)


@attrs.frozen(kw_only=True)
class TrajectoryGroup:
    """
    The members of one group: tried on one task, trained together.

    Args:
        number: The group's number in the order of admission.
        task: The task's id.
        members: Their trajectories, in member order.
    """

    number: int
    task: str
    members: tuple[Trajectory, ...]

    @property
    def tokens(self) -> int:
        """
        Tokens generated over all members.
        """
        return sum(member.tokens for member in self.members)

    def oldest(self, default: int) -> int:
        """
        The version of its oldest segment; the given one without segments.
        """
        firsts = (member.version for member in self.members)
        return min((first for first in firsts if first is not None), default=default)

    @property
    def rewards(self) -> tuple[float | None, ...]:
        """
        The members' rewards; None where there is none.
        """
        return tuple(member.reward if member.scored else None for member in self.members)
