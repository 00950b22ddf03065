"""
MiniTerm of headway-envs as an objective: a policy of 1,292 parameters at a small terminal.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from headway.contracts import Json, Splits
from headway.errors import OptionError
from headway_es._kernels import Array
from headway_es._objectives import batches

_HELD_OUT, _TEST = 2**32, 2**33
"""Where the numbers of the task batches begin that training never sees."""


@attrs.define(eq=False, kw_only=True)
class MiniTerm:
    """
    Trained on the weighted share of tests that pass, measured by how many episodes pass all of them.

    All jobs of one batch meet the same tasks, and each batch others.

    Args:
        episodes: Tasks that each half of a pair does.
        seed: What the tasks are drawn from.

    Raises:
        OptionError: headway-envs is not installed.
    """

    deterministic: bool = attrs.field(default=True, init=False)
    episodes: int = 64
    seed: int = 0
    _module: Any = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        try:
            from headway_envs import miniterm
        except ImportError as error:
            remedy = "To get it: python -m pip install ./plugins/headway-envs"
            raise OptionError("objective", "miniterm", remedy) from error
        self._module = miniterm

    def initial(self) -> Array:
        """
        The policy that its experiments start from.
        """
        start: Array = self._module.warm_start()
        return start

    def splits(self) -> Splits:
        """
        Training, held-out and test batches.
        """
        return batches(train=8, held_out=8, test=8)

    def score(self, theta: Array, task: Json, rng: random.Random) -> float:
        """
        The mean share of tests that pass.
        """
        return self.scores([theta], task, rng)[0]

    def scores(self, thetas: Sequence[Array], task: Json, rng: random.Random) -> list[float]:
        """
        The same of several policies at once.
        """
        fitness = self._outcomes(np.stack(thetas), task).fitness
        return [float(np.add.reduce(row)) / self.episodes for row in fitness]

    def measure(self, theta: Array, task: Json, rng: random.Random) -> float:
        """
        The share of episodes in which all of them pass.
        """
        return float(np.add.reduce(self._outcomes(theta, task).success[0])) / self.episodes

    def _outcomes(self, thetas: Array, task: Json) -> Any:
        first = {"held_out": _HELD_OUT, "test": _TEST}.get(task["split"], 0)
        number = task.get("batch", first + task["seed"])
        tasks = self._module.TaskBatch.draw(self.seed, number, self.episodes)
        return self._module.rollouts(thetas, tasks)
