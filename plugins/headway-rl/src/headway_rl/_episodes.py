"""
Plays an episode: the policy samples, the environment answers, until it says that it is over.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from headway.contracts import Json
from headway.errors import ContractError, shown
from headway_envs import Environment, Step
from headway_rl._asking import Ask, Asks
from headway_rl._trainer import Policy, Sample
from headway_rl._trajectories import Segment, Trajectory


def _nobody(tokens: int) -> None:
    del tokens


def play(
    environment: Environment,
    task: Json,
    policy: Policy,
    rng: random.Random,
    max_turns: int | None,
    generated: Callable[[int], None] = _nobody,
) -> Asks[Trajectory]:
    """
    The loop of an episode; the reward is the sum over its turns.

    Args:
        environment: The world.
        task: What is to be done.
        policy: What samples.
        rng: The source of chance of both.
        max_turns: Sampling requests after which it is over anyway; None leaves that to the environment.
        generated: Told the tokens of each request, also of an episode that fails later.

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
        generated(segments[-1].tokens)
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


def _turn(turn: Any) -> Step:
    try:
        observation, reward, done, info = turn
    except (TypeError, ValueError) as error:
        message = (
            f"an environment's step gives (observation, reward, done, info), not {shown(turn)}"
        )
        raise ContractError(message) from error
    return Step(observation, reward, done, info)
