"""
MiniTerm's policy network: its layout, its arithmetic, and what it refuses.
"""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from headway.errors import OptionError
from headway_envs.miniterm import (
    DIMENSION,
    HIDDEN,
    SCALE,
    MiniTerm,
    Policy,
    TaskBatch,
    observations,
    rollouts,
    warm_start,
)

INPUTS, ACTIONS = 27, 12
TASKS = TaskBatch.draw(5, 0, 3)


def thetas(count, seed=0, spread=0.5):
    return np.random.default_rng(seed).normal(size=(count, DIMENSION)) * spread


def plain_logits(theta, seen):
    """
    The network in double precision, as a textbook has it.
    """
    ends = np.cumsum((INPUTS * HIDDEN, HIDDEN, HIDDEN * ACTIONS))
    first, bias, second, last = np.split(theta, ends)
    hidden = np.tanh(np.asarray(seen) @ first.reshape(INPUTS, HIDDEN) + bias)
    return hidden @ second.reshape(HIDDEN, ACTIONS) + last


def every_observation():
    return observations(*np.indices((64, 160)).reshape(2, -1))


def test_the_dimension_is_that_of_the_layers():
    assert 27 * 32 + 32 + 32 * 12 + 12 == DIMENSION == 1292
    assert (INPUTS, ACTIONS) == (MiniTerm.observation_size, MiniTerm.actions)


def test_observations_are_zeros_and_ones_and_all_different():
    """
    A one for kind, token, goal and directory each; at most one for the line and the clipboard.
    """
    seen = every_observation()
    groups = np.split(seen, [4, 8, 12, 16, 23], axis=1)
    ones = [set(group.sum(axis=1).tolist()) for group in groups]

    assert (64 * 160, 27) == seen.shape
    assert {0.0, 1.0} == set(np.unique(seen).tolist())
    assert [{1.0}] * 4 + [{0.0, 1.0}] * 2 == ones
    assert len(seen) == len(np.unique(seen, axis=0))


def test_observations_broadcast():
    """
    One task with several views, and the other way round.
    """
    assert np.array_equal(observations(5, [1, 2]), observations([5, 5], [1, 2]))
    assert np.array_equal(observations([[5], [6]], 1)[:, 0], observations([5, 6], [1, 1]))


def test_logits_are_the_networks():
    """
    To the rounding of hidden units, which is by at most 2**-13 each, and of single precision.
    """
    for theta in thetas(3):
        policy, seen = Policy(theta), every_observation()[::97]
        exact = np.array([plain_logits(theta, row) for row in seen])
        got = np.array([policy.logits(row) for row in seen]) / SCALE
        bound = np.abs(theta[INPUTS * HIDDEN + HIDDEN :]).max() * 32 * (2**-13 + 2**-16)

        assert np.abs(exact - got).max() < bound


def test_logits_are_whole_multiples():
    """
    So that no order of adding can change them.
    """
    logits = Policy(thetas(1)[0]).logits(MiniTerm().reset(TASKS.task(0)))

    assert np.array_equal(np.rint(logits), logits)


def test_the_second_layers_sums_are_exact():
    """
    Against whole numbers of any size, at the largest weights there may be.
    """
    rng = np.random.default_rng(1)
    for row in rng.choice([-1024.0, 1024.0, 1023.99], size=(50, DIMENSION)):
        policy, seen = Policy(row), MiniTerm().reset(TASKS.task(1))
        network = policy._network
        told, views = network.by_task[0], network.by_view
        task, view = int(TASKS.index[1]), int(TASKS.views[1])
        hidden = np.rint(np.tanh(views[view] + told[task]) * np.float32(2**12)).astype(int).tolist()
        weights = network.second[0].astype(int).T.tolist()
        bias = network.last[0, 0].astype(int).tolist()
        sums = [
            sum(h * w for h, w in zip(hidden, column, strict=True)) + b
            for column, b in zip(weights, bias, strict=True)
        ]

        assert sums == [int(value) for value in policy.logits(seen)]


def test_noise_draws_with_the_networks_probabilities():
    """
    20,000 draws of one command; each frequency is within five standard errors.
    """
    batch = TaskBatch.draw(8, 0, 1250)
    policy, seen = Policy(thetas(1, spread=0.3)[0]), MiniTerm().reset(batch.task(0))
    logits = policy.logits(seen) / SCALE
    chance = np.exp(logits - logits.max())
    chance /= chance.sum()
    drawn = [policy.command(seen, row) for row in batch.noise().reshape(-1, ACTIONS)]
    shares = np.bincount(drawn, minlength=ACTIONS) / len(drawn)

    assert (np.abs(shares - chance) < 5 * np.sqrt(chance / len(drawn)) + 1e-9).all()


def test_a_weight_beyond_1024_counts_as_1024():
    """
    A theta that has run away is a bad policy and no error.
    """
    theta = thetas(1)[0]
    theta[100], theta[1000] = 5e8, -5e8
    cut = np.clip(theta, -1024, 1024)
    seen = MiniTerm().reset(TASKS.task(2))

    assert np.array_equal(Policy(cut).logits(seen), Policy(theta).logits(seen))


@pytest.mark.parametrize(
    "shape",
    [(DIMENSION - 1,), (DIMENSION + 1,), (0,), (), (2, 3), (0, DIMENSION), (1, 1, DIMENSION)],
)
@pytest.mark.parametrize("use", [Policy, lambda theta: rollouts(theta, TASKS)], ids=["one", "many"])
def test_a_theta_of_another_size_is_refused(shape, use):
    """
    The error says which shape it has, and which it must have.
    """
    with pytest.raises(OptionError, match=r"^theta='an array of shape .*: Give vectors of 1292"):
        use(np.zeros(shape))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_theta_that_is_not_finite_is_refused(bad):
    """
    The error says which row, and what may help.
    """
    several = thetas(3)
    several[1, 7] = bad

    with pytest.raises(OptionError, match=r"row 1 holds NaN or infinity.*lower the learning rate"):
        rollouts(several, TASKS)


def test_a_policy_is_one_theta():
    """
    Of several, which one would be meant?
    """
    with pytest.raises(OptionError, match="Give one vector"):
        Policy(thetas(2))


def test_the_warm_start_is_what_its_docstring_says():
    """
    A new array each time, of numbers that float32 holds; about one success in four.
    """
    theta = warm_start()
    got = rollouts(theta, TaskBatch.draw(1, 0, 4096))

    assert theta is not warm_start()
    assert (DIMENSION,) == theta.shape
    assert np.array_equal(theta.astype(np.float32), theta)
    assert 0.22 < got.success.mean() < 0.30


def test_what_workers_are_sent_may_travel():
    """
    A policy and a batch give the same in another process.
    """
    policy, batch = pickle.loads(pickle.dumps((Policy(thetas(1)[0]), TASKS)))
    seen = MiniTerm().reset(TASKS.task(0))

    assert np.array_equal(Policy(thetas(1)[0]).logits(seen), policy.logits(seen))
    assert np.array_equal(TASKS.noise(), batch.noise())
