"""
Gymnasium's environments under Headway's protocol.

Gymnasium is imported when the first environment is made, never before.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from headway.errors import OptionError, UsageError
from headway_envs._checks import check_whole
from headway_envs._environment import Step

__all__ = ["Gym"]

REMEDY = "Install it with: python -m pip install './plugins/headway-envs[gymnasium]'"

_SEEDS = 2**31
"""Gymnasium takes seeds below this."""


def _gymnasium() -> Any:
    try:
        return import_module("gymnasium")  # an extra, and it costs
    except ImportError as error:
        raise UsageError(f"Gym needs gymnasium, which is not installed. {REMEDY}") from error


class Gym:
    """
    One environment of Gymnasium.

    A task is ``None`` or a mapping.  If it has a ``seed``, that seeds the episode; else the
    generator does.

    Args:
        name: The environment's id, such as ``"CartPole-v1"``.
        **options: What else ``gymnasium.make`` takes.

    Raises:
        UsageError: Gymnasium is not installed.
        OptionError: Gymnasium can't make it.
    """

    def __init__(self, name: str, **options: Any) -> None:
        gymnasium = _gymnasium()
        self.name = name
        try:
            self.inner: Any = gymnasium.make(name, **options)
        except gymnasium.error.Error as error:
            remedy = (
                f"Give an id that gymnasium.make knows, such as 'CartPole-v1'. It said: {error}"
            )
            raise OptionError("name", name, remedy) from error

    @property
    def observation_size(self) -> int:
        """
        How many numbers an observation has.

        Raises:
            UsageError: its observations are no arrays of one fixed shape.
        """
        shape = self.inner.observation_space.shape
        if not shape:
            raise UsageError(f"{self.name} has observations of no fixed size: flatten them first.")
        size = 1
        for length in shape:
            size *= int(length)
        return size

    @property
    def actions(self) -> int:
        """
        How many actions there are.

        Raises:
            UsageError: they can't be counted.
        """
        count = getattr(self.inner.action_space, "n", None)
        if count is None or getattr(self.inner.action_space, "shape", ()) != ():
            raise UsageError(f"{self.name} has actions that can't be counted.")
        return int(count)

    def reset(self, task: Mapping[str, Any] | None, rng: random.Random) -> Any:
        """
        Begin an episode; one number is drawn, whether the task has a seed or not.

        Returns:
            The first observation, as a list of numbers or as one number.

        Raises:
            OptionError: the task's seed is no whole number from 0 up to 2**31.
        """
        drawn = rng.randrange(_SEEDS)
        seed = (task or {}).get("seed", drawn)
        check_whole("seed", seed, 0, _SEEDS)
        observation, _ = self.inner.reset(seed=seed)
        return plain(observation)

    def step(self, action: Any) -> Step:
        """
        Take one action; ``truncated`` in its info says whether a limit of turns ended the episode.
        """
        observation, reward, terminated, truncated, info = self.inner.step(action)
        told = {**plain(info), "truncated": bool(truncated)}
        return Step(plain(observation), float(reward), bool(terminated or truncated), told)

    def close(self) -> None:
        """
        Let go of what Gymnasium holds.
        """
        self.inner.close()


def plain(value: Any) -> Any:
    """
    A JSON value of what Gymnasium gives: arrays and tuples become lists, numpy's numbers Python's.

    What is none and can't be made one is told as text.

    >>> plain({"place": (1, 2.5), "space": range(2)})
    {'place': [1, 2.5], 'space': 'range(0, 2)'}
    """
    held: Any = value  # of any type still, where isinstance narrows the other
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in held.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in held]
    if hasattr(value, "tolist"):  # an array, or one of numpy's numbers
        return plain(held.tolist())
    return str(held)
