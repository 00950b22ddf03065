"""
The toy search as a Headway domain, with plain functions and with coroutines.
"""

from __future__ import annotations

import asyncio
from time import sleep
from typing import ClassVar

from harness.search import HELD_OUT, KEYS, TRAIN, watched
from headway.contracts import Domain, Outcome, Splits, Task

RIGHT = 1
SOLVED, UNSOLVED = Outcome(reward=1.0), Outcome(reward=0.5)


class Rules(Domain):
    """
    Rules that are all wrong at first; see ``harness.search``.

    No method names ``rng``: making a generator for each call is work of the domain's own choice.

    Args:
        waits: A ``Waits``; each rollout waits once.
        search: A ``Search``.
        measuring: Seconds that scoring one held-out task takes.
    """

    name: ClassVar[str] = "rules"
    deterministic = True

    def __init__(self, waits, search, measuring=0.0):
        self.waits, self.search, self.measuring = waits, search, measuring
        self.measured = []
        """The candidate (by hash) and the task of every measurement that began."""

    def tasks(self):
        return Splits(
            train=[Task(id=f"train-{n}", data=list(watched(n))) for n in range(TRAIN)],
            held_out=[Task(id=f"held-{n}", data=list(watched(n))) for n in range(HELD_OUT)],
        )

    def initial(self):
        return dict.fromkeys(KEYS, 0)

    def rollout(self, state, task):
        return UNSOLVED if self.search.unsolved(self.waits.wait()) else SOLVED

    def propose(self, state, task, outcome):
        key, wrong = self.search.change(lambda key: state[key] == RIGHT)
        return {key: RIGHT + wrong}

    def measure(self, state, task):
        if self.measuring:
            self.note_measured(state, task)
            sleep(self.measuring)
        return self.score(state, task)

    def apply(self, state, diff):
        return {**state, **diff}

    def keys(self, diff):
        return tuple(diff)

    def note_measured(self, state, task):
        # Every state has the rules in the same order, so its values tell it apart.
        self.measured.append((hash(tuple(state.values())), task.id))

    @staticmethod
    def score(state, task):
        return sum([state[key] == RIGHT for key in task.data]) / len(task.data)


class AsyncRules(Rules):
    """
    The same with coroutines.
    """

    async def rollout(self, state, task):
        return UNSOLVED if self.search.unsolved(await self.waits.wait_async()) else SOLVED

    async def propose(self, state, task, outcome):
        return Rules.propose(self, state, task, outcome)

    async def measure(self, state, task):
        if self.measuring:
            self.note_measured(state, task)
            await asyncio.sleep(self.measuring)
        return self.score(state, task)


DOMAINS = {"threads": Rules, "asyncio": AsyncRules}


class Solved(Rules):
    """
    Rollouts that take no time and are always solved; nothing is ever proposed.
    """

    deterministic = False  # else the run ends once all tasks have been seen

    def __init__(self):
        super().__init__(waits=None, search=None)

    def rollout(self, state, task):
        return SOLVED


class AsyncSolved(Solved, AsyncRules):
    """
    The same with coroutines.
    """

    async def rollout(self, state, task):
        return SOLVED


SOLVED_DOMAINS = {"threads": Solved, "asyncio": AsyncSolved}
