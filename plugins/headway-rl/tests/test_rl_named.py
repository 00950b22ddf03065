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
from headway_rl import DirectoryStore, GroupTrainer, InlineStore, Trajectory
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


@pytest.mark.parametrize(("policy", "masked"), [("mask", 1), ("soft", None)])
def test_the_command_masks_where_it_is_told_to(tmp_path, capsys, monkeypatch, policy, masked):
    """
    ``--policy mask`` reaches the optimizer: what is older than the bound has no weight, and no option is
    said to be without meaning.
    """
    made, make = [], GroupTrainer.__attrs_post_init__
    monkeypatch.setattr(
        GroupTrainer, "__attrs_post_init__", lambda self: (make(self), made.append(self))[0]
    )
    words = "--updates 6 --driver simulated --set latency=lognormal:1,2 --max-staleness 1"
    code = main(["run", "rl", "--policy", policy, *words.split(), "--out", str(tmp_path / "out")])
    told = capsys.readouterr()

    assert 0 == code
    assert {masked} == {part.mask_beyond for part in made}
    assert "no meaning" not in told.err + told.out


def test_masks_that_were_told_by_name_take_the_weight_of_what_is_old():
    """
    Each update says which version is the oldest that counts.
    """
    domain = NamedRL(latency="lognormal:1,2")
    result = run(domain, policy="mask", updates=8, max_staleness=1, driver="simulated")
    spans = [span for batch in domain.recorder._batches.values() for span in batch.spans]

    assert "updates" == result.stop_reason
    assert {False, True} == {span.masked for span in spans}
    assert all(span.masked == (span.age > 1) for span in spans)


def test_nothing_is_slept_under_a_virtual_clock():
    """
    The twin of the domain has the same law, tasks and trainer, and its episodes take no time.
    """
    domain = NamedRL(latency="constant:1600")
    twin = domain.virtual()
    outcome = twin.rollout(twin.initial(), twin.tasks().train[0], rng=random.Random(0))
    quick = NamedRL()
    expected = quick.rollout(quick.initial(), quick.tasks().train[0], rng=random.Random(0))

    assert expected == outcome
    assert 1600 == twin.durations()["rollout"].mean
    assert (domain.trainer, domain.recorder) == (twin.trainer, twin.recorder)
    assert 1600 == twin.virtual().durations()["rollout"].mean
    assert domain.tasks() == twin.tasks()
