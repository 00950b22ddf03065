"""
The two sums over noise.
"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from headway_es import Strategy, perturbation
from headway_es._kernels import CHUNK, candidates, weighted_sum
from headway_es._noise import BLOCK, Stored, source_of

DIM = BLOCK + 123
SPECS = ("zig32-v1", "sign32-v1", "table32-v1/18")


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_halves_are_what_numpy_makes_of_the_formula(spec, kind):
    """
    theta + sigma * eps and theta - sigma * eps, to the bit; theta stays as it is.
    """
    theta = np.linspace(-1, 1, DIM).astype(kind)
    before = theta.copy()
    plus, minus = candidates(source_of(spec, 7, DIM), 4, theta, 0.05)
    eps = perturbation(spec, seed=7, job=4, dim=DIM)

    assert (theta + np.float32(0.05) * eps).tobytes() == plus.tobytes()
    assert (theta - np.float32(0.05) * eps).tobytes() == minus.tobytes()
    assert before.tobytes() == theta.tobytes()


def test_halves_are_written_where_the_caller_says():
    """
    So that a worker needs two arrays for all its jobs.
    """
    theta, out = np.zeros(10), (np.empty(10), np.empty(10))
    found = candidates(source_of("zig32-v1", 0, 10), 0, theta, 0.1, out)

    assert found[0] is out[0]
    assert found[1] is out[1]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("count", [1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_the_sum_is_in_the_order_of_the_cards(spec, count):
    """
    16 cards in 32 bits, these sums in 64; the same with noise that was stored.
    """
    rng = np.random.default_rng(0)
    jobs = rng.permutation(1000)[:count].tolist()
    weights = rng.normal(size=count).tolist()
    rows = [
        np.float32(w) * perturbation(spec, seed=7, job=job, dim=DIM)
        for job, w in zip(jobs, weights, strict=True)
    ]
    wanted = np.zeros(DIM)
    for begin in range(0, count, CHUNK):
        part = rows[begin]
        for row in rows[begin + 1 : begin + CHUNK]:
            part = part + row
        wanted = wanted + part
    source = source_of(spec, 7, DIM)
    stored = Stored(source, DIM, count)

    assert wanted.tobytes() == weighted_sum(source, jobs, weights, DIM).tobytes()
    assert wanted.tobytes() == weighted_sum(stored, jobs, weights, DIM).tobytes()


def test_it_is_close_to_the_exact_sum():
    """
    300 cards, against 64 bits throughout: a relative error of a few in ten million.
    """
    rng = np.random.default_rng(1)
    weights = rng.normal(size=300).tolist()
    rows = np.stack([perturbation("zig32-v1", seed=1, job=j, dim=2000) for j in range(300)])
    exact = np.asarray(weights) @ rows.astype(np.float64)
    found = weighted_sum(source_of("zig32-v1", 1, 2000), range(300), weights, 2000)

    assert 5e-7 > np.linalg.norm(found - exact) / np.linalg.norm(exact)


def test_a_card_without_weight_is_not_drawn():
    """
    And adds nothing, as no card does at all.
    """
    source = source_of("zig32-v1", 0, 5)
    two = weighted_sum(source, [1, 2, 3], [0.5, 0.0, 0.25], 5)

    assert weighted_sum(source, [1, 3], [0.5, 0.25], 5).tobytes() == two.tobytes()
    assert [0.0] * 5 == weighted_sum(source, [], [], 5).tolist()


@pytest.mark.parametrize(("store", "vectors"), [(False, 16), (True, 64)])
def test_noise_that_is_drawn_again_takes_memory_of_a_few_thetas(store, vectors):
    """
    A generation of 128 pairs at most that many vectors of 64 bits at once; stored noise is as long as
    64 of them.
    """
    dim, pairs = 100_000, 128
    tracemalloc.start()
    try:
        strategy = Strategy(theta=np.zeros(dim), population=pairs, store=store)
        out = (np.empty(dim), np.empty(dim))
        for pair in range(pairs):
            strategy.ask(pair, out)
        strategy.tell([(float(i), 0.0) for i in range(pairs)])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert vectors <= peak / (8 * dim) if store else peak / (8 * dim) <= vectors
