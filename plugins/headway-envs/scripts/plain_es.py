"""
A plain evolution strategy on MiniTerm, without Headway: does the task teach, and how much?

    python plugins/headway-envs/scripts/plain_es.py
    python plugins/headway-envs/scripts/plain_es.py --lag 8

Mirrored pairs, centred ranks, Adam.  With ``--lag K`` every gradient is K updates old: the pairs
are drawn around theta as it was K updates ago, and the step is made from theta as it is.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

from headway_envs.miniterm import TaskBatch, rollouts, warm_start

HELD_OUT = 2048
"""Episodes of a batch that training never sees."""


def shaped(values: np.ndarray) -> np.ndarray:
    """
    Ranks from -0.5 to 0.5, equal for equal values; shape as given.
    """
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    return (middle[where] / (values.size - 1) - 0.5).reshape(values.shape)


def trained(options: argparse.Namespace, seed: int) -> list[float]:
    """
    The held-out success at the start, after every 50 updates, and at the end.
    """
    thetas, curve = [warm_start()], []
    mean, square = np.zeros((2, thetas[0].size))
    held_out = TaskBatch.draw(seed, 2**32, HELD_OUT)
    for update in range(options.updates + 1):
        if update % 50 == 0 or update == options.updates:
            curve.append(float(rollouts(thetas[-1], held_out).success.mean()))
        base = thetas[max(0, len(thetas) - 1 - options.lag)]
        rng = np.random.Generator(np.random.Philox(key=[seed, update]))
        noise = rng.standard_normal((options.pairs, base.size), np.float32).astype(float)
        tasks = TaskBatch.draw(seed, update, options.episodes)
        around = base + options.sigma * np.concatenate([noise, -noise])
        plus, minus = shaped(rollouts(around, tasks).fitness.mean(axis=1).reshape(2, -1))
        slope = (plus - minus) @ noise / (2 * options.pairs)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        size = options.rate * np.sqrt(1 - 0.999 ** (update + 1)) / (1 - 0.9 ** (update + 1))
        thetas = [*thetas[-options.lag - 1 :], thetas[-1] + size * mean / (np.sqrt(square) + 1e-8)]
    return curve


def main() -> None:
    """
    Print one line a seed.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--lag", type=int, default=0, help="how old every gradient is, in updates")
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--episodes", type=int, default=64, help="of each half of a pair")
    parser.add_argument("--sigma", type=float, default=0.05)
    parser.add_argument("--rate", type=float, default=0.02)
    options = parser.parse_args()
    for seed in range(options.seeds):
        begun = perf_counter()
        curve = " ".join(f"{100 * success:5.1f}" for success in trained(options, seed))
        print(
            f"seed {seed}, lag {options.lag}: {curve} %   {perf_counter() - begun:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
