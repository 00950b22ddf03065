"""
Rollouts that take a while and are solved, as fast as they go, beside one call that never returns.
"""

from __future__ import annotations

import asyncio
import threading
from time import monotonic, sleep

from harness.rules import SOLVED, UNSOLVED, AsyncSolved, Solved

ROLLOUT = 0.02
"""Seconds of a rollout."""


class Steady(Solved):
    """
    Notes when rollouts begin.

    Args:
        place: The first call of this kind never returns: ``rollout``, ``propose``, ``baseline``.
        way: ``blocking`` for coroutines that block their loop.
    """

    def __init__(self, place, way):
        super().__init__()
        self.place, self.way, self.begun = place, way, []
        self.never = threading.Event()
        self._lock = threading.Lock()

    def first(self, place):
        with self._lock:
            is_first = self.place == place
            if is_first:
                self.place = None
            return is_first

    def hang_first(self, place):
        if self.first(place):
            self.never.wait()

    def rollout(self, state, task):
        self.begun.append(monotonic())
        self.hang_first("rollout")
        if self.place == "propose":
            return UNSOLVED
        sleep(ROLLOUT)
        return SOLVED

    def propose(self, state, task, outcome):
        self.hang_first("propose")

    def measure(self, state, task):
        self.hang_first("baseline")
        return self.score(state, task)


class AsyncSteady(Steady, AsyncSolved):
    """
    The same with coroutines.
    """

    async def hang_first(self, place):
        if not self.first(place):
            return
        if self.way == "blocking":
            self.never.wait()
        await asyncio.get_running_loop().create_future()

    async def rollout(self, state, task):
        self.begun.append(monotonic())
        await self.hang_first("rollout")
        if self.place == "propose":
            return UNSOLVED
        await asyncio.sleep(ROLLOUT)
        return SOLVED

    async def propose(self, state, task, outcome):
        await self.hang_first("propose")

    async def measure(self, state, task):
        await self.hang_first("baseline")
        return self.score(state, task)


STEADY = {"def": Steady, "async": AsyncSteady}
