"""
Whole runs of the router domain, and the reference runtime over it.
"""

from __future__ import annotations

import json

import attrs
import pytest

from headway import get_policy, run
from headway.contracts import Consume, HeadCommitted
from headway.errors import OptionError, UnknownNameError
from headway_domains.router import (
    AsyncConfig,
    AsyncHeadway,
    AsyncStats,
    Router,
    make_task_universe,
    read_routes,
)

UNIVERSE = make_task_universe(seed=7)
POLICIES = ("full", "guarded", "reflective")
ROW = {"n_workers": 6, "async_ratio": 4, "noise": 0.12, "target_accuracy": 0.95}


def stats(mode="async", driver="simulated", policy="guarded", latency="none", **config):
    made = AsyncConfig(**(ROW | config))
    headway = AsyncHeadway(
        None, UNIVERSE, made, get_policy(policy), mode=mode, driver=driver, latency=latency
    )
    return headway.run()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("seed", range(10))
def test_target_is_reached(mode, policy, seed):
    """
    With every policy, in both modes and on every seed, in at most 150 rollouts.
    """
    found = stats(mode, policy=policy, seed=seed)

    assert found.error is None
    assert found.final_dev_accuracy >= 0.95
    assert found.rollouts <= 150


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_real_clocks_reach_the_target_too(driver):
    """
    The same on threads and on an event loop.
    """
    found = stats(driver=driver)

    assert (None, True) == (found.error, found.final_dev_accuracy >= 0.95)


def test_slow_rollouts_favour_async():
    """
    With log-normal latencies the virtual time to the target is shorter without a barrier.
    """
    law = "lognormal:0.1,1"
    times = {
        mode: sum(stats(mode, latency=law, seed=seed).wallclock for seed in range(10))
        for mode in ("sync", "async")
    }

    assert times["async"] < times["sync"]


def test_figures_are_those_of_the_run():
    """
    Each figure is what ``headway.run`` reports under the same options.
    """
    found, notices = stats(noise=0.3, seed=4), []
    result = run(
        Router(universe=UNIVERSE, noise=0.3),
        driver="simulated",
        mode="async",
        n_workers=6,
        async_ratio=4,
        target_reward=0.95,
        max_seconds=20.0,
        stall_patience=150,
        max_rollouts=None,
        seed=4,
        observers=[notices.append],
    )
    sizes = [len(notice.cards) for notice in notices if isinstance(notice, HeadCommitted)]
    decided = result.decisions

    assert (result.rollouts, result.version) == (found.rollouts, found.commits)
    assert sum(decided.values()) == found.proposals
    assert decided.get("discarded:conflict", 0) == found.conflicts_dropped
    assert result.final_reward == found.final_dev_accuracy
    assert 0 < sum(size for size in sizes if size > 1) == found.fused
    assert (0, 0.0) == found.timeline[0]
    known = [(s.rollouts, s.reward) for s in result.history if s.reward is not None]
    assert known == list(found.timeline[1:])


def test_stable_version_is_scored_too():
    """
    Where proposals are nearly all wrong, a version lasts long enough to be promoted; a run that ends
    at once promotes none, and its stable version is the empty table.
    """
    long = stats("sync", noise=0.9, target_accuracy=1.0)
    short = stats("sync", noise=0, target_accuracy=0.1)

    assert 0 < long.final_stable_accuracy <= 1
    assert 0.0 == short.final_stable_accuracy < short.final_dev_accuracy
    assert (0, 0) == (long.oracle_used, short.oracle_used)


def test_audits_are_counted():
    """
    What the optimizer remembers to have spent on them is what the figures say.
    """

    class Auditing:
        batch = 1

        def step(self, cards, context):
            yield Consume(cards, "worse")
            return {"audited": 12}

    found = AsyncStats.of(
        run(
            Router(),
            aggregator=Auditing(),
            driver="simulated",
            max_rollouts=20,
            target_reward=None,
        ),
        fused=0,
        stable=None,
    )

    assert 12 == found.oracle_used
    assert 400 == AsyncConfig().options()["oracle_budget"]


def test_files_are_left_and_replaced(tmp_path):
    """
    The table, the figures and the whole result; a second run in the folder takes their place.
    """
    folder = tmp_path / "runs" / "router"
    for seed in (0, 1):
        config = AsyncConfig(seed=seed)
        found = AsyncHeadway(folder, UNIVERSE, config, driver="simulated").run()
    figures = json.loads((folder / "stats.json").read_text())
    result = json.loads((folder / "result.json").read_text())
    table = read_routes({"routes.md": (folder / "routes.md").read_text()})

    assert json.loads(json.dumps(attrs.asdict(found))) == figures
    assert (1, table) == (result["seed"], result["state"])
    assert 20 < len(table) <= 24


def test_file_is_no_folder(tmp_path):
    """
    It is refused before anything runs.
    """
    path = tmp_path / "taken"
    path.write_text("")
    with pytest.raises(OptionError, match="give a folder") as caught:
        AsyncHeadway(path, UNIVERSE)

    assert "repo_path" == caught.value.option
    with pytest.raises(OptionError, match=r"^config=\{.*Give an AsyncConfig"):
        AsyncHeadway(None, UNIVERSE, config={"n_workers": 2})


def test_a_folder_that_cannot_be_made_costs_no_run(tmp_path, monkeypatch):
    """
    It is found out before anything is spent.
    """
    (tmp_path / "taken").write_text("")

    def never(*_, **__):
        raise AssertionError

    monkeypatch.setattr("headway_domains.router._runtime.run", never)
    with pytest.raises(OSError, match="taken"):
        AsyncHeadway(tmp_path / "taken" / "router-1", UNIVERSE).run()


def test_defaults_are_the_documented_ones():
    """
    Those of the system that the runtime stands in for.
    """
    expected = {
        "n_workers": 6,
        "async_ratio": 3,
        "noise": 0.15,
        "target_accuracy": 0.98,
        "max_seconds": 20.0,
        "oracle_budget": 400,
        "stall_patience": 150,
        "duration_timeout_factor": 3.0,
        "seed": 0,
        "self_verify": True,
    }

    assert expected == attrs.asdict(AsyncConfig())


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("n_workers", 0),
        ("async_ratio", -1),
        ("noise", 2),
        ("target_accuracy", 1.5),
        ("target_accuracy", None),
        ("max_seconds", None),
        ("max_seconds", 0),
        ("oracle_budget", -1),
        ("stall_patience", 0),
        ("duration_timeout_factor", 0),
        ("seed", -1),
        ("self_verify", "yes"),
    ],
)
def test_bad_setting_is_refused_by_its_own_name(option, value):
    """
    Whatever the core calls it.
    """
    with pytest.raises(OptionError) as caught:
        AsyncConfig(**{option: value})

    assert (option, value) == (caught.value.option, caught.value.value)


def test_settings_and_figures_are_frozen():
    """
    Nothing changes them afterwards.
    """
    found = stats()
    for value in (AsyncConfig(), found):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            value.rollouts = 1

    assert isinstance(found, AsyncStats)


def test_unknown_policy_names_the_choices():
    """
    ``get_policy`` looks in the registry and says what is there.
    """
    with pytest.raises(UnknownNameError, match=r"guarded.*reflective"):
        get_policy("reflexive")


def test_error_is_told():
    """
    A run that fails says why in its figures.
    """

    class Broken:
        def decide(self, eta, alpha, contract_breaking):
            raise ValueError("no idea")

    found = AsyncHeadway(None, UNIVERSE, AsyncConfig(), Broken(), driver="simulated").run()

    assert "no idea" in found.error
