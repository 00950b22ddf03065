"""
The two sums over noise that an evolution strategy is made of, block by block and in a fixed order.

Each block is used as soon as it has been drawn, while it is in the processor's cache, so that drawing is
what takes the time.  No product goes through BLAS, and nothing but + - x touches a parameter: the same
numbers give the same bits on every processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headway_es._noise import BLOCK, Float32, Source

Array: TypeAlias = npt.NDArray[Any]
Float64: TypeAlias = npt.NDArray[np.float64]

CHUNK = 16
"""Cards whose products are added up in 32 bits before the sum is added in 64."""


def candidates(
    source: Source, job: int, theta: Array, sigma: float, out: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """
    The two halves of a mirrored pair: ``theta + sigma * eps`` and ``theta - sigma * eps``.

    The product is of 32 bits, as numpy makes it; the sum is of theta's kind.

    Args:
        source: What draws eps.
        job: The number of the job.
        theta: The centre, float32 or float64, of shape (dim,).
        sigma: The size of the perturbation.
        out: Two arrays like theta that the halves are written to; by default new ones.
    """
    plus, minus = (np.empty_like(theta), np.empty_like(theta)) if out is None else out
    size, room = np.float32(sigma), np.empty(min(len(theta), BLOCK), dtype=np.float32)
    for number, begin in enumerate(range(0, len(theta), BLOCK)):
        centre, one = theta[begin : begin + BLOCK], plus[begin : begin + BLOCK]
        # Where it fits, the move is written to where the first half will be: less to keep in the cache.
        move = source.scaled(
            job, number, size, one if one.dtype == size.dtype else room[: len(one)]
        )
        np.subtract(centre, move, out=minus[begin : begin + BLOCK])
        np.add(centre, move, out=one)
    return plus, minus


def weighted_sum(
    source: Source, jobs: Sequence[int], weights: Sequence[float], dim: int
) -> Float64:
    """
    ``sum_i weights[i] * eps(jobs[i])``, the cards one after the other as they are given.

    The products and the sums of ``CHUNK`` cards are of 32 bits, the sum of these of 64.

    Args:
        source: What draws eps.
        jobs: The numbers of the jobs, in the order that counts.
        weights: One for each; a job of weight 0 is not drawn.
        dim: How long a perturbation is.

    Returns:
        float64, of shape (dim,).
    """
    terms = [(job, np.float32(w)) for job, w in zip(jobs, weights, strict=True) if w]
    chunks = [terms[begin : begin + CHUNK] for begin in range(0, len(terms), CHUNK)]
    total = np.zeros(dim, dtype=np.float64)
    room = np.empty((2, min(dim, BLOCK)), dtype=np.float32)
    for number, begin in enumerate(range(0, dim, BLOCK)):
        sums = total[begin : begin + BLOCK]
        for chunk in chunks:
            np.add(sums, _partial(source, number, chunk, room[:, : len(sums)]), out=sums)
    return total


def _partial(
    source: Source, number: int, chunk: Sequence[tuple[int, np.float32]], room: Array
) -> Float32:
    """
    The sum over some cards in one block, in 32 bits.
    """
    product: Float32 = room[0]
    partial: Float32 = room[1]
    (first, weight), *others = chunk
    source.scaled(first, number, weight, partial)
    for job, weight in others:
        np.add(partial, source.scaled(job, number, weight, product), out=partial)
    return partial
