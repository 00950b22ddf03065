"""
Faulty domains: the kit must find each.

Each is derived from the toy domain, its healthy twin.
"""

from __future__ import annotations

import random
from typing import ClassVar

from headway.contracts import Outcome, Splits, Task
from headway.testing import ToyDomain


class Small(ToyDomain):
    """
    The toy domain with few keys: what is healthy.
    """

    options: ClassVar = {}

    def __init__(self):
        super().__init__(n_keys=5, n_tasks=6)


class Mutates(Small):
    """
    Sets keys in the state that it was given.
    """

    def apply(self, state, diff):
        state.update({key: value for key, value in diff.items() if key != "!"})
        return state


class GlobalChance(Small):
    """
    Takes random numbers from where all the world takes them.
    """

    def propose(self, state, task, outcome, *, rng):
        return super().propose(state, task, outcome, rng=random)


class OwnChance(Small):
    """
    Has a generator of its own, which goes on from call to call.
    """

    def __init__(self):
        super().__init__()
        self.rng = random.Random(0)

    def propose(self, state, task, outcome, *, rng):
        return super().propose(state, task, outcome, rng=self.rng)


class ClaimsTooMuch(Small):
    """
    Is noisy, and says that one look is enough.
    """

    def measure(self, state, task, *, rng):
        return super().measure(state, task, rng=rng) * rng.random()


class TwoMinds(Small):
    """
    Measures otherwise than it rolls out.
    """

    def measure(self, state, task, *, rng):
        return super().measure(state, task, rng=rng) / 2


class TwiceTheSame(Small):
    """
    Holds out what it trains on.
    """

    def tasks(self):
        splits = super().tasks()
        return Splits(train=splits.train, held_out=splits.train[:2] + splits.held_out)


class DrawsTasks(Small):
    """
    Makes up its tasks at each call.
    """

    def tasks(self):
        splits = super().tasks()
        extra = Task(id=f"train-x{random.random()}", data=["a"])
        return Splits(train=(*splits.train, extra), held_out=splits.held_out)


class Generous(Small):
    """
    Gives more than its range allows.
    """

    def rollout(self, state, task, *, rng):
        found = super().rollout(state, task, rng=rng)
        return Outcome(reward=found.reward + 0.5, output=found.output)


class Infinite(Small):
    """
    Divides by nothing.
    """

    reward_range = (0.0, float("inf"))

    def rollout(self, state, task, *, rng):
        found = super().rollout(state, task, rng=rng)
        return Outcome(reward=found.reward or float("inf"), output=found.output)


class Speechless(Small):
    """
    Puts an object into its output.
    """

    def rollout(self, state, task, *, rng):
        found = super().rollout(state, task, rng=rng)
        return Outcome(reward=found.reward, output={*found.output})


class NeverProposes(Small):
    """
    Forgets its return.
    """

    def propose(self, state, task, outcome, *, rng):
        super().propose(state, task, outcome, rng=rng)


class NamesHalf(Small):
    """
    Names only the first key of a change.
    """

    def apply(self, state, diff):
        return {**super().apply(state, diff), "last": next(iter(diff))}

    def keys(self, diff):
        return super().keys(diff)[:1]


class Strays(Small):
    """
    Writes outside of its folder.
    """

    def render(self, state):
        return {"../state.txt": str(sorted(state.items()))}


class RebasesToNothing(Small):
    """
    Gives a state where a change is asked for.
    """

    def rebase(self, diff, state):
        return sorted(state)


class RemovesNothing(Small):
    """
    Offers to take out what is not there.
    """

    def removals(self, state):
        return [{key: value} for key, value in state.items()]


class Counts(Small):
    """
    Describes a state by a number that may be anything.
    """

    def describe(self, state):
        return {"size": len(state)}


class DescribesSome(Small):
    """
    Has another name for every kind of state.
    """

    def describe(self, state):
        return dict.fromkeys(map(str, state.values()), 0.5)


class Misspells(Small):
    """
    Has a default that no run knows.
    """

    defaults: ClassVar = {"max_rolouts": 10}


class Grows(Small):
    """
    Remembers every rollout and lets it count.
    """

    def __init__(self):
        super().__init__()
        self.count = 0

    def rollout(self, state, task, *, rng):
        self.count += 1
        found = super().rollout(state, task, rng=rng)
        return Outcome(reward=found.reward, output=[*found.output, *["a"] * (self.count % 3)])


class OtherTwin(Small):
    """
    Has a twin that answers otherwise.
    """

    def virtual(self):
        twin = Small()
        twin._right = 0.0
        return twin
