"""
Environments that take time, as agents with tools do: most episodes are quick, a few take long.

1. How long an episode takes is drawn when it begins, from a law, and is a pure function of the
   generator's state at that moment.  Nothing is drawn from the generator, so the episode is the
   same with and without waiting.
2. Each turn takes an equal share of it.  An episode that ends early has waited for its turns only.
3. The wait comes before the inner step, as a call to a tool does.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from headway.durations import Law, parse_law
from headway.keyed import keyed_unit
from headway_envs._checks import check_whole
from headway_envs._environment import Environment, Step, awaited, plain

__all__ = ["Slow", "SlowAsync", "seconds_of"]


def _law(value: Law | str) -> Law:
    return parse_law(value, option="law") if isinstance(value, str) else value


def seconds_of(law: Law, rng: random.Random) -> float:
    """
    How long an episode that begins with this generator takes, in seconds.

    >>> seconds_of(parse_law("constant:2"), random.Random(7))
    2.0
    """
    version, words, _ = rng.getstate()
    return law.draw(keyed_unit("slow", version, *words[:4], words[-1]))


@attrs.define(eq=False)
class _Waiting:
    """
    What both slow environments have in common.
    """

    environment: Environment
    law: Law = attrs.field(converter=_law)
    turns: int = attrs.field(default=16, kw_only=True)
    _share: float = attrs.field(default=0.0, init=False)

    def __attrs_post_init__(self) -> None:
        check_whole("turns", self.turns, 1)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "environment":
            raise AttributeError(name)
        return getattr(self.environment, name)


@attrs.define(eq=False)
class Slow(_Waiting):
    """
    An environment whose episodes take a while; its thread sleeps.

    What else the inner one has, such as ``actions``, it has too.

    Args:
        environment: The inner one, without coroutines.
        law: How long an episode of ``turns`` turns takes: a law of ``headway.durations`` or its
            text, such as ``"lognormal:0.1,1"``, in seconds.
        turns: The turns of an episode that takes the whole time.
        sleep: What waits; takes seconds.

    Raises:
        OptionError: the law can't be read, or ``turns`` is no whole number of at least 1.
    """

    sleep: Callable[[float], object] = attrs.field(default=time.sleep, kw_only=True)

    def reset(self, task: Any, rng: random.Random) -> Any:
        """
        Begin an episode of the inner one, and draw how long it takes.

        Raises:
            UsageError: the inner reset is a coroutine function.
        """
        self._share = seconds_of(self.law, rng) / self.turns
        return plain("reset", self.environment.reset(task, rng), "wrap it with SlowAsync")

    def step(self, action: Any) -> Step:
        """
        Wait for a turn's share, then take the action.

        Raises:
            UsageError: the inner step is a coroutine function.
        """
        self.sleep(self._share)
        return Step(*plain("step", self.environment.step(action), "wrap it with SlowAsync"))


@attrs.define(eq=False)
class SlowAsync(_Waiting):
    """
    An environment whose episodes take a while; other coroutines run meanwhile.

    What else the inner one has, such as ``actions``, it has too.

    Args:
        environment: The inner one, with or without coroutines.
        law: How long an episode of ``turns`` turns takes: a law of ``headway.durations`` or its
            text, such as ``"lognormal:0.1,1"``, in seconds.
        turns: The turns of an episode that takes the whole time.
        sleep: What waits; takes seconds and gives something to await.

    Raises:
        OptionError: the law can't be read, or ``turns`` is no whole number of at least 1.
    """

    sleep: Callable[[float], Awaitable[object]] = attrs.field(default=asyncio.sleep, kw_only=True)

    async def reset(self, task: Any, rng: random.Random) -> Any:
        """
        Begin an episode of the inner one, and draw how long it takes.
        """
        self._share = seconds_of(self.law, rng) / self.turns
        return await awaited(self.environment.reset(task, rng))

    async def step(self, action: Any) -> Step:
        """
        Wait for a turn's share, then take the action.
        """
        await self.sleep(self._share)
        return Step(*await awaited(self.environment.step(action)))
