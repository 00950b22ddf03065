"""
MiniTerm's populations: equal to the environment, and independent of what is computed together.
"""

from __future__ import annotations

import random
import subprocess
import sys

import attrs
import numpy as np
import pytest

from headway.errors import OptionError
from headway_envs import play
from headway_envs.miniterm import (
    DIMENSION,
    MiniTerm,
    Outcomes,
    Policy,
    TaskBatch,
    rollouts,
    warm_start,
)
from headway_envs.miniterm._rollouts import _ROWS

FIELDS = tuple(field.name for field in attrs.fields(Outcomes))


def population(count, seed=0, spread=0.1):
    """
    Thetas around the warm start: short episodes and long ones, some of them successful.
    """
    noise = np.random.default_rng(seed).normal(size=(count, DIMENSION))
    return warm_start() + spread * noise


def same(left, right):
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in FIELDS)


def part(outcomes, *index):
    return Outcomes(**{name: getattr(outcomes, name)[index] for name in FIELDS})


def played(theta, batch, episode, sample):
    """
    The episode as the environment plays it, and how it ended.
    """
    policy = Policy(theta)
    noise = iter(batch.noise()[episode] if sample else np.zeros((16, 12)))
    done = play(
        MiniTerm(),
        batch.task(episode),
        lambda seen, rng: policy.command(seen, next(noise)),
        random.Random(0),
    )
    return done, done.infos[-1]


@pytest.mark.parametrize("sample", [False, True], ids=["likeliest", "drawn"])
@pytest.mark.parametrize("seed", range(5))
def test_a_population_does_what_the_environment_does(seed, sample):
    """
    Every episode of every theta: the same tests pass, after as many turns, with the same reward.
    """
    thetas, batch = population(6, seed), TaskBatch.draw(seed, 3, 24)
    got = rollouts(thetas, batch, sample=sample)
    for row, theta in enumerate(thetas):
        for episode in range(len(batch)):
            done, end = played(theta, batch, episode, sample)
            told = [bool(getattr(got, name)[row, episode]) for name in FIELDS[:3]]

            assert [end[name] for name in FIELDS[:3]] == told
            assert len(done.actions) == got.turns[row, episode]
            assert done.reward == got.fitness[row, episode]
            assert end["success"] == got.success[row, episode]


@pytest.mark.parametrize("seed", range(20))
def test_random_networks_do_as_well(seed):
    """
    Large weights, small ones, none: commands that no policy with sense would give.
    """
    spread = [0.0, 0.05, 1.0, 30.0][seed % 4]
    thetas = np.random.default_rng(seed).normal(size=(2, DIMENSION)) * spread
    batch = TaskBatch.draw(seed, 0, 10)
    got = rollouts(thetas, batch, sample=True)
    told = [
        [played(theta, batch, n, sample=True)[0].reward for n in range(len(batch))]
        for theta in thetas
    ]

    assert told == got.fitness.tolist()


@pytest.mark.parametrize("sample", [False, True], ids=["likeliest", "drawn"])
@pytest.mark.parametrize("seed", range(8))
def test_an_episode_does_not_depend_on_what_is_computed_with_it(seed, sample):
    """
    Any thetas in any order, any number of episodes: each result is the one that it has alone.
    """
    rng = np.random.default_rng(seed)
    thetas, batch = population(24, seed), TaskBatch.draw(seed, 1, 96)
    whole = rollouts(thetas, batch, sample=sample)
    rows = rng.permutation(24)[: rng.integers(1, 24)]
    short = int(rng.integers(1, 96))
    some = rollouts(thetas[rows], TaskBatch.draw(seed, 1, short), sample=sample)
    alone = rollouts(thetas[7], TaskBatch.draw(seed, 1, 1), sample=sample)

    assert same(part(whole, *np.ix_(rows, range(short))), some)
    assert same(part(whole, slice(7, 8), slice(0, 1)), alone)


def test_more_rows_than_are_stepped_together():
    """
    Across the blocks' borders, and with more episodes than one block has rows.
    """
    thetas, batch = population(9), TaskBatch.draw(2, 0, _ROWS // 4)
    whole = rollouts(thetas, batch)
    each = [rollouts(theta, batch) for theta in thetas]
    wide = TaskBatch.draw(2, 0, _ROWS + 5)

    assert all(same(part(whole, slice(n, n + 1)), one) for n, one in enumerate(each))
    assert same(part(rollouts(thetas[:2], wide), ..., slice(_ROWS // 4)), part(whole, slice(2)))


@pytest.mark.parametrize("sample", [False, True], ids=["likeliest", "drawn"])
def test_each_theta_may_have_a_batch_of_its_own(sample):
    """
    The result is the one of each alone, across blocks as well.
    """
    thetas = population(70)
    batches = [TaskBatch.draw(3, n, 128) for n in range(70)]
    whole = rollouts(thetas, batches, sample=sample)

    assert all(
        same(part(whole, slice(n, n + 1)), rollouts(thetas[n], batches[n], sample=sample))
        for n in range(70)
    )


@pytest.mark.parametrize("lengths", [[8, 8], [8, 8, 9], []], ids=str)
def test_batches_that_do_not_fit_are_refused(lengths):
    """
    One for all or one for each, of one length.
    """
    batches = [TaskBatch.draw(0, n, length) for n, length in enumerate(lengths)]

    with pytest.raises(OptionError, match=r"^tasks=.*Give one batch, or 3 of one length"):
        rollouts(population(3), batches)


def test_nothing_is_written_to_what_was_given():
    """
    Thetas and tasks may be shared between threads.
    """
    thetas, batch = population(4), TaskBatch.draw(0, 0, 32)
    before = thetas.copy(), [batch.task(n) for n in range(32)], batch.noise().copy()
    rollouts(thetas, batch, sample=True)

    assert np.array_equal(before[0], thetas)
    assert before[1] == [batch.task(n) for n in range(32)]
    assert np.array_equal(before[2], batch.noise())


def test_single_precision_thetas_are_taken_as_they_are():
    thetas, batch = population(3).astype(np.float32), TaskBatch.draw(0, 0, 64)

    assert same(rollouts(thetas.astype(np.float64), batch), rollouts(thetas, batch))


HASH = """
import hashlib
import numpy as np
from headway_envs.miniterm import DIMENSION, TaskBatch, rollouts, warm_start

noise = np.random.Generator(np.random.Philox(key=[1, 2])).standard_normal((32, DIMENSION))
got = rollouts(warm_start() + 0.1 * noise, TaskBatch.draw(1, 2, 256), sample=True)
arrays = (got.found, got.changed, got.clean, got.turns)
print(hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest())
"""


def hashed(**variables):
    done = subprocess.run(
        [sys.executable, "-c", HASH], env=variables, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_librarys_kernels_do_not_show():
    """
    Other kernels of the linear algebra library, with other orders of adding, give equal results.
    """
    cores = ("Nehalem", "Sandybridge", "Haswell")

    assert {hashed()} == {
        hashed(OPENBLAS_CORETYPE=core, OPENBLAS_NUM_THREADS="2") for core in cores
    }


def test_an_evolution_strategy_gets_somewhere():
    """
    40 updates of a plain one: its theta does better on tasks that it has never seen.
    """
    theta, held_out = warm_start(), TaskBatch.draw(1, 2**32, 2048)
    for update in range(40):
        rng = np.random.Generator(np.random.Philox(key=[1, update]))
        noise = rng.standard_normal((32, DIMENSION))
        around = theta + 0.05 * np.concatenate([noise, -noise])
        got = rollouts(around, TaskBatch.draw(1, update, 64)).fitness.mean(axis=1)
        slope = (got[:32] - got[32:]) @ noise
        theta = theta + 0.35 * slope / np.linalg.norm(slope)
    before, after = rollouts(np.stack([warm_start(), theta]), held_out).fitness.mean(axis=1)

    assert after > before + 0.03
