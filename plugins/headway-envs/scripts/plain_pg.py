"""
A plain policy gradient on MiniTerm, without Headway: can it be learned that way as well?

    python plugins/headway-envs/scripts/plain_pg.py

Groups of episodes on one task, rewards centred in each group, REINFORCE, Adam.  The episodes are
those of the environment itself, one object each, stepped side by side.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

from headway_envs.miniterm import (
    DIMENSION,
    HIDDEN,
    TURNS,
    MiniTerm,
    TaskBatch,
    rollouts,
    warm_start,
)

INPUTS, ACTIONS = MiniTerm.observation_size, MiniTerm.actions
ENDS = np.cumsum((INPUTS * HIDDEN, HIDDEN, HIDDEN * ACTIONS))
HELD_OUT = 2048


def layers(theta: np.ndarray) -> tuple[np.ndarray, ...]:
    """
    A theta's weights and biases.
    """
    first, bias, second, last = np.split(theta, ENDS)
    return first.reshape(INPUTS, HIDDEN), bias, second.reshape(HIDDEN, ACTIONS), last


def forward(theta: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Hidden units and probabilities, for observations of shape (n, 27).
    """
    first, bias, second, last = layers(theta)
    hidden = np.tanh(seen @ first + bias)
    logits = hidden @ second + last
    chance = np.exp(logits - logits.max(axis=1, keepdims=True))
    return hidden, chance / chance.sum(axis=1, keepdims=True)


def played(theta: np.ndarray, tasks: list, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """
    One episode for each task: what was seen, what was done, in which episode, and the rewards.
    """
    worlds = [MiniTerm() for _ in tasks]
    now = [world.reset(task) for world, task in zip(worlds, tasks, strict=True)]
    rewards, running, turns = np.zeros(len(tasks)), list(range(len(tasks))), []
    for _ in range(TURNS):
        seen = np.array([now[n] for n in running])
        sums = forward(theta, seen)[1].cumsum(axis=1)
        commands = (rng.random((len(seen), 1)) * sums[:, -1:] > sums[:, :-1]).sum(axis=1)
        turns.append((seen, commands, np.array(running)))
        still = []
        for n, command in zip(running, commands, strict=True):
            now[n], reward, done, _ = worlds[n].step(int(command))
            rewards[n] += reward
            still += [] if done else [n]
        if not (running := still):
            break
    return *(np.concatenate(part) for part in zip(*turns, strict=True)), rewards


def slope(theta: np.ndarray, played_: tuple[np.ndarray, ...], group: int) -> np.ndarray:
    """
    The gradient of the mean over episodes of advantage times log-probability.
    """
    seen, commands, episode, rewards = played_
    centred = rewards.reshape(-1, group)
    advantage = (centred - centred.mean(axis=1, keepdims=True)).ravel()
    hidden, chance = forward(theta, seen)
    push = -chance
    push[np.arange(len(commands)), commands] += 1
    push *= advantage[episode, None] / len(rewards)
    back = (push @ layers(theta)[2].T) * (1 - hidden**2)
    parts = (seen.T @ back, back.sum(axis=0), hidden.T @ push, push.sum(axis=0))
    return np.concatenate([part.ravel() for part in parts])


def main() -> None:
    """
    Print the held-out success, commands drawn, at the start and after every 50 updates.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--groups", type=int, default=16)
    parser.add_argument("--group-size", type=int, default=16)
    parser.add_argument("--rate", type=float, default=0.01)
    asked = parser.parse_args()
    for seed in range(asked.seeds):
        begun, theta, curve = perf_counter(), warm_start(), []
        mean, square = np.zeros((2, DIMENSION))
        for update in range(asked.updates + 1):
            if update % 50 == 0:
                got = rollouts(theta, TaskBatch.draw(seed, 2**32, HELD_OUT), sample=True)
                curve.append(f"{100 * got.success.mean():5.1f}")
            batch = TaskBatch.draw(seed, update, asked.groups)
            tasks = [batch.task(n) for n in range(asked.groups) for _ in range(asked.group_size)]
            rng = np.random.Generator(np.random.Philox(key=[seed, update]))
            step = slope(theta, played(theta, tasks, rng), asked.group_size)
            mean, square = 0.9 * mean + 0.1 * step, 0.999 * square + 0.001 * step**2
            size = asked.rate * np.sqrt(1 - 0.999 ** (update + 1)) / (1 - 0.9 ** (update + 1))
            theta = theta + size * mean / (np.sqrt(square) + 1e-8)
        print(f"seed {seed}: {' '.join(curve)} %   {perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
