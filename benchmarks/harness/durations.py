"""
How long rollouts are to take, how long they really took, and the least time they could be done in.
"""

from __future__ import annotations

import asyncio
import math
import random
from heapq import heapreplace
from itertools import count
from time import perf_counter, sleep

LAWS = ("lognormal", "pareto", "constant")

CAP = 50
"""
No duration is longer than this many means.

A single uncapped draw of the Pareto law can outlast all other rollouts of a run together, and then
every engine reaches the bound.
"""

PARETO = 1.5


def plan(law, mean, number, seed):
    """
    Durations drawn in advance, in seconds.

    ``lognormal`` has sigma 1, ``pareto`` has power 1.5.
    """
    rng = random.Random(f"{law} {seed}")
    draw = {
        "lognormal": lambda: rng.lognormvariate(math.log(mean) - 0.5, 1.0),
        "pareto": lambda: rng.paretovariate(PARETO) * mean * (PARETO - 1) / PARETO,
        "constant": lambda: mean,
    }[law]
    return [min(draw(), CAP * mean) for _ in range(number)]


def bound(durations, workers):
    """
    The time that greedy list scheduling needs for durations in their order, on so many workers.
    """
    free_at = [0.0] * workers
    for seconds in durations:
        heapreplace(free_at, free_at[0] + seconds)
    return max(free_at)


class Waits:
    """
    Waits as planned, in order of arrival, and notes how long each wait really took.

    The counter and the lists are all that callers share, and CPython makes each step on them
    whole, so that any number of threads may wait at once.
    """

    def __init__(self, planned):
        self.planned = planned
        self._taken = []
        self._arrivals = count()

    def wait(self):
        """
        Wait in this thread and return the number of the arrival.
        """
        number = next(self._arrivals)
        seconds = self.planned[number % len(self.planned)]
        began = perf_counter()
        sleep(seconds)
        self._taken.append((number, perf_counter() - began))
        return number

    async def wait_async(self):
        """
        Wait on the event loop and return the number of the arrival.
        """
        number = next(self._arrivals)
        seconds = self.planned[number % len(self.planned)]
        began = perf_counter()
        await asyncio.sleep(seconds)
        self._taken.append((number, perf_counter() - began))
        return number

    @property
    def taken(self):
        """
        What the waits that have ended really took, in the order in which they began.
        """
        return [seconds for _, seconds in sorted(self._taken)]
