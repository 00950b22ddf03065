"""
The policy gradient on MiniTerm, against its environment and against finite differences.
"""

from __future__ import annotations

import numpy as np
import pytest

from headway_es.campaign._gradient import GROUP, _back, _grouped, _played, slope, train

miniterm = pytest.importorskip("headway_envs.miniterm", reason="needs headway-envs")

INPUTS, ACTIONS, HIDDEN = 27, 12, miniterm.HIDDEN


def batch(groups=2, number=7):
    return _grouped(miniterm.TaskBatch.draw(3, number, groups))


def probabilities(theta, seen):
    ends = np.cumsum((INPUTS * HIDDEN, HIDDEN, HIDDEN * ACTIONS))
    first, bias, second, last = np.split(theta, ends)
    hidden = np.tanh(seen @ first.reshape(INPUTS, HIDDEN) + bias)
    logits = hidden @ second.reshape(HIDDEN, ACTIONS) + last
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def test_groups_have_one_task_and_many_chances():
    """
    Each task 16 times in a row, each time with chance of its own.
    """
    tasks = batch(groups=3)

    assert 3 * GROUP == len(tasks)
    assert all(len(set(part)) == 1 for part in tasks.index.reshape(3, GROUP).tolist())
    assert 3 * GROUP == len({row.tobytes() for row in tasks.noise()})


def test_what_was_played_is_what_the_environment_plays():
    """
    One episode at a time, through ``MiniTerm`` and ``Policy``: the same commands, the same rewards.
    """
    theta, tasks = miniterm.warm_start(), batch()
    turns, rewards = _played(theta, tasks)
    commands = {n: [] for n in range(len(tasks))}
    for episode, _, command in turns:
        for n, c in zip(episode.tolist(), command.tolist(), strict=True):
            commands[n].append(c)
    policy, noise = miniterm.Policy(theta), tasks.noise()
    for n in range(len(tasks)):
        world, done, total, played = miniterm.MiniTerm(), False, 0.0, []
        seen = world.reset(tasks.task(n))
        while not done:
            played.append(policy.command(seen, noise[n, len(played)]))
            seen, reward, done, _ = world.step(played[-1])
            total += reward

        assert commands[n] == played
        assert total == pytest.approx(rewards[n])
    assert 1 < len(set(rewards.tolist()))


def test_the_slope_is_that_of_every_step_by_itself():
    """
    Summing over different situations is summing over steps.
    """
    theta, tasks = miniterm.warm_start(), batch()
    turns, rewards = _played(theta, tasks)
    centred = rewards.reshape(-1, GROUP)
    advantage = (centred - centred.mean(axis=1, keepdims=True)).ravel() / len(rewards)
    total = np.zeros_like(theta)
    for episode, view, command in turns:
        seen = miniterm.observations(tasks.index[episode], view).astype(float)
        weight = np.zeros((len(episode), ACTIONS))
        weight[np.arange(len(episode)), command] = advantage[episode]
        total += _back(theta, seen, weight)

    assert np.allclose(total, slope(theta, tasks), rtol=1e-9, atol=1e-12)
    assert np.abs(total).max() > 1e-4


def test_the_gradient_against_finite_differences():
    """
    Of the weighted sum of log-probabilities, in some of its parameters of every kind.
    """
    rng = np.random.default_rng(0)
    theta = miniterm.warm_start()
    seen = miniterm.observations(np.arange(5), np.arange(5)).astype(float)
    weight = rng.normal(size=(5, ACTIONS))

    def value(at):
        return float((weight * np.log(probabilities(at, seen))).sum())

    found = _back(theta, seen, weight)
    for place in (3, 500, INPUTS * HIDDEN + 4, INPUTS * HIDDEN + HIDDEN + 9, len(theta) - 1):
        move = np.zeros_like(theta)
        move[place] = 1e-5

        assert (value(theta + move) - value(theta - move)) / 2e-5 == pytest.approx(
            found[place], rel=1e-5, abs=1e-7
        )


def test_it_learns_and_repeats():
    """
    Held-out success rises, and the same seed leads to the same parameters.
    """
    options = {"rate": 0.01, "updates": 30, "episodes": 1024, "held_out": 512, "every": 15}
    found, again = train(seed=1, **options), train(seed=1, **options)

    assert 3 == len(found.curve)
    assert found.drawn > train(seed=1, **{**options, "updates": 0}).drawn + 3
    assert found.theta.tobytes() == again.theta.tobytes()
    assert found.theta.tobytes() != train(seed=2, **options).theta.tobytes()
