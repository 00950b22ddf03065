"""
Whole runs of inflect: one domain and one aggregator, unchanged, in every mode.
"""

import json
import os
import subprocess
import sys

import pytest

from headway import run
from headway.contracts import canonical_json
from headway_domains.inflect import Inflect

WAYS = [
    ("sync", "serial"),
    ("sync", "threads"),
    ("sync", "asyncio"),
    ("sync", "simulated"),
    ("async", "threads"),
    ("async", "asyncio"),
    ("async", "simulated"),
]


@pytest.mark.parametrize(("mode", "driver"), WAYS)
def test_every_way_reaches_the_figures(mode, driver):
    """From at most 0.12 to at least 0.92 on the held-out tasks, at least 0.85 on the test tasks."""
    result = run(Inflect(), mode=mode, driver=driver)

    assert result.baseline_reward <= 0.12
    assert result.final_reward >= 0.92
    assert result.test_reward >= 0.85
    assert () == result.failures


def test_sync_is_the_same_under_every_driver():
    """The barrier makes the driver irrelevant: one digest."""
    drivers = ("serial", "threads", "asyncio", "simulated")
    digests = {run(Inflect(), mode="sync", driver=d, max_rollouts=120).digest for d in drivers}

    assert 1 == len(digests)


class Noting(Inflect):
    """Notes every measurement, in order."""

    def __init__(self):
        super().__init__()
        self.measured = []

    def measure(self, state, task, *, rng=None):
        self.measured.append((task.id, canonical_json(state)))
        return super().measure(state, task, rng=rng)


def test_one_test_score():
    """Each test task is measured once, on the final state, after everything else."""
    domain = Noting()
    result = run(domain, mode="sync", driver="serial", max_rollouts=40)
    final = canonical_json(result.state)
    expected = [(task.id, final) for task in domain.tasks().test]

    assert 0 < result.version
    assert expected == domain.measured[-len(expected) :]
    assert {task.id for task in domain.tasks().held_out} == {
        task for task, _ in domain.measured[: -len(expected)]
    }


def simulated_digest(seed: int, hash_seed: str) -> str:
    command = [sys.executable, "-m", "headway", "run", "inflect", "--mode", "async"]
    command += ["--driver", "simulated", "--seed", str(seed), "--max-rollouts", "150", "--json"]
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )
    return json.loads(done.stdout)["digest"]


def test_simulated_runs_repeat(tmp_path, monkeypatch):
    """Equal seeds give one digest, whatever the hash seed; another seed gives another."""
    monkeypatch.chdir(tmp_path)
    digests = [simulated_digest(7, "0"), simulated_digest(7, "1"), simulated_digest(8, "0")]

    assert digests[0] == digests[1] != digests[2]


def test_latency_is_virtual():
    """Under the simulated driver a latency passes on the virtual clock only."""
    domain = Inflect(latency="constant:10")
    result = run(domain, driver="simulated", max_rollouts=40)

    assert result.wallclock > 100
