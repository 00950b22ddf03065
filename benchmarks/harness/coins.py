"""
A domain of coins: a rollout succeeds with a probability that the artifact's edits decide.
"""

from __future__ import annotations

from typing import ClassVar

from headway.builtins.standard import Sequential
from headway.contracts import Domain, Outcome, Splits, Task
from headway.durations import Uniform

TASKS, HELD_OUT = 20, 20
PLAIN, HELPED = 0.5, 0.8


class Coins(Domain):
    """
    Every edit is useless, but for the one named ``useful``, which raises the chance of success.

    Args:
        useful: The edit that helps; None when none does.
        once: Whether each training task proposes one edit of its own; else every failed rollout
            proposes an edit that was never seen before.
    """

    name: ClassVar[str] = "coins"
    deterministic = False

    def __init__(self, *, useful=None, once=False):
        self.useful, self.once = useful, once
        self.solved = 2.0 if once else 1.0  # then a success proposes too

    def tasks(self):
        return Splits(
            train=[Task(id=f"train-{n}", data=n) for n in range(TASKS)],
            held_out=[Task(id=f"held-{n}") for n in range(HELD_OUT)],
        )

    def initial(self):
        return []

    def rollout(self, state, task, *, rng):
        chance = HELPED if self.useful in state else PLAIN
        return Outcome(reward=float(rng.random() < chance))

    def propose(self, state, task, outcome, *, rng):
        return task.data if self.once else rng.getrandbits(48)

    def apply(self, state, diff):
        return sorted({*state, diff})

    def keys(self, diff):
        return (str(diff),)

    def durations(self):
        return dict.fromkeys(("rollout", "propose", "measure"), Uniform(0.5, 1.5))


class Constant(Coins):
    """
    The same with one reward for everything.
    """

    deterministic = True

    def rollout(self, state, task):
        return Outcome(reward=PLAIN)


class Recording(Sequential):
    """
    The default acceptance, which remembers its trials.
    """

    def __init__(self, **options):
        super().__init__(**options)
        object.__setattr__(self, "trials", [])

    def trial(self, terms):
        trial = super().trial(terms)
        self.trials.append(trial)
        return trial
