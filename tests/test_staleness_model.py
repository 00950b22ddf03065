"""
The model of what bounds of staleness cost, and the scripts around it.
"""

import importlib
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"

pytest.importorskip("harness.tables", reason="needs a checkout with benchmarks")
model = importlib.import_module("staleness_model")

BOUNDED = {"wait 1, 1": 1, "wait 2, 1": 2, "wait 2, 2": 2, "wait 4, 2": 4, "wait 4, 4": 4}


@pytest.fixture(scope="module")
def found():
    """
    Four seeds of each policy.
    """
    runs = {policy: [model.played(policy, seed) for seed in range(4)] for policy in model.EXPECTED}
    return {policy: model.summed(runs[policy], runs["synchronous"]) for policy in runs}


def test_the_largest_age_is_the_bound(found):
    """
    It is reached, and never passed; what is synchronous has no age.
    """
    assert BOUNDED == {policy: found[policy]["most"] for policy in BOUNDED}
    assert (0, 0.0) == (found["synchronous"]["most"], found["synchronous"]["mean"])
    assert found["slots"]["most"] > 20


def test_the_mean_age_is_what_is_admitted_ahead(found):
    """
    Whatever the bound, within the start of a run.
    """
    for policy in (*BOUNDED, "slots"):
        ahead = model.POLICIES[policy]["admit_ahead"]

        assert ahead * 0.97 < found[policy]["mean"] <= ahead


def test_a_wider_bound_is_faster(found):
    """
    Synchronous, then a staleness of 1, 2 and 4, then none at all; admitting further ahead changes
    little.
    """
    order = ["synchronous", "wait 1, 1", "wait 2, 1", "wait 4, 2", "slots"]
    speeds = [found[policy]["speed"] for policy in order]

    assert all(1.2 * slower < faster for slower, faster in pairwise(speeds))
    assert found["wait 4, 4"]["speed"] == pytest.approx(found["wait 4, 2"]["speed"], rel=0.05)
    assert found["wait 2, 2"]["speed"] == pytest.approx(found["wait 2, 1"]["speed"], rel=0.05)


def test_dropping_wastes_a_third(found):
    """
    At the speed of waiting with the same bound; and what takes long is tried again and again.
    """
    dropping = found[model.DROPPING]

    assert dropping["speed"] == pytest.approx(found["wait 2, 2"]["speed"], rel=0.1)
    assert 0.3 < dropping["dropped"] < 0.42
    assert dropping["tries"] > 20
    assert 2 == dropping["most"]


def test_a_figure_that_is_missed_is_told():
    """
    By name; the expected ones are not.
    """
    right = {"speed": 2.18, "mean": 1.0, "most": 2}

    assert [] == [*model.misses("wait 2, 1", right)]
    assert ["speed 2.18"] == [*model.misses("wait 2, 1", right | {"speed": 2.0})]
    assert ["mean age 1.0"] == [*model.misses("wait 2, 1", right | {"mean": 1.1})]
    assert ["largest age 2"] == [*model.misses("wait 2, 1", right | {"most": 3})]


@pytest.mark.parametrize(
    ("script", "options", "rows"),
    [
        ("staleness_model", "--seeds 1 --updates 50 --policies slots synchronous", 2),
        ("staleness_oracle", "--states 200 --runs 100 --check", 6),
    ],
)
def test_script(script, options, rows, tmp_path):
    """
    It prints its rows, writes its results, and by ``--check`` says with its status that all is well.
    """
    written = tmp_path / "found.json"
    command = [sys.executable, BENCHMARKS / f"{script}.py", *options.split(), "--json", written]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "" == done.stderr
    assert rows == len(json.loads(written.read_text()))
    assert rows <= len(done.stdout.splitlines()) - 2


def test_a_missed_figure_fails_the_check(tmp_path):
    """
    Too few updates have another mean age.
    """
    options = ["--seeds", "1", "--updates", "3", "--check"]
    command = [sys.executable, BENCHMARKS / "staleness_model.py", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert 1 == done.returncode
    assert "MISSED" in done.stdout
