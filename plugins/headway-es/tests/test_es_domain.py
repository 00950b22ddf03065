"""
The domain, its objectives, its options, and arrays as JSON values.
"""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from headway import run
from headway.contracts import Outcome, Task, canonical_json
from headway.errors import ContractError, OptionError
from headway.testing.conformance import DomainContract
from headway_es import (
    ES,
    Delay,
    ESDomain,
    Strategy,
    decoded,
    encoded,
    perturbation,
    schedule,
    state_of,
    theta_of,
)
from headway_es._objectives import FUNCTIONS, Function, rosenbrock

RNG = random.Random(0)
TASK = Task(id="train-0", data={"split": "train", "seed": 0})


class TestESDomain(DomainContract):
    """
    What holds for every domain.
    """

    @pytest.fixture
    def make(self):
        """
        The sphere, in few dimensions.
        """
        return lambda: ESDomain(dim=4)


def payload(**more):
    common = {"job": 4, "batch": 1, "seed": 9, "sigma": 0.1, "noise": "zig32-v1", "mirrored": True}
    return {**common, **more}


def test_a_rollout_draws_the_perturbation_itself():
    """
    Both halves, and their mean.
    """
    domain = ESDomain(objective="rosenbrock", dim=6)
    eps = perturbation("zig32-v1", seed=9, job=4, dim=6)
    found = domain.rollout(domain.initial(), TASK, payload=payload(), rng=RNG)
    plus, minus = (rosenbrock(np.zeros(6) + s * (np.float32(0.1) * eps)) for s in (1, -1))

    assert {"f_plus": plus, "f_minus": minus, "n_episodes": 2} == found.output
    assert (plus + minus) / 2 == found.reward


def test_a_single_sample_has_one_half():
    """
    And no other in the output.
    """
    domain = ESDomain(dim=6)
    found = domain.rollout(domain.initial(), TASK, payload=payload(mirrored=False), rng=RNG)

    assert {"f_plus": found.reward, "n_episodes": 1} == found.output


def test_without_a_payload_theta_itself_is_scored():
    """
    As a measurement does, and an optimizer of another kind would.
    """
    domain = ESDomain(dim=6)

    assert Outcome(reward=-6.0) == domain.rollout(domain.initial(), TASK, rng=RNG)
    assert -6.0 == domain.measure(domain.initial(), TASK, rng=RNG)


def test_a_change_is_a_move_from_wherever_theta_is():
    """
    So optimizers that learn from proposals can climb, too: a random move, kept when it helps.
    """
    domain = ESDomain(dim=3)
    moved = domain.apply(domain.initial(), {"move": encoded(np.array([1.0, 0.0, -1.0]))})
    result = run(domain, aggregator="standard", policy="guarded", updates=None, max_rollouts=60)

    assert [2.0, 1.0, 0.0] == theta_of(moved).tolist()
    assert result.final_reward > result.baseline_reward
    for diff in ({"theta": 1}, None, {"move": encoded(np.zeros(2))}):
        with pytest.raises(ContractError, match=r"no change of theta|does not fit"):
            domain.apply(domain.initial(), diff)


def test_both_halves_and_all_attempts_meet_the_same_chance():
    """
    It is keyed by seed and job; another job meets another.
    """
    drawn = []

    def own(theta, rng, task, episodes):
        drawn.append((rng.random(), task, episodes))
        return float(theta[0])

    domain = ESDomain(objective=own, start=[1.0, 2.0], episodes=3)
    for job in (4, 4, 5):
        domain.rollout(domain.initial(), TASK, payload=payload(job=job), rng=random.Random(job))
    chances = [chance for chance, _, _ in drawn]

    assert 1 == len(set(chances[:4]))
    assert chances[4] == chances[5] != chances[0]
    assert ({"split": "train", "seed": 0, "batch": 1}, 3) == drawn[0][1:]


def test_a_function_of_ones_own_is_improved():
    """
    It asks for what it names, and nothing else; noisy rewards are known to be noisy.
    """

    def own(theta, rng):
        return -float((theta - 3) @ (theta - 3)) + rng.gauss(0, 0.1)

    domain = ESDomain(objective=own, start=np.zeros(5), population=16, lr=0.1)
    result = run(domain, updates=60, driver="simulated", **schedule("wait-1"))

    assert not domain.deterministic
    assert np.allclose(3, theta_of(result.state), atol=0.5)


def test_functions_that_ask_for_more_are_refused():
    """
    By the argument's name; one with a default is its own affair.
    """
    with pytest.raises(OptionError, match="task, rng, episodes, and not for 'seed'"):
        ESDomain(objective=lambda theta, seed: 0.0, start=[0.0])
    with pytest.raises(OptionError, match="give start"):
        ESDomain(objective=lambda theta: 0.0)
    assert ESDomain(objective=lambda theta, scale=2: scale * theta[0], start=[3.0]).tasks()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_best_value_is_nothing_and_the_start_is_worse(name):
    """
    At (1, ..., 1) for Rosenbrock's function, at 0 for the others.
    """
    function, best = FUNCTIONS[name][0], np.full(7, 1.0 if name == "rosenbrock" else 0.0)
    objective = Function(name=name, dim=7)

    assert 0 == pytest.approx(function(best))
    assert -1 > objective.score(objective.initial(), None, RNG)
    assert all(
        function(best + 0.1 * step) < 0 for step in np.random.default_rng(0).normal(size=(50, 7))
    )


def test_they_are_those_of_the_books():
    """
    One value each, by hand.
    """
    at = np.array([1.0, 2.0])

    assert [-5.0, -4000001.0, -100.0, -5.0] == pytest.approx([f(at) for f, _ in FUNCTIONS.values()])


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_arrays_survive_json(kind):
    """
    To the bit, with what is no number too; what is read may not be written to.
    """
    array = np.array([0.1, -np.inf, 5e-324, 3], dtype=kind)
    value = encoded(array)
    back = decoded(value)

    assert canonical_json(value)
    assert (array.tobytes(), array.dtype) == (back.tobytes(), back.dtype)
    assert [4] == value["shape"]
    with pytest.raises(ValueError, match="read-only"):
        back[0] = 1


@pytest.mark.parametrize(
    "value",
    [
        None,
        [1.0],
        {"dtype": "float64", "shape": [2]},
        {"dtype": "int64", "shape": [1], "data": "AAAAAAAAAAA="},
        {"dtype": "float64", "shape": [2], "data": "AAAAAAAAAAA="},
        {"dtype": "float64", "shape": [1], "data": "?"},
    ],
)
def test_what_is_no_array_is_told(value):
    """
    With how one is spelled.
    """
    with pytest.raises(ContractError, match="base64 of little-endian bytes"):
        decoded(value)


def test_what_is_no_state_is_told():
    """
    No theta, or one with several dimensions.
    """
    with pytest.raises(ContractError, match=r"\{'theta': array\}"):
        theta_of({"rules": []})
    with pytest.raises(ContractError, match="one dimension"):
        theta_of(state_of(np.zeros((2, 2))))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"objective": "cube"}, "sphere, ellipsoid, rosenbrock, rastrigin, miniterm"),
        ({"dim": 1}, "at least 2"),
        ({"dim": "many"}, "dim='many': Give a whole number"),
        ({"lr": "fast"}, "lr='fast': Give a number"),
        ({"delay": "0.1"}, "Give SHARE,BY such as 0.1,4"),
        ({"delay": "1.5,2"}, "Give SHARE,BY"),
        ({"cosine": "perhaps"}, "Give true or false"),
        ({"schedule": "wait"}, "wait-K, admit-K, pipeline-K or drop-K"),
        ({"schedule": "wait--1"}, "wait-K"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options, told):
    """
    With what may be given.
    """
    with pytest.raises(OptionError, match=told):
        ESDomain(**options)


def test_a_command_line_gives_texts():
    """
    They are the numbers that they stand for, and reach the optimizer.
    """
    domain = ESDomain(
        dim="10",
        population="6",
        sigma="0.1",
        lr="0.3",
        corrections="rate",
        schedule="pipeline-2",
        delay="0.5,2",
        cosine="True",
    )
    aggregator = domain.defaults["aggregator"]

    assert (6, 0.1, 0.3) == (aggregator.population, aggregator.sigma, aggregator.lr)
    assert isinstance(aggregator, ES)
    assert Delay(share=0.5, by=2) == aggregator.delay
    assert True is aggregator.cosine
    assert 10 == len(theta_of(domain.initial()))
    assert 2 == domain.defaults["max_staleness"]


@pytest.mark.parametrize("name", ["sync", "wait-1"])
def test_the_command_line_runs_it(name, tmp_path, capsys):
    """
    By its name, with options of the domain.
    """
    from headway.cli import main

    options = {"objective": "rastrigin", "dim": 5, "population": 4, "schedule": name}
    sets = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
    status = main(["run", "es", *sets, "--max-rollouts", "40", "--out", str(tmp_path / "o")])

    assert 0 == status
    assert "rastrigin" in (tmp_path / "o" / "config.toml").read_text()
    assert capsys.readouterr().out


def test_a_run_of_the_command_line_is_begun_again_and_gone_on_with(tmp_path, monkeypatch, capsys):
    """
    By names alone: the optimizer comes with the domain, as the domain's options have it.
    """
    from headway.cli import main
    from headway.rundir import replay_run

    monkeypatch.chdir(tmp_path)
    sets = [
        "--set",
        "dim=5",
        "--set",
        "population=4",
        "--set",
        "lr=0.3",
        "--set",
        "schedule=pipeline-1",
    ]
    begun = ["run", "es", *sets, "--max-rollouts", "40"]

    assert 0 == main([*begun, "--run-dir", "kept"])
    assert 0 == main(["resume", "kept"])
    assert 0 == main(["run", "es", "--config", "kept/config.toml", "--run-dir", "again"])
    assert "ES(" not in (tmp_path / "kept" / "config.toml").read_text()
    capsys.readouterr()
    first, second = (replay_run(name) for name in ("kept", "again"))

    assert first.digest == second.digest


def test_the_command_line_compares_its_modes(tmp_path, capsys):
    """
    The optimizer that it brings is no name, and is told by its class.
    """
    from headway.cli import main

    folder = tmp_path / "o"
    sets = "--set dim=5 --set population=4 --max-rollouts 40 --seeds 0,1 --driver simulated"
    status = main(["compare", "es", *sets.split(), "--against", "chains", "--out", str(folder)])
    told = json.loads((folder / "results.json").read_text())

    assert 0 == status
    assert ["sync", "async", "chains"] == [arm["name"] for arm in told["arms"]]
    assert {f"{ES.__module__}:ES"} == {arm["options"]["aggregator"] for arm in told["arms"]}
    assert {40} == {trial["rollouts"] for trial in told["trials"]}
    assert capsys.readouterr().out


def test_by_hand_it_is_the_same_as_in_a_run():
    """
    Ask and tell, stored and drawn again, against a synchronous run: one theta.
    """
    options = {"population": 8, "sigma": 0.1, "lr": 0.05}
    found = set()
    for store in (True, False):
        strategy = Strategy(theta=np.zeros(9), seed=3, store=store, **options)
        for _ in range(6):
            pairs = [strategy.ask(i) for i in range(8)]
            strategy.tell([tuple(map(rosenbrock, pair)) for pair in pairs])
        found.add(strategy.theta.tobytes())
    domain = ESDomain(objective="rosenbrock", dim=9, **options)
    result = run(domain, seed=3, updates=6, driver="serial", **schedule("sync"))

    assert {theta_of(result.state).tobytes()} == found


def test_asking_and_telling_too_much_is_refused():
    """
    A pair that there is not, and a generation that is not whole.
    """
    strategy = Strategy(theta=np.zeros(3), population=2)
    with pytest.raises(OptionError, match="pair=2: Give one from 0 to 1"):
        strategy.ask(2)
    with pytest.raises(OptionError, match="one for each of 2"):
        strategy.tell([(0.0, 1.0)])


def test_miniterm_is_learned_from():
    """
    Its jobs of one batch meet one batch of tasks; the score is of tests, the measurement of successes.
    """
    pytest.importorskip("headway_envs", reason="needs headway-envs")
    domain = ESDomain(objective="miniterm", population=8, episodes=16)
    one, same, other = (
        domain.rollout(
            domain.initial(), TASK, payload=payload(job=job, batch=batch, sigma=1e-9), rng=RNG
        ).reward
        for job, batch in ((1, 0), (2, 0), (9, 1))
    )
    result = run(domain, updates=2, driver="serial", **schedule("sync"))

    assert one == same != other
    assert 0 <= result.final_reward <= 1
    assert 1292 == len(theta_of(result.state))
