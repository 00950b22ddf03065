"""
What an environment is: episodes of many turns, begun with a task and led by actions.

1. ``reset(task, rng)`` begins an episode and gives the first observation.
2. ``step(action)`` takes one action and gives a ``Step``; after one that is ``done``, only
   ``reset`` may be called.
3. Either may be a plain function or a coroutine function.
4. One object runs one episode at a time.  Whoever runs several at once makes an object for each;
   objects share nothing that changes.
5. Chance comes from ``rng`` alone, drawn in the order of the calls, so that equal tasks, generators
   and actions give equal episodes.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import attrs

from headway.errors import UsageError
from headway_envs._checks import check_whole

__all__ = ["Act", "Environment", "Episode", "Step", "play", "play_async"]


class Step(NamedTuple):
    """
    What an action came to.

    Args:
        observation: What is seen after it, a JSON value; a vector is a list of numbers.
        reward: The reward of this step; the episode's is the sum.
        done: Whether the episode has ended with it.
        info: More about it, such as ``success``; JSON values under text keys.
    """

    observation: Any
    reward: float
    done: bool
    info: Mapping[str, Any]


class Environment(Protocol):
    """
    Something that a policy acts in, turn after turn.

    It may have ``close()``, which whoever made it calls when it is no longer needed.
    """

    def reset(self, task: Any, rng: random.Random) -> Any:
        """
        Begin an episode.

        Args:
            task: What the episode is about, a JSON value.
            rng: All chance of the episode.  The environment may keep it until the next ``reset``.

        Returns:
            The first observation, a JSON value, or something to await that gives it.
        """
        ...

    def step(self, action: Any) -> Step | Awaitable[Step]:
        """
        Take one action.

        Returns:
            What it came to, or something to await that gives it.
        """
        ...


Act: TypeAlias = Callable[[Any, random.Random], Any]
"""A policy: from an observation and the episode's generator to an action."""


@attrs.frozen(kw_only=True)
class Episode:
    """
    One episode, turn by turn.

    Args:
        observations: What was seen before each action, and after the last one: one more than
            there are actions.
        actions: What was done.
        rewards: What each action brought.
        infos: What the environment told about each.
        done: Whether it came to its end; if not, the limit of turns cut it off.
    """

    observations: tuple[Any, ...]
    actions: tuple[Any, ...]
    rewards: tuple[float, ...]
    infos: tuple[Mapping[str, Any], ...]
    done: bool

    @property
    def reward(self) -> float:
        """
        The sum of all rewards.
        """
        return sum(self.rewards)


class _Notes:
    """
    An episode while it is played.
    """

    def __init__(self, observation: Any) -> None:
        self.observations: list[Any] = [observation]
        self.actions: list[Any] = []
        self.steps: list[Step] = []

    @property
    def over(self) -> bool:
        return bool(self.steps) and self.steps[-1].done

    def ends(self, turns: int | None) -> bool:
        return self.over or (turns is not None and len(self.steps) >= turns)

    def add(self, action: Any, step: Any) -> None:
        step = Step(*step)
        self.actions.append(action)
        self.observations.append(step.observation)
        self.steps.append(step)

    def episode(self) -> Episode:
        return Episode(
            observations=tuple(self.observations),
            actions=tuple(self.actions),
            rewards=tuple(float(step.reward) for step in self.steps),
            infos=tuple(step.info for step in self.steps),
            done=self.over,
        )


def play(
    environment: Environment,
    task: Any,
    act: Act,
    rng: random.Random,
    *,
    turns: int | None = None,
) -> Episode:
    """
    Play one episode of an environment without coroutines.

    Args:
        environment: Nobody else may use it meanwhile.
        task: What ``reset`` takes.
        act: The policy.
        rng: All chance, the environment's and the policy's.
        turns: Stop after so many actions; None leaves the end to the environment.

    Raises:
        UsageError: something that is to be awaited was returned.
        OptionError: ``turns`` is no whole number of at least 1.
    """
    _check_turns(turns)
    notes = _Notes(plain("reset", environment.reset(task, rng)))
    while not notes.ends(turns):
        action = plain("act", act(notes.observations[-1], rng))
        notes.add(action, plain("step", environment.step(action)))
    return notes.episode()


async def play_async(
    environment: Environment,
    task: Any,
    act: Act,
    rng: random.Random,
    *,
    turns: int | None = None,
) -> Episode:
    """
    Play one episode of any environment; what is to be awaited is awaited.

    Args:
        environment: Nobody else may use it meanwhile.
        task: What ``reset`` takes.
        act: The policy; may be a coroutine function.
        rng: All chance, the environment's and the policy's.
        turns: Stop after so many actions; None leaves the end to the environment.

    Raises:
        OptionError: ``turns`` is no whole number of at least 1.
    """
    _check_turns(turns)
    notes = _Notes(await awaited(environment.reset(task, rng)))
    while not notes.ends(turns):
        action = await awaited(act(notes.observations[-1], rng))
        notes.add(action, await awaited(environment.step(action)))
    return notes.episode()


def _check_turns(turns: int | None) -> None:
    if turns is not None:
        check_whole("turns", turns, 1)


def plain(name: str, value: Any, remedy: str = "play the episode with play_async") -> Any:
    """
    A value that is not to be awaited.

    Raises:
        UsageError: it is; the coroutine is closed.
    """
    if not inspect.isawaitable(value):
        return value
    if inspect.iscoroutine(value):
        value.close()
    raise UsageError(f"{name} returned something to await: {remedy}.")


async def awaited(value: Any) -> Any:
    """
    A value, or what comes of it if it is to be awaited.
    """
    return await value if inspect.isawaitable(value) else value
