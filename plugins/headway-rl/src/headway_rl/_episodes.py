"""
Plays an episode: the policy samples, the environment answers, until it says that it is over.
"""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

from headway.contracts import Json
from headway.errors import ContractError, shown
from headway_rl._asking import Ask, Asks
from headway_rl._trainer import Policy, Sample
from headway_rl._trajectories import Segment, Trajectory

Turn: TypeAlias = tuple[Json, float, bool, Json]
"""What a step of an environment gives: observation, reward, whether it is over, and what else it tells."""


@runtime_checkable
class Environment(Protocol):
    """
    One episode's world: tools, tests, rewards.  Its methods may be ``async def``.

    An environment is used by one episode at a time and is begun anew by ``reset``.
    """

    def reset(self, task: Json, rng: random.Random) -> Json | Awaitable[Json]:
        """
        Begin an episode; returns the first observation, a JSON value.

        Args:
            task: What is to be done.
            rng: The episode's only source of chance.
        """
        ...

    def step(self, action: Json) -> Turn | Awaitable[Turn]:
        """
        Do what was sampled; returns observation, reward, whether the episode is over, and a JSON value.
        """
        ...


def play(
    environment: Environment, task: Json, policy: Policy, rng: random.Random, max_turns: int | None
) -> Asks[Trajectory]:
    """
    The loop of an episode; the reward is the sum over its turns.

    Args:
        environment: The world.
        task: What is to be done.
        policy: What samples.
        rng: The source of chance of both.
        max_turns: Sampling requests after which it is over anyway; None leaves that to the environment.

    Raises:
        ContractError: a part gave something else than it should.
    """
    observation = yield Ask(partial(environment.reset, task, rng))
    segments: list[Segment] = []
    rewards: list[float] = []
    done, info = False, None
    while not done and (max_turns is None or len(segments) < max_turns):
        sample = yield Ask(partial(policy.sample, observation, rng), samples=True)
        segments.append(_segment(observation, sample))
        turn = yield Ask(partial(environment.step, sample.action))
        observation, reward, done, info = _turn(turn)
        rewards.append(float(reward))
    return Trajectory(segments=tuple(segments), reward=math.fsum(rewards), info=info)


def _segment(observation: Json, sample: object) -> Segment:
    if not isinstance(sample, Sample):
        message = f"a policy's sample gives a Sample, not {shown(sample)}"
        raise ContractError(message)
    return Segment(
        version=sample.version,
        actions=sample.actions,
        logprobs=sample.logprobs,
        observation=observation,
        context=sample.context,
        kv_version=sample.kv_version,
    )


def _turn(turn: Any) -> Turn:
    try:
        observation, reward, done, info = turn
    except (TypeError, ValueError) as error:
        message = (
            f"an environment's step gives (observation, reward, done, info), not {shown(turn)}"
        )
        raise ContractError(message) from error
    return observation, reward, done, info
