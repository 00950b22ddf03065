"""
The group-centred policy gradient on MiniTerm, at as many episodes as an evolution strategy has.

Commands are drawn with the network's probabilities; groups of episodes on one task; a reward counts less the
mean of its group's; REINFORCE (R. J. Williams, 1992) with Adam, one step a batch.  The gradient is a sum
over what was seen and done, so it is taken over the few thousand different situations, each weighted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from headway_es._kernels import Array, Float64
from headway_es._optimizers import Adam, Moments

GROUP = 16
"""Episodes on one task."""

_FIELDS = ("kind", "token", "to", "files", "start")
_HELD_OUT = 2**34


@attrs.frozen(kw_only=True)
class Trained:
    """
    What it came to.

    Args:
        theta: The last parameters, of shape (1292,).
        curve: Held-out success in points, commands being the likeliest, at the start and after every so
            many updates.
        drawn: The same at the end, commands being drawn as in training.
    """

    theta: Array
    curve: list[float]
    drawn: float


def train(
    *, seed: int, rate: float, updates: int, episodes: int, held_out: int, every: int
) -> Trained:
    """
    Train from the warm start.

    Args:
        seed: What tasks and commands are keyed by.
        rate: The learning rate of Adam.
        updates: How many steps.
        episodes: Episodes of a step, a multiple of 16.
        held_out: Tasks that progress is measured on.
        every: After how many updates.
    """
    from headway_envs.miniterm import TaskBatch, rollouts, warm_start

    tasks = TaskBatch.draw(seed, _HELD_OUT, held_out)

    def success(theta: Array, *, sample: bool) -> float:
        passed = np.count_nonzero(rollouts(theta, tasks, sample=sample).success)
        return 100 * int(passed) / held_out

    optimizer, theta = Adam(lr=rate), warm_start()
    moments: Moments | None = None
    curve = [success(theta, sample=False)]
    for update in range(updates):
        batch = _grouped(TaskBatch.draw(seed, update, episodes // GROUP))
        theta, moments = optimizer.step(theta, slope(theta, batch), moments)
        if not (update + 1) % every:
            curve.append(success(theta, sample=False))
    return Trained(theta=theta, curve=curve, drawn=success(theta, sample=True))


def _grouped(tasks: Any) -> Any:
    """
    Each task as often as a group has episodes, each episode with chance of its own.
    """
    return attrs.evolve(
        tasks, **{name: np.repeat(getattr(tasks, name), GROUP, axis=0) for name in _FIELDS}
    )


def slope(theta: Array, tasks: Any) -> Float64:
    """
    The gradient of the mean over episodes of advantage times log-probability.

    Args:
        theta: Shape (1292,).
        tasks: A batch whose groups stand one after the other.

    Returns:
        Shape (1292,).
    """
    from headway_envs.miniterm import COMMANDS, observations
    from headway_envs.miniterm._tables import VIEWS

    turns, rewards = _played(theta, tasks)
    centred = rewards.reshape(-1, GROUP)
    advantage = (centred - centred.mean(axis=1, keepdims=True)).ravel() / len(rewards)
    episode, view, command = (np.concatenate(part) for part in zip(*turns, strict=True))
    situations, place = np.unique(tasks.index[episode] * VIEWS + view, return_inverse=True)
    weight = np.zeros((len(situations), len(COMMANDS)))
    np.add.at(weight, (place, command), advantage[episode])
    seen = observations(situations // VIEWS, situations % VIEWS).astype(np.float64)
    return _back(theta, seen, weight)


def _back(theta: Array, seen: Float64, weight: Float64) -> Float64:
    """
    The gradient of ``sum(weight * log-probabilities)``, for observations of shape (n, 27).
    """
    from headway_envs.miniterm import COMMANDS, HIDDEN

    inputs, actions = seen.shape[1], len(COMMANDS)
    ends = np.cumsum((inputs * HIDDEN, HIDDEN, HIDDEN * actions))
    first, bias, second, last = np.split(theta, ends)
    second = second.reshape(HIDDEN, actions)
    hidden = np.tanh(seen @ first.reshape(inputs, HIDDEN) + bias)
    logits = hidden @ second + last
    chance = np.exp(logits - logits.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    push = weight - weight.sum(axis=1, keepdims=True) * chance
    back = (push @ second.T) * (1 - hidden**2)
    parts = (seen.T @ back, back.sum(axis=0), hidden.T @ push, push.sum(axis=0))
    return np.concatenate([part.ravel() for part in parts])


_Turn = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]


class _Tabled:
    """
    A network that was asked everything beforehand: its logits in every situation, to look up.
    """

    def __init__(self, networks: Any) -> None:
        from headway_envs.miniterm._policy import TASKS
        from headway_envs.miniterm._tables import VIEWS

        every = np.arange(TASKS * VIEWS)[None]
        self._views = VIEWS
        self._logits = networks.logits(networks.told(every // VIEWS), every % VIEWS)[0]

    def logits(self, told: Array, view: Array) -> Float64:
        """
        As ``Networks.logits``; ``told`` is the number of the task.
        """
        found: Float64 = self._logits[told * self._views + view]
        return found


def _played(theta: Array, tasks: Any) -> tuple[list[_Turn], Float64]:
    """
    What was seen and done, turn by turn, as (episode, view, command), and the rewards.
    """
    from headway_envs.miniterm._rollouts import _Block

    block: Any = _Block(theta[None], [tasks], sample=True)
    block.networks, block.told = _Tabled(block.networks), tasks.index[None]
    turns = list(_turns(block))
    block.write_back()
    rewards: Float64 = block.tested().fitness[0]
    return turns, rewards


def _turns(block: Any) -> Iterator[_Turn]:
    from headway_envs.miniterm import TURNS

    (noise,) = block.noise
    for turn in range(TURNS):
        running = np.flatnonzero(~block.over[0])
        if not len(running):
            return
        logits = block.networks.logits(block.told, block.view)[0] + noise[:, turn]
        yield running, block.view[0][running].astype(np.int64), logits.argmax(axis=1)[running]
        block.step(turn)
