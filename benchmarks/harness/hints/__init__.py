"""
A search shaped like one with a language model: hidden hints, and calls of uneven length.

A task is solved once its hint is in the artifact, and an unsolved one proposes its hint.  Every run,
proposal and measurement waits.
"""

from __future__ import annotations

import asyncio
import random
from itertools import count
from time import perf_counter, sleep

HINTS = tuple(f"hint-{number:02}" for number in range(12))

TASKS = 48
HELD_OUT = 12

SHORTEST, LONGEST = 0.025, 0.075
"""Seconds of a call, uniform."""

LONG, TIMES = 0.10, 12.0
"""Under the heavy tail, this share of calls takes so many times as long."""

LAWS = ("uniform", "heavy")

PLANNED = 20_000
"""Durations that are drawn in advance."""


def hint_of(task):
    """
    The hint that a task needs, given its number.
    """
    return HINTS[task % len(HINTS)]


def split(seed):
    """
    Training and held-out tasks by number: the first split from the seed on whose training side covers
    every hint.
    """
    rng = random.Random(f"hints {seed}")
    while True:
        tasks = rng.sample(range(TASKS), TASKS)
        train, held = tasks[:-HELD_OUT], tasks[-HELD_OUT:]
        if {hint_of(task) for task in train} == set(HINTS):
            return train, held


def draw(law, rng):
    """
    The seconds of one call.
    """
    seconds = rng.uniform(SHORTEST, LONGEST)
    long = rng.random() < LONG
    return seconds * TIMES if law == "heavy" and long else seconds


class Watched:
    """
    The waits of one run, and when its search was over.

    Args:
        law: A name of ``LAWS``.
        seed: Durations are drawn from it, in order of arrival.
        held: The held-out tasks, by number.
        scale: What each duration is multiplied by.
    """

    def __init__(self, law, seed, held, scale=1.0):
        rng = random.Random(f"waits {law} {seed}")
        self._planned = [scale * draw(law, rng) for _ in range(PLANNED)]
        self._arrivals = count()
        self._needed = {hint_of(task) for task in held}
        self._missing = set(held)
        self._began = perf_counter()
        self.calls = 0
        self.over = None
        """Seconds and calls when the search was over."""

    def wait(self):
        sleep(self._next())

    async def wait_async(self):
        await asyncio.sleep(self._next())

    def _next(self):
        self.calls += 1
        return self._planned[next(self._arrivals) % PLANNED]

    def solves(self, hints):
        """
        Whether an artifact with these hints has a true held-out reward of 1.
        """
        return self._needed <= set(hints)

    def committed(self, hints):
        """
        An artifact became the head: the search is over when it solves all.
        """
        if self.over is None and self.solves(hints):
            self.over = perf_counter() - self._began, self.calls

    def scored(self, task, hints):
        """
        A task was scored with these hints, by an engine whose commits can't be seen.

        The search counts as over once every held-out task was scored with enough hints, which is
        before that artifact can be committed.
        """
        if self.solves(hints):
            self._missing.discard(task)
            if not self._missing:
                self.committed(hints)
