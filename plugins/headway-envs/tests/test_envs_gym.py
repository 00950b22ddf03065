"""
Gymnasium's environments under the protocol, where Gymnasium is installed; its absence anywhere.
"""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from headway.errors import OptionError, UsageError
from headway_envs import Gym, Slow, play
from headway_envs._gym import plain


def test_what_is_missing_is_named_with_its_remedy(monkeypatch):
    """
    Where Gymnasium is not installed, the error says how to install it.
    """
    monkeypatch.setitem(sys.modules, "gymnasium", None)

    with pytest.raises(UsageError, match=r"not installed\. Install it with: python -m pip install"):
        Gym("CartPole-v1")


def test_everything_becomes_json():
    """
    Arrays, numpy's numbers, tuples, mappings; what is none of these becomes its text.
    """
    given = {
        "array": np.array([[1.5, 2.0]], np.float32),
        "number": np.int64(3),
        "truth": np.bool_(True),
        4: (1, None, "x"),
        "type": int,
    }

    assert {
        "array": [[1.5, 2.0]],
        "number": 3,
        "truth": True,
        "4": [1, None, "x"],
        "type": "<class 'int'>",
    } == plain(given)


@pytest.fixture
def gymnasium():
    return pytest.importorskip("gymnasium", reason="needs gymnasium, an extra of headway-envs")


@pytest.fixture
def make(gymnasium):
    """
    Makes environments and closes them at the end.
    """
    made = []

    def one(name, **options):
        made.append(Gym(name, **options))
        return made[-1]

    yield one
    for each in made:
        each.close()


def balance(seen, rng):
    return int(seen[2] + seen[3] > 0)


def swing(seen, rng):
    return 2 if seen[5] > 0 else 0


@pytest.mark.parametrize(
    ("name", "act", "size", "actions", "least"),
    [("CartPole-v1", balance, 4, 2, 100.0), ("Acrobot-v1", swing, 6, 3, -200.0)],
)
def test_classic_control_can_be_played(make, name, act, size, actions, least):
    """
    A rule of thumb does far better than chance, so observations and actions mean what they should.
    """
    gym = make(name)
    rewards = [play(gym, {"seed": n}, act, random.Random(0)).reward for n in range(5)]

    assert (size, actions) == (gym.observation_size, gym.actions)
    assert sum(rewards) / len(rewards) > least


def test_equal_seeds_give_equal_episodes(make):
    """
    The task's, whatever the generator; without one, the generator's.
    """

    def reward(task, seed):
        return play(make("CartPole-v1"), task, lambda seen, rng: 1, random.Random(seed))

    assert reward({"seed": 4}, 1) == reward({"seed": 4}, 2)
    assert reward({"seed": 4}, 1) != reward({"seed": 5}, 1)
    assert reward(None, 1) == reward({}, 1)
    assert reward(None, 1) != reward(None, 2)


def test_a_seed_in_the_task_does_not_shift_the_generator(make):
    """
    A policy draws the same numbers with and without it.
    """
    rngs = random.Random(8), random.Random(8)
    make("CartPole-v1").reset({"seed": 1}, rngs[0])
    make("CartPole-v1").reset(None, rngs[1])

    assert rngs[0].getstate() == rngs[1].getstate()


def test_it_is_what_gymnasium_does(gymnasium, make):
    """
    Step by step, as JSON.
    """
    gym, inner = make("Acrobot-v1"), gymnasium.make("Acrobot-v1")
    seen, _ = inner.reset(seed=3)

    assert seen.tolist() == gym.reset({"seed": 3}, random.Random(0))
    for action in [0, 1, 2, 2, 0]:
        seen, reward, _, _, _ = inner.step(action)
        step = gym.step(action)

        assert (seen.tolist(), float(reward), False) == step[:3]
    inner.close()


def test_a_limit_of_turns_is_told_as_truncated(make):
    """
    The episode ends, and its info says why.
    """
    got = play(make("Acrobot-v1", max_episode_steps=7), None, lambda s, r: 1, random.Random(0))

    assert (7, True) == (len(got.actions), got.infos[-1]["truncated"])
    assert not any(info["truncated"] for info in got.infos[:-1])


def test_an_end_of_its_own_is_not_truncated(make):
    got = play(make("CartPole-v1"), {"seed": 0}, lambda s, r: 1, random.Random(0))

    assert (True, False) == (got.done, got.infos[-1]["truncated"])


def test_an_id_that_gymnasium_does_not_know_is_refused(gymnasium):
    with pytest.raises(OptionError, match=r"^name='CartPool-v1': Give an id.*It said: "):
        Gym("CartPool-v1")


@pytest.mark.parametrize("seed", [-1, 2**31, 1.5, True, "7"])
def test_a_seed_that_is_none_is_refused(make, seed):
    with pytest.raises(OptionError, match=r"^seed=.*Give a whole number of at least 0 and below"):
        make("CartPole-v1").reset({"seed": seed}, random.Random(0))


def test_actions_that_can_not_be_counted_are_refused(make):
    """
    A torque is a number; the environment can be played all the same.
    """
    gym = make("Pendulum-v1")
    with pytest.raises(UsageError, match="can't be counted"):
        _ = gym.actions
    got = play(gym, {"seed": 1}, lambda seen, rng: [0.5], random.Random(0), turns=3)

    assert (3, 3) == (gym.observation_size, len(got.actions))


def test_observations_of_no_fixed_size_are_refused(make):
    """
    Such as the hands of a game of cards.
    """
    gym = make("Blackjack-v1")
    with pytest.raises(UsageError, match="no fixed size"):
        _ = gym.observation_size

    assert 3 == len(gym.reset({"seed": 0}, random.Random(0)))


def test_it_may_be_slow(make):
    """
    Sizes are passed through.
    """
    slept = []
    slow = Slow(make("CartPole-v1"), "constant:500", turns=500, sleep=slept.append)
    got = play(slow, {"seed": 2}, lambda seen, rng: 0, random.Random(0))

    assert (4, 2) == (slow.observation_size, slow.actions)
    assert [1.0] * len(got.actions) == slept
