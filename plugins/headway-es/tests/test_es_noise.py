"""
Keyed noise: the formula, by block and by job, three ways.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from headway.errors import OptionError
from headway_es import perturbation
from headway_es._noise import BLOCK, Sign32, Stored, Table32, Zig32, source_of

SPECS = ("zig32-v1", "sign32-v1", "table32-v1/18")


def by_the_formula(seed, job, block, count):
    key = np.array([seed, 0xE5], dtype=np.uint64)
    bits = np.random.Philox(key=key, counter=[0, block, job, 0])
    return np.random.Generator(bits).standard_normal(count, dtype=np.float32)


def block(source, job, number, count):
    return source.block(job, number, np.empty(count, dtype=np.float32)).copy()


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_zig32_is_the_formula_whatever_was_drawn_before(seed):
    """
    The generator is set to each block anew: order and repetition don't show.
    """
    source = Zig32(seed)
    for job, number, count in [(0, 0, 5), (9, 3, BLOCK), (0, 0, 1), (2**40, 1, 77), (9, 3, 40)]:
        wanted = by_the_formula(seed, job, number, count)

        assert wanted.tobytes() == block(source, job, number, count).tobytes()


def test_its_bits_are_these():
    """
    A perturbation of two blocks and a bit, as it was when the format was fixed.
    """
    found = perturbation("zig32-v1", seed=7, job=11, dim=2 * BLOCK + 100)

    assert (
        "b2192e9bdbce6ca44ab1e44f2217205d722861cfcc0c70a0f2e8d4b6900d79e2"
        == hashlib.sha256(found.tobytes()).hexdigest()
    )


@pytest.mark.parametrize("spec", SPECS)
def test_a_short_block_is_the_beginning_of_a_long_one(spec):
    """
    So that the last block of a perturbation is one like the others.
    """
    source = source_of(spec, 3, 1000)
    whole = block(source, 5, 0, 1000)

    for count in (1, 7, 8, 9, 63, 64, 65, 999):
        assert whole[:count].tobytes() == block(source, 5, 0, count).tobytes()


@pytest.mark.parametrize("spec", SPECS)
def test_noise_differs_by_seed_job_and_block(spec):
    """
    Each of the three is in the key.
    """
    dim = 2 * BLOCK
    rows = [
        perturbation(spec, seed=seed, job=job, dim=dim) for seed, job in [(1, 1), (1, 2), (2, 1)]
    ]
    pieces = [row[begin : begin + BLOCK].tobytes() for row in rows for begin in (0, BLOCK)]

    assert 6 == len(set(pieces))


@pytest.mark.parametrize("spec", SPECS)
def test_noise_has_mean_nothing_and_variance_one(spec):
    """
    Over 131,072 numbers, within five standard errors; of a table, pieces of one sample.
    """
    found = perturbation(spec, seed=5, job=3, dim=2 * BLOCK).astype(np.float64)
    error = 5 / np.sqrt(len(found))

    assert 0 == pytest.approx(found.mean(), abs=error)
    assert 1 == pytest.approx((found**2).mean(), abs=2 * error)


def test_jobs_are_not_correlated():
    """
    All pairs of 40 jobs: the largest of 780 correlations stays below five standard errors.
    """
    for spec in ("zig32-v1", "sign32-v1"):
        rows = np.stack([perturbation(spec, seed=1, job=j, dim=10_000) for j in range(40)])
        found = np.corrcoef(rows.astype(np.float64))
        np.fill_diagonal(found, 0)

        assert 5 / np.sqrt(10_000) > abs(found).max()


def test_signs_are_the_bits_of_the_stream():
    """
    Eight a byte, the lowest bit first, 1 for plus.
    """
    bits = np.random.Philox(key=[4, 0xE5], counter=[0, 2, 9, 0]).random_raw(4)
    flat = np.unpackbits(bits.astype("<u8").view(np.uint8), bitorder="little")

    assert (2.0 * flat[:200] - 1).tolist() == block(Sign32(4), 9, 2, 200).tolist()


@pytest.mark.parametrize("spec", SPECS)
def test_scaled_is_the_product_of_32_bits(spec):
    """
    Whichever way it is made.
    """
    source, factor = source_of(spec, 3, 1000), np.float32(-0.37)
    out = np.empty(1000, dtype=np.float32)
    found = source.scaled(6, 0, factor, out)

    assert found is out
    assert (block(source, 6, 0, 1000) * factor).tobytes() == out.tobytes()


def test_pieces_of_a_table_lie_where_the_key_says():
    """
    Inside of it, and spread over all of it; the table itself depends on no run.
    """
    dim, size = 1000, 2**16
    one, other = Table32(1, dim, 16), Table32(2, dim, 16)
    offsets = [one.offset(job) for job in range(2000)]

    assert 0 <= min(offsets) < 0.01 * size
    assert size - dim >= max(offsets) > 0.99 * (size - dim)
    assert offsets != [other.offset(job) for job in range(2000)]
    assert one._table is other._table
    with pytest.raises(ValueError, match="read-only"):
        one.block(0, 0, np.empty(4, np.float32))[0] = 1


def test_a_store_gives_what_was_drawn_and_draws_once():
    """
    Also after a job has taken another one's place, and came back.
    """

    class Counted(Zig32):
        drawn = 0

        def block(self, job, number, out):
            self.drawn += 1
            return super().block(job, number, out)

    dim = BLOCK + 50
    source = Counted(3)
    store = Stored(source, dim, jobs=2)
    for job in (0, 1, 0, 1, 2, 1, 2, 0):
        for number, count in ((0, 10), (1, 50), (0, BLOCK)):
            wanted = by_the_formula(3, job, number, count)

            assert wanted.tobytes() == block(store, job, number, count).tobytes()
    assert 2 * 4 == source.drawn  # 0, 1, 2 in the place of 0, and 0 again


def test_a_store_of_a_table_copies_it():
    """
    A piece of a table is no room of the store's.
    """
    table = Table32(3, 500, 16)
    store = Stored(table, 500, jobs=1)

    assert block(table, 4, 0, 500).tobytes() == block(store, 4, 0, 500).tobytes()


@pytest.mark.parametrize(
    ("spec", "dim", "told"),
    [
        ("gauss", 4, "Give zig32-v1, sign32-v1 or table32-v1/22"),
        ("table32-v1", 4, "Give zig32-v1"),
        ("table32-v1/x", 4, "Give zig32-v1"),
        ("table32-v1/3", 4, "power of two from 16 to 32"),
        ("table32-v1/16", 2**16 + 1, "2\\*\\*16 numbers is shorter than 65537"),
    ],
)
def test_what_is_no_noise_is_refused(spec, dim, told):
    """
    With what may be given instead.
    """
    with pytest.raises(OptionError, match=told):
        source_of(spec, 0, dim)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_does_not_fit_the_key_is_refused(seed):
    """
    By name.
    """
    for spec in SPECS:
        with pytest.raises(OptionError, match=r"seed=-?\d+: Give a whole number from 0"):
            source_of(spec, seed, 4)


SCRIPT = """
import hashlib, numpy as np
from headway_es._kernels import candidates, weighted_sum
from headway_es._noise import source_of
from headway_es._optimizers import Adam
theta, moments, digest = np.linspace(-1, 1, 70_001), None, hashlib.sha256()
for spec in ("zig32-v1", "sign32-v1", "table32-v1/18"):
    source = source_of(spec, 7, len(theta))
    for halves in candidates(source, 3, theta, 0.05):
        digest.update(halves.tobytes())
    g = weighted_sum(source, range(40), [0.013 * i - 0.2 for i in range(40)], len(theta))
    theta, moments = Adam().step(theta, g / 80, moments)
    digest.update(theta.tobytes())
print(digest.hexdigest())
"""


def test_every_instruction_set_gives_the_same_bits():
    """
    Noise, sums and Adam with and without the wide instructions of this processor.
    """

    def run(**settings):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **settings}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SCRIPT],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    known = np._core._multiarray_umath.__cpu_dispatch__
    found = np._core._multiarray_umath.__cpu_features__
    usable = [name for name in known if found.get(name)]

    assert run() == run(NPY_DISABLE_CPU_FEATURES=" ".join(usable))
