"""
The policy network of MiniTerm: 27 inputs, 32 tanh units, 12 logits, given as one flat vector.

What an episode does must not depend on the other episodes that are computed with it, whatever the
order in which a linear algebra library adds.  So nothing here depends on an order:

1. An observation is six ones among zeros, so the first layer is six rows added in a fixed order.
   Rows of the task and rows of the view are added beforehand, once for each theta.
2. The hidden units are rounded to multiples of 2**-12, the second layer's weights to multiples of
   2**-16, its biases to multiples of 2**-28.  Their products' sums then have fewer than 53 bits and
   are exact in float64, in any order and with fused operations or without.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headway.errors import OptionError
from headway_envs.miniterm._rules import COMMANDS, DIRECTORIES, KINDS, NONE, PRINTS, TOKENS
from headway_envs.miniterm._tables import VALUES, VIEWS
from headway_envs.miniterm._tasks import SCALE

HIDDEN: Final = 32
GROUPS: Final = (len(KINDS), TOKENS, DIRECTORIES, DIRECTORIES, len(PRINTS) - 1, TOKENS)
"""Sizes of the one-hot groups: kind, token, to; directory, line printed, clipboard."""

TOLD: Final = sum(GROUPS[:3])
"""Inputs that tell of the task; they come first."""

TASKS: Final = GROUPS[0] * GROUPS[1] * GROUPS[2]
"""What a policy may be told of its task."""

INPUTS: Final = sum(GROUPS)
ACTIONS: Final = len(COMMANDS)
DIMENSION: Final = (INPUTS + 1) * HIDDEN + (HIDDEN + 1) * ACTIONS
"""Length of a theta: 1,292."""

LARGEST: Final = 1024.0
"""A weight or bias beyond this counts as this; it keeps the sums exact."""

_UNITS, _WEIGHTS = 2.0**12, 2.0**16
_STARTS: Final = np.cumsum((0, *GROUPS))


def _inputs() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """
    The inputs that are 1, by task and by view; the number of inputs stands for none.
    """
    kind, token, to = np.indices((len(KINDS), TOKENS, DIRECTORIES)).reshape(3, -1)
    printed, cwd, held = np.indices((len(PRINTS), DIRECTORIES, VALUES)).reshape(3, -1)
    line = np.where(printed == 0, INPUTS, _STARTS[4] + printed - 1)
    clip = np.where(held == NONE, INPUTS, _STARTS[5] + held)
    task = np.stack([_STARTS[0] + kind, _STARTS[1] + token, _STARTS[2] + to])
    return task, np.stack([_STARTS[3] + cwd, line, clip])


BY_TASK, BY_VIEW = _inputs()


def observations(task: ArrayLike, view: ArrayLike) -> NDArray[np.float32]:
    """
    What a policy sees: zeros and ones.

    Args:
        task: What it is told of its task, as ``TaskBatch.index``, shape (...).
        view: What it sees of the world, a shape that can be broadcast with it.

    Returns:
        Shape (..., 27).
    """
    tasks, views = np.broadcast_arrays(task, view)
    ones = np.concatenate([BY_TASK[:, tasks], BY_VIEW[:, views]])
    seen = np.zeros((*ones.shape[1:], INPUTS + 1), np.float32)
    np.put_along_axis(seen, np.moveaxis(ones, 0, -1), 1, axis=-1)
    return seen[..., :INPUTS]


def checked(thetas: ArrayLike) -> NDArray[np.float64]:
    """
    Thetas as an array of shape (P, 1292).

    Args:
        thetas: P vectors, or one.

    Raises:
        OptionError: the shape is another one, or a number is not finite.
    """
    array = np.asarray(thetas, np.float64)
    if array.ndim == 1:
        array = array[None]
    if array.shape[1:] != (DIMENSION,) or not len(array):
        remedy = f"Give vectors of {DIMENSION} numbers, shape ({DIMENSION},) or (P, {DIMENSION})."
        raise OptionError("theta", f"an array of shape {np.shape(thetas)}", remedy)
    if not np.isfinite(array).all():
        rows = np.flatnonzero(~np.isfinite(array).all(axis=1))
        remedy = "Every number must be finite: lower the learning rate, or sigma."
        raise OptionError("theta", f"row {rows[0]} holds NaN or infinity", remedy)
    return array


class Networks:
    """
    P networks, ready to be asked.

    Args:
        thetas: Shape (P, 1292).  In order: weights of the first layer (27, 32), its biases (32),
            weights of the second layer (32, 12), its biases (12).
    """

    def __init__(self, thetas: NDArray[np.float64]) -> None:
        thetas = np.clip(thetas, -LARGEST, LARGEST)
        count, ends = len(thetas), np.cumsum((INPUTS * HIDDEN, HIDDEN, HIDDEN * ACTIONS))
        first, bias, second, last = np.split(thetas, ends, axis=1)
        # One axis for each group of inputs; no line and an empty clipboard add nothing.
        groups = np.split(first.astype(np.float32).reshape(count, INPUTS, HIDDEN), _STARTS[1:-1], 1)
        kind, token, to, cwd, line, clip = groups
        nothing = np.zeros((count, 1, HIDDEN), np.float32)
        by_kind = bias.astype(np.float32)[:, None] + kind
        by_token = by_kind[:, :, None] + token[:, None]
        self.by_task = (by_token[:, :, :, None] + to[:, None, None]).reshape(count, TASKS, HIDDEN)
        by_line = np.concatenate([nothing, line], axis=1)[:, :, None] + cwd[:, None]
        by_clip = np.concatenate([clip, nothing], axis=1)
        self.by_view = (by_line[:, :, :, None] + by_clip[:, None, None]).reshape(-1, HIDDEN)
        self.second = np.rint(second.reshape(count, HIDDEN, ACTIONS) * _WEIGHTS)
        self.last = np.rint(last * SCALE)[:, None]
        self.offsets = np.arange(count)[:, None] * VIEWS

    def told(self, task: NDArray[np.integer]) -> NDArray[np.float32]:
        """
        The share of tasks in the hidden layer, shape (P, E, 32) for indices of shape (P, E).
        """
        rows: NDArray[np.float32] = self.by_task[np.arange(len(self.by_task))[:, None], task]
        return rows

    def logits(self, told: NDArray[np.float32], view: NDArray[np.integer]) -> NDArray[np.float64]:
        """
        Logits in multiples of 1 / ``SCALE``.

        Args:
            told: Shape (P, E, 32).
            view: Shape (P, E).

        Returns:
            Whole numbers, shape (P, E, 12).
        """
        hidden: NDArray[np.float32] = self.by_view.take(view + self.offsets, axis=0)
        hidden += told
        np.tanh(hidden, out=hidden)
        hidden *= np.float32(_UNITS)
        np.rint(hidden, out=hidden)
        logits: NDArray[np.float64] = np.matmul(hidden.astype(np.float64), self.second)
        logits += self.last
        return logits


class Policy:
    """
    One network, asked for one command at a time: what ``rollouts`` does, for ``play``.

    A frozen value; any number of threads may share it.

    Args:
        theta: 1,292 finite numbers.

    Raises:
        OptionError: there are more or fewer, or one is not finite.
    """

    def __init__(self, theta: ArrayLike) -> None:
        thetas = checked(theta)
        if len(thetas) > 1:
            remedy = f"Give one vector of {DIMENSION} numbers."
            raise OptionError("theta", f"an array of shape {thetas.shape}", remedy)
        self._network = Networks(thetas)

    def logits(self, observation: ArrayLike) -> NDArray[np.float64]:
        """
        The logits of the twelve commands, in multiples of 1 / ``SCALE``.

        Args:
            observation: What MiniTerm gave, shape (27,).
        """
        groups = np.split(np.asarray(observation), _STARTS[1:-1])
        kind, token, to, cwd = (int(np.argmax(group)) for group in groups[:4])
        line = 1 + int(np.argmax(groups[4])) if np.any(groups[4]) else 0
        clip = int(np.argmax(groups[5])) if np.any(groups[5]) else NONE
        task = np.array([[(kind * TOKENS + token) * DIRECTORIES + to]])
        seen = np.array([[(line * DIRECTORIES + cwd) * VALUES + clip]])
        network = self._network
        row: NDArray[np.float64] = network.logits(network.told(task), seen)[0, 0]
        return row

    def command(self, observation: ArrayLike, noise: ArrayLike = 0.0) -> int:
        """
        The likeliest command, or with Gumbel noise one drawn with the network's probabilities.

        Args:
            observation: What MiniTerm gave, shape (27,).
            noise: Twelve Gumbel numbers in multiples of 1 / ``SCALE``, as ``TaskBatch.noise`` has
                them for each episode and turn.
        """
        return int(np.argmax(self.logits(observation) + np.asarray(noise)))
