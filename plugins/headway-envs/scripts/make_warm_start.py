"""
Make the theta that MiniTerm's experiments start from: a little learned by imitation.

    python plugins/headway-envs/scripts/make_warm_start.py

A scripted expert does tasks of its own seed; the network is taught its commands with Adam on the
cross-entropy, full batch, for a fixed number of steps.  That leaves a policy which succeeds in about
one episode of four, so that a change for the worse is seen as well as one for the better.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from headway_envs.miniterm import TaskBatch, observations, rollouts
from headway_envs.miniterm._policy import ACTIONS, DIMENSION, HIDDEN, INPUTS
from headway_envs.miniterm._rules import (
    COPY,
    DIRECTORIES,
    DONE,
    EMPTY,
    KINDS,
    LINK,
    LOOK,
    NOTHING,
    PASTE,
    REMOVE,
    SUBMIT,
    TURNS,
    Goal,
    World,
    apply,
)
from headway_envs.miniterm._tables import view

SEED, EPISODES, STEPS, RATE, SPREAD = 20_000, 512, 100, 0.01, 0.3
OUT = Path(__file__).parent.parent / "src/headway_envs/miniterm/data/warm-start.npy"


def expert(goal: Goal, world: World, printed: int) -> int:
    """
    A perfect command, from what a policy sees alone.
    """
    kind, at_goal = KINDS[goal.kind], world.cwd == goal.to
    holds, sees = world.clipboard == goal.token, printed == 1 + goal.token
    if kind in {"link", "remove"}:
        if printed in {EMPTY, DONE}:
            return SUBMIT
        if sees:
            return LINK if kind == "link" else REMOVE
    elif holds:
        if printed == DONE:
            return SUBMIT if at_goal else (REMOVE if kind == "move" else goal.to)
        return PASTE if at_goal else goal.to
    elif sees:
        return COPY
    return LOOK if printed == NOTHING else (world.cwd + 1) % DIRECTORIES


def lessons(seed: int, episodes: int) -> tuple[np.ndarray, np.ndarray]:
    """
    What the expert sees, shape (n, 27), and what it does, shape (n,).
    """
    batch, seen, done = TaskBatch.draw(seed, 0, episodes), [], []
    for episode in range(episodes):
        goal, printed = batch.goal(episode), NOTHING
        world = goal.begin()
        for _ in range(TURNS):
            command = expert(goal, world, printed)
            seen.append((batch.index[episode], view(printed, world.cwd, world.clipboard)))
            done.append(command)
            world, printed = apply(world, command)
            if command == SUBMIT:
                break
    task, views = np.array(seen).T
    return observations(task, views).astype(np.float64), np.array(done)


def taught(inputs: np.ndarray, commands: np.ndarray, steps: int) -> np.ndarray:
    """
    A theta after some steps of Adam, with numbers that float32 holds.
    """
    rng = np.random.Generator(np.random.Philox(key=[SEED, 0]))
    theta = rng.standard_normal(DIMENSION) * SPREAD
    mean, square = np.zeros((2, DIMENSION))
    ends = np.cumsum((INPUTS * HIDDEN, HIDDEN, HIDDEN * ACTIONS))
    for step in range(1, steps + 1):
        first, bias, second, last = np.split(theta, ends)
        first, second = first.reshape(INPUTS, HIDDEN), second.reshape(HIDDEN, ACTIONS)
        hidden = np.tanh(inputs @ first + bias)
        logits = hidden @ second + last
        chance = np.exp(logits - logits.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        chance[np.arange(len(commands)), commands] -= 1
        chance /= len(commands)
        back = (chance @ second.T) * (1 - hidden**2)
        parts = (inputs.T @ back, back.sum(axis=0), hidden.T @ chance, chance.sum(axis=0))
        slope = np.concatenate([part.ravel() for part in parts])
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        size = RATE * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        theta -= size * mean / (np.sqrt(square) + 1e-8)
    return theta.astype(np.float32)


def main() -> None:
    """
    Write the file and say how good the policy is.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    theta = taught(*lessons(SEED, EPISODES), options.steps)
    np.save(options.out, theta)
    tasks = TaskBatch.draw(SEED, 1, 4096)
    for words, sample in (("likeliest commands", False), ("commands drawn", True)):
        got = rollouts(theta, tasks, sample=sample)
        kinds = [
            f"{kind} {got.success[0, tasks.kind == n].mean():.3f}" for n, kind in enumerate(KINDS)
        ]
        print(f"{words}: success {got.success.mean():.3f} ({', '.join(kinds)})")


if __name__ == "__main__":
    main()
