"""
What a campaign trains on: how a problem is scored in training, and how progress is measured.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from headway_es._kernels import Array
from headway_es._objectives import Function

_HELD_OUT = 2**34
"""The number of MiniTerm's batch that progress is measured on; training never comes so far."""

_SMALLEST = 1e-300
_NO_CHANCE = random.Random(0)  # noqa: S311 - these problems draw nothing; what it gives is never asked


@attrs.frozen(kw_only=True)
class Problem:
    """
    A problem of a campaign.  Progress is in points of held-out success on MiniTerm, and on a function in
    the powers of ten by which the distance from its best value has shrunk; higher is better.

    Args:
        objective: What Headway's own runs are given.
        measured: Progress at a theta.
    """

    objective: Any
    measured: Callable[[Array], float]

    @property
    def start(self) -> Array:
        """
        The first theta, of shape (dim,).
        """
        start: Array = self.objective.initial()
        return start

    def scores(self, thetas: Sequence[Array], batch: int) -> list[float]:
        """
        The training fitness of each theta on a task batch.
        """
        task = {"split": "train", "seed": 0, "batch": batch}
        if hasattr(self.objective, "scores"):
            found: list[float] = self.objective.scores(thetas, task, _NO_CHANCE)
            return found
        return [self.objective.score(theta, task, _NO_CHANCE) for theta in thetas]

    def progress(self, theta: Array) -> float:
        """
        Progress at a theta.
        """
        return float(self.measured(theta))


def problem_of(name: str, *, seed: int, episodes: int, held_out: int) -> Problem:
    """
    The problem of a name.

    Args:
        name: ``miniterm``, or a function and its dimension: ``sphere-100``.
        seed: What MiniTerm's tasks are drawn from.
        episodes: MiniTerm's tasks in training.
        held_out: MiniTerm's tasks that progress is measured on.

    Raises:
        OptionError: headway-envs is not installed.
    """
    if name == "miniterm":
        return _miniterm(seed, episodes, held_out)
    function, _, dim = name.rpartition("-")
    return _function(Function(name=function, dim=int(dim)))


def _function(function: Function) -> Problem:
    first = -function.score(function.initial(), None, _NO_CHANCE)

    def gained(theta: Array) -> float:
        left = -function.score(theta, None, _NO_CHANCE)
        return math.log10(first / max(left, _SMALLEST))

    return Problem(objective=function, measured=gained)


def _miniterm(seed: int, episodes: int, held_out: int) -> Problem:
    from headway_es._miniterm import MiniTerm

    objective = MiniTerm(episodes=episodes, seed=seed)

    from headway_envs.miniterm import TaskBatch, rollouts

    tasks = TaskBatch.draw(seed, _HELD_OUT, held_out)

    def success(theta: Array) -> float:
        return 100 * int(np.count_nonzero(rollouts(theta, tasks).success)) / held_out

    return Problem(objective=objective, measured=success)
