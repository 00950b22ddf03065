"""
A synchronous evolution strategy as one would write it down: no Headway, no workers, no versions.

What the optimizer does with nothing stale must be this, to the last bit.
"""

from __future__ import annotations

import hashlib

import numpy as np


def noise(seed, job, dim):
    blocks = []
    for b in range(-(-dim // 65_536)):
        bits = np.random.Philox(key=[seed, 0xE5], counter=[0, b, job, 0])
        size = min(65_536, dim - b * 65_536)
        blocks.append(np.random.Generator(bits).standard_normal(size, dtype=np.float32))
    return np.concatenate(blocks)


def centred_ranks(values):
    values = np.asarray(values)
    below = (values[None, :] < values[:, None]).sum(axis=1)
    equal = (values[None, :] == values[:, None]).sum(axis=1)
    return (below + (equal - 1) / 2) / (len(values) - 1) - 0.5


def plain_es(function, theta, *, seed, updates, pairs, sigma, lr):
    """
    The SHA-256 of theta after so many updates, and theta: ranks and Adam.
    """
    m, v, p1, p2 = 0.0, 0.0, 1.0, 1.0
    for update in range(updates):
        jobs = range(update * pairs, (update + 1) * pairs)
        eps = [noise(seed, job, len(theta)) for job in jobs]
        fitness = [
            f
            for e in eps
            for f in (
                function(theta + np.float32(sigma) * e),
                function(theta - np.float32(sigma) * e),
            )
        ]
        utility = centred_ranks(fitness)
        weights = (utility[0::2] - utility[1::2]).astype(np.float32)
        total = np.zeros(len(theta))
        for begin in range(0, pairs, 16):  # 16 cards in 32 bits, these sums in 64
            part = weights[begin] * eps[begin]
            for i in range(begin + 1, min(begin + 16, pairs)):
                part = part + weights[i] * eps[i]
            total = total + part
        g = total / (2 * pairs)
        m, v, p1, p2 = (
            0.9 * m + (1 - 0.9) * g,
            0.999 * v + (1 - 0.999) * (g * g),
            p1 * 0.9,
            p2 * 0.999,
        )
        theta = theta + m * (lr * 1.0 / (1 - p1)) / (np.sqrt(v * (1 / (1 - p2))) + 1e-8)
    return hashlib.sha256(theta.tobytes()).hexdigest(), theta
