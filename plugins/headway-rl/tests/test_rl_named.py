"""
The domain that is found by its name.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from headway import Registry, run
from headway.cli import main
from headway.errors import OptionError
from headway_envs.miniterm import warm_start
from headway_rl import DirectoryStore, InlineStore, Trajectory
from headway_rl._named import NamedRL


def test_it_is_found_by_its_name():
    """
    With the optimizer that suits it.
    """
    domain = Registry.discover().create("domain", "rl")

    assert isinstance(domain, NamedRL)
    assert {"aggregator": "groups", "policy": "wait"}.items() <= domain.defaults.items()


def test_every_option_is_described():
    """
    As people who type ``--help`` find them.
    """
    domain = NamedRL(
        environment="miniterm", reward="success", latency="none", learning_rate="0.1", start="cold"
    )

    assert {
        "environment",
        "reward",
        "latency",
        "learning_rate",
        "start",
        "weights",
    } == domain.options.keys()
    assert 0.1 == domain.trainer.optimizer.learning_rate


def test_miniterm_begins_with_a_policy_that_has_learned_a_little():
    """
    Or with one that has not.
    """
    warm, cold = NamedRL(), NamedRL(start="cold")

    assert np.array_equal(warm_start(), warm.trainer.theta)
    assert not np.array_equal(warm_start(), cold.trainer.theta)


def test_held_out_tasks_are_no_training_tasks():
    """
    By name; and there are enough of both.
    """
    splits = NamedRL().tasks()
    names = [task.id for task in (*splits.train, *splits.held_out)]

    assert (512, 64) == (len(splits.train), len(splits.held_out))
    assert len(names) == len(set(names))


def test_a_network_of_gymnasium_fits():
    """
    CartPole, for a few updates; rewards have no bound then.
    """
    pytest.importorskip("gymnasium", reason="needs gymnasium")
    domain = NamedRL(environment="gym:CartPole-v1")
    result = run(domain, updates=3, driver="threads")
    outcome = domain.rollout(domain.initial(), domain.tasks().train[0], rng=random.Random(0))

    assert "updates" == result.stop_reason
    assert (4, 2) == (domain.trainer.network.features, domain.trainer.network.actions)
    assert outcome.reward == Trajectory.from_json(outcome.output).tokens


def test_weights_can_lie_in_a_folder(tmp_path):
    """
    The ledger then holds names.
    """
    domain = NamedRL(weights=str(tmp_path / "weights"))
    result = run(domain, updates=2, driver="simulated")

    assert isinstance(domain.trainer.store, DirectoryStore)
    assert isinstance(NamedRL().trainer.store, InlineStore)
    assert isinstance(result.state["weights"], str)
    assert list((tmp_path / "weights").iterdir())


def test_latency_is_slept_and_is_a_law_of_the_simulation():
    """
    Both from one text.
    """
    domain = NamedRL(latency="constant:0.016")
    outcome = domain.rollout(domain.initial(), domain.tasks().train[0], rng=random.Random(0))

    assert outcome.reward >= 0
    assert 0.016 == domain.durations()["rollout"].mean
    assert 0.0 == NamedRL().durations()["rollout"].mean


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"environment": "chess"}, "environment='chess': Give miniterm, or gym:ID"),
        ({"reward": "speed"}, "reward='speed'"),
        ({"learning_rate": "fast"}, "learning_rate='fast': Give a number."),
        ({"learning_rate": "-1"}, "learning_rate=-1.0"),
        ({"start": "hot"}, "start='hot'"),
        ({"latency": "often"}, "latency='often'"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(given, told):
    """
    With its value and a remedy.
    """
    with pytest.raises(OptionError) as caught:
        NamedRL(**given)

    assert told in str(caught.value)


def test_the_command_trains(tmp_path, capsys):
    """
    And leaves the result as files.
    """
    code = main(
        ["run", "rl", "--updates", "2", "--driver", "simulated", "--out", str(tmp_path / "out")]
    )
    told = capsys.readouterr()

    assert 0 == code
    assert "aggregator: groups" in told.err + told.out
    assert (tmp_path / "out" / "result.json").exists()
