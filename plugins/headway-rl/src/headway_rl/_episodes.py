"""
Plays an episode: the policy samples, the environment answers, until it says that it is over.

The loop is written once, as a generator that yields what is to be called and is resumed with what that
gave; ``played`` runs it plainly, ``played_async`` awaits what has to be awaited.  A *sampling* call
is made under a limit of its own, so that any number of tools may run while at most so many requests
are with the engine.
"""

from __future__ import annotations

import asyncio
import inspect
import random
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

import attrs

from headway.contracts import Json
from headway.errors import ContractError, shown
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


@attrs.frozen(kw_only=True)
class _Ask:
    call: Callable[[], Any]
    samples: bool


Play: TypeAlias = Generator[_Ask, Any, Trajectory]


def play(
    environment: Environment, task: Json, policy: Policy, rng: random.Random, max_turns: int | None
) -> Play:
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
    observation = yield _Ask(call=partial(environment.reset, task, rng), samples=False)
    segments: list[Segment] = []
    rewards: list[float] = []
    done, info = False, None
    while not done and (max_turns is None or len(segments) < max_turns):
        sample = yield _Ask(call=partial(policy.sample, observation, rng), samples=True)
        segments.append(_segment(observation, sample))
        turn = yield _Ask(call=partial(environment.step, sample.action), samples=False)
        observation, reward, done, info = _turn(turn)
        rewards.append(float(reward))
    return Trajectory(segments=tuple(segments), reward=_total(rewards), info=info)


def _total(rewards: list[float]) -> float:
    total = 0.0
    for reward in rewards:
        total += reward
    return total


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


@attrs.define(eq=False)
class RequestLimit:
    """
    How many sampling requests may be open at once; for threads and for coroutines.

    Threads wait on one counter, the coroutines of each event loop on one of their own.

    Args:
        most: That number; None bounds nothing.
    """

    most: int | None
    _threads: AbstractContextManager[Any] = attrs.field(init=False, repr=False)
    _loops: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Semaphore]] = attrs.field(
        factory=dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Semaphore]],
        init=False,
        repr=False,
    )

    def __attrs_post_init__(self) -> None:
        self._threads = nullcontext() if self.most is None else threading.Semaphore(self.most)

    @property
    def plain(self) -> AbstractContextManager[Any]:
        """
        To be entered by a thread around a request.
        """
        return self._threads

    def awaited(self) -> asyncio.Semaphore | None:
        """
        To be entered by a coroutine around a request; None bounds nothing.
        """
        if self.most is None:
            return None
        loop = asyncio.get_running_loop()
        known = self._loops.get(id(loop))
        if known is None or known[0] is not loop:
            for number, (other, _) in list(self._loops.items()):
                if other.is_closed():
                    self._loops.pop(number, None)
            known = self._loops[id(loop)] = (loop, asyncio.Semaphore(self.most))
        return known[1]


def played(loop: Play, limit: RequestLimit) -> Trajectory:
    """
    Run an episode's loop on this thread.

    Raises:
        ContractError: a part has to be awaited.
    """
    answer: Any = None
    try:
        while True:
            ask = loop.send(answer)
            with limit.plain if ask.samples else nullcontext():
                answer = _plain(ask.call())
    except StopIteration as end:
        trajectory: Trajectory = end.value
        return trajectory
    finally:
        loop.close()


def _plain(answer: Any) -> Any:
    if not inspect.isawaitable(answer):
        return answer
    if inspect.iscoroutine(answer):
        answer.close()  # else Python warns that it was never awaited
    message = "the policy or the environment is asynchronous; take AsyncRL instead of RL"
    raise ContractError(message)


async def played_async(loop: Play, limit: RequestLimit) -> Trajectory:
    """
    Run an episode's loop, awaiting what has to be awaited.
    """
    answer: Any = None
    gate = limit.awaited()
    try:
        while True:
            ask = loop.send(answer)
            if ask.samples and gate is not None:
                async with gate:
                    answer = await _awaited(ask.call())
            else:
                answer = await _awaited(ask.call())
    except StopIteration as end:
        trajectory: Trajectory = end.value
        return trajectory
    finally:
        loop.close()


async def _awaited(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer
