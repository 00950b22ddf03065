"""
The benchmarks' own arithmetic and counters, and that every script runs.
"""

import importlib
import json
import subprocess
import sys
from collections import Counter
from itertools import permutations
from pathlib import Path
from random import Random
from statistics import fmean

import pytest

from headway import run

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def harness(module):
    return pytest.importorskip(f"harness.{module}", reason="needs a checkout with benchmarks")


durations, fresh, peers = harness("durations"), harness("fresh"), harness("peers")
cards = harness("cards")
bare, rules, search, watching = map(harness, ("engines.bare", "rules", "search", "watching"))
KEYS, RIGHT = search.KEYS, rules.RIGHT


def scheduled(seconds, workers):
    """
    Greedy list scheduling, one moment after the other.
    """
    left, now, busy = list(seconds), 0, {}
    while left or busy:
        for worker in range(workers):
            if left and worker not in busy:
                busy[worker] = now + left.pop(0)
        now = min(busy.values())
        busy = {worker: end for worker, end in busy.items() if end > now}
    return now


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_bound(workers):
    """The bound is what a schedule takes that is played moment by moment, in any order."""
    orders = list(permutations([1, 2, 3, 5, 8]))

    assert [scheduled(order, workers) for order in orders] == [
        durations.bound(o, workers) for o in orders
    ]


def test_bound_keeps_the_order():
    """The order counts: a long rollout that begins last is waited for."""

    assert (4, 6) == (durations.bound([4, 1, 1, 2], 2), durations.bound([1, 1, 2, 4], 2) + 1)
    assert 0.0 == durations.bound([], 4)


@pytest.mark.parametrize(("law", "tolerance"), [("lognormal", 0.05), ("pareto", 0.15)])
def test_plan(law, tolerance):
    """Durations have the mean that was asked for, stay below the cap, and depend on the seed."""
    drawn = durations.plan(law, 2.0, 20_000, seed=1)

    assert fmean(drawn) == pytest.approx(2.0, rel=tolerance)
    assert max(drawn) <= durations.CAP * 2.0
    assert drawn == durations.plan(law, 2.0, 20_000, seed=1)
    assert drawn != durations.plan(law, 2.0, 20_000, seed=2)


def test_waits(monkeypatch):
    """A wait is noted with what it really took, in the order in which waits began."""
    clock = [0.0]
    waits = durations.Waits([5.0, 1.0])

    def sleep(seconds):
        if seconds == 5.0:
            waits.wait()  # begins second and ends first
        clock[0] += seconds

    monkeypatch.setattr(durations, "sleep", sleep)
    monkeypatch.setattr(durations, "perf_counter", lambda: clock[0])

    assert 0 == waits.wait()
    assert [6.0, 1.0] == waits.taken


@pytest.mark.parametrize("driver", bare.LOOPS)
def test_bare_loops(driver):
    """A bare loop makes as many calls as it was asked for, and each waits once."""
    waits = durations.Waits([0.0] * 8)
    bare.LOOPS[driver](waits.wait if driver == "threads" else waits.wait_async, 3, 20)

    assert 20 == len(waits.taken)


def test_search():
    """While rules are wrong, every second proposal sets one right; no candidate comes twice."""
    state, found, seen = dict.fromkeys(KEYS, 0), search.Search(0.5, 100, 0), set()
    for number in range(1000):
        key, wrong = found.change(lambda key: state[key] == RIGHT)

        assert (number % 2 == 0 and number < 2 * len(KEYS)) == (not wrong)
        if not wrong:
            assert state[key] != RIGHT
            state[key] = RIGHT
        candidate = tuple({**state, key: RIGHT + wrong}.values())
        assert candidate not in seen
        seen.add(candidate)


def test_share():
    """The share of unsolved rollouts is what was asked for."""
    found = search.Search(0.1, 10_000, 0)

    assert 0.1 == pytest.approx(fmean(map(found.unsolved, range(10_000))), abs=0.01)


def test_held_out_tasks():
    """The held-out tasks look at every rule once; training tasks look at the same ones."""

    assert sorted(KEYS) == sorted(
        key for task in range(search.HELD_OUT) for key in search.watched(task)
    )
    assert search.watched(3) == search.watched(search.TRAIN - search.HELD_OUT + 3)


def test_rules():
    """Headway finds all rules, counts every rollout, and measures no candidate twice on a task."""
    watch = watching.Watch()
    domain = rules.Rules(durations.Waits([0.0]), search.Search(0.5, 500, 0), measuring=1e-6)
    result = run(domain, driver="simulated", max_rollouts=300, self_verify=False, observers=[watch])

    assert (1.0, "max_iters", 300) == (result.final_reward, result.stop_reason, result.rollouts)
    assert 300 == len(domain.waits.taken) == len(watch.rollouts)
    assert sum(result.decisions.values()) == len(watch.decided)
    assert result.version == len(watch.commits)
    assert {1} == set(Counter(domain.measured).values())
    assert result.calls["measure"] == len(domain.measured)


def test_rate():
    """A rate runs from one burst to another, and leaves out what is not steady."""
    bursts = [moment + i / 100 for moment in range(0, 20, 2) for i in range(3)]

    assert 1.5 == pytest.approx(watching.rate(bursts, 4, 19, burst=0.1), rel=0.01)
    assert 10.0 == pytest.approx(watching.rate([i / 10 for i in range(200)], 5, 20, burst=0.05))
    assert 0.0 == watching.rate([1.0, 7.0], 5, 20, burst=0.1)


def test_longest_gap():
    """The longest gap may be the one before the first commit."""

    assert 3.0 == watching.longest_gap([3.0, 4.0, 6.5])
    assert 2.5 == watching.longest_gap([1.0, 3.5])
    assert 0.0 == watching.longest_gap([])


def test_fresh_process():
    """A call in a fresh process gives back its value, and its errors when it fails."""

    assert 7.0 == fresh.call("harness.durations:bound", durations=[3.0, 4.0], workers=1)
    with pytest.raises(RuntimeError, match="IndexError"):
        fresh.call("harness.durations:bound", durations=[3.0], workers=0)


@pytest.mark.parametrize("staleness", [1, 2, 4])
def test_bare_counters(staleness):
    """The bare counters let each step begin when the gate does."""

    def endings(make):
        loop, draw, seen = make(8, staleness), Random(staleness), [0]
        step = loop.step

        def pick():
            seen[-1] += 1
            return draw.random()

        def noted(*version):
            seen.append(0)
            return step(*version)

        loop.step = noted
        loop.run(200, pick)
        return seen[:-1]

    assert endings(cards.Core) == endings(cards.Bare)
    assert 8 < max(endings(cards.Bare))


def test_cards_are_used_up():
    """With the optimizer, as many steps are made, and no noise is drawn."""
    pytest.importorskip("headway_es", reason="needs headway-es")
    loop = cards.Whole(8, 2)
    loop.run(30, Random(1).random)

    assert 30 == loop.head.version
    assert 240 == loop.memory["report"]["updates"] * 8
    assert (
        0.0 == abs(importlib.import_module("headway_es").theta_of(loop.head.artifact.value)).max()
    )


SCRIPTS = {
    "overlap": "--sizes 4:2 --each 10 --laws pareto --shares 0.5 --drivers threads --engines headway bare",
    "overhead": "--workers 8 --each 5 --solved 200 --starts 1 --drivers asyncio",
    "scale": "--workers 20 --seconds 0.05 --drivers threads",
    "slow_measurement": "--drivers asyncio --workers 4 --shares 1 --seconds 0.02 --lengths 8",
    "lag": "--means 2 --policies full --ratios 4",
    "acceptance": "--rows constant power",
    "small_gains": "--useless 0.3",
    "rivals": "--rewards deterministic --tasks 20",
    "failures": "--modes async --methods step",
    "memory": "--modes async --drivers threads --rollouts 60",
    "ledger": "--files 1 50 --commits 20 --versions 30 --contended 20",
    "discovery": "--distributions 50 --plugins 3",
    "endings": "--parts hung --places reverify --drivers threads",
    "llm_shaped": "--laws uniform --slots 16 --drivers simulated --peers no",
    "episodes": "--seconds 0.02",
    "es": "--dim 70000 --pairs 2 --times 1 --megabytes 4 --updates 3 --peers none",
    "es_bounds": "--gates 50 --runs 2 --updates 4 --cards 320 --long 4",
    "es_schedules": "--rates 0.02 --updates 3 --schedules sync wait-1 10%/4 drop-1",
    "router": "--policies guarded --latencies 0 --peers none",
    "reservations": "--groups 10000",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_script(script, tmp_path):
    """Every script runs, prints a row for each setting, and writes its results."""
    if script.startswith("es"):
        pytest.importorskip("headway_es", reason="needs headway-es")
    found = tmp_path / "found.json"
    options = [*SCRIPTS[script].split(), "--repeat", "1", "--json", str(found)]
    command = [sys.executable, BENCHMARKS / f"{script}.py", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = done.stdout.splitlines()[2:]

    assert "" == done.stderr
    assert 0 < len(json.loads(found.read_text())) <= len(rows)


def test_es_campaign():
    """A little of the campaign comes out the same twice, and old evidence is worse than fresh."""
    for needed in ("headway_es", "headway_envs"):
        pytest.importorskip(needed, reason=f"needs {needed}")
    command = [sys.executable, BENCHMARKS / "es_campaign.py", "--smoke"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = "the same twice: True; all cards 8 old are worse than none: True"

    assert (0, "") == (done.returncode, done.stderr)
    assert told == done.stdout.splitlines()[-1]


def test_optimizers(tmp_path):
    """Every run is told as it ends, each optimizer is compared with the control, and all is kept."""
    pytest.importorskip("headway_pareto", reason="needs headway-pareto")
    found = tmp_path / "found.json"
    options = ["--seeds", "2", "--rollouts", "8", "--only", "pareto", "--processes", "1"]
    command = [sys.executable, BENCHMARKS / "optimizers.py", *options, "--json", str(found)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    kept = json.loads(found.read_text())
    arms = ["best-of-n, 8 workers", "pareto, 8 workers"]

    assert "" == done.stderr
    assert 4 == done.stdout.count("8 rollouts")
    assert [(arms[1], arms[0])] == list({(d["arm"], d["against"]) for d in kept["differences"]})
    assert arms * 2 == [trial["arm"] for trial in kept["trials"]]


def test_rl(tmp_path):
    """A policy is trained in every arm, for equal updates and equal seconds, and all is kept."""
    pytest.importorskip("headway_rl", reason="needs headway-rl")
    found = tmp_path / "found.json"
    options = ["--seeds", "2", "--updates", "3", "--draws", "1", "--processes", "1"]
    command = [sys.executable, BENCHMARKS / "rl.py", *options, "--json", str(found)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    kept = json.loads(found.read_text())

    assert "" == done.stderr
    assert {"updates": 8, "seconds": 8} == Counter(run["how"] for run in kept)
    assert all(run["most"] <= {"sync": 0}.get(run["arm"], 4) for run in kept)
    assert 2 == done.stdout.count("\nS=4")


@pytest.mark.skipif(
    not peers.interpreter(peers.FOLDER).exists(),
    reason="needs the peers' environment: python benchmarks/make_peers.py",
)
def test_peer():
    """The peer makes the rollouts that it was asked for, and learns."""
    found = fresh.call(
        "harness.case:measured",
        str(peers.interpreter(peers.FOLDER)),
        engine="agentdescent",
        driver="threads",
        workers=4,
        mean=0.002,
        share=0.5,
        each=20,
    )

    assert found["rollouts"] >= 80
    assert found["final_reward"] > 0


@pytest.mark.skipif(
    not peers.interpreter(peers.FOLDER).exists(),
    reason="needs the peers' environment: python benchmarks/make_peers.py",
)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_peer_learns_the_router(mode):
    """The peer gets the messages of the router domain and routes them."""
    pytest.importorskip("headway_domains", reason="needs headway-domains")
    python = str(peers.interpreter(peers.FOLDER))
    found = importlib.import_module("router").peer(mode, "guarded", 0, python, seed=0)

    assert found["reward"] >= 0.95
    assert "target_reward" == found["stop"]


@pytest.mark.skipif(
    not peers.interpreter(peers.FOLDER_ES).exists(),
    reason="needs the peers' environment: python benchmarks/make_peers.py --es",
)
@pytest.mark.parametrize("name", ["evosax", "evotorch"])
def test_peer_strategies(name):
    """A peer that is installed makes its generations, and its version is told."""
    python = str(peers.interpreter(peers.FOLDER_ES))
    asked = {"dim": 70_000, "pairs": 2, "times": 2}
    found = fresh.call("harness.es_peers:measured", python, name=name, **asked)

    assert found["version"] == fresh.call("harness.es_peers:installed", python, name=name)
    assert 2 == len(found["rows"])
    assert 0 < found["share"]


def test_peers_that_cannot_be_made(tmp_path):
    """Where the environment can't be made, one line says so."""
    (tmp_path / "file").write_text("")
    command = [sys.executable, BENCHMARKS / "make_peers.py", tmp_path / "file" / "peers"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert 1 == done.returncode
    assert done.stderr.startswith("make_peers: ")
    assert 1 == len(done.stderr.splitlines())
