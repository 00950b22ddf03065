"""
A campaign that is stopped, killed and gone on with comes to the same results.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from headway.errors import OptionError, UsageError
from headway_es.campaign import FULL, Plan, Store, Unit, carry_out
from headway_es.campaign._plan import GRADIENT

SMALL = Plan(
    problems=("sphere-8", "rastrigin-8"),
    conditions=("sync", "wait-1", "10 %/4"),
    rates=(0.02, 0.005),
    seeds=2,
    updates=12,
    population=4,
    every=4,
    workers=3,
    checks=("sphere-8",),
)
COUNT = 2 * 2 * 2 * 4 + 4


def plain(store):
    """
    Results without what they took.
    """
    return {unit: attrs.evolve(one, seconds=0.0) for unit, one in store.done().items()}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    store = Store.begin(tmp_path_factory.mktemp("campaign"), SMALL)
    assert carry_out(store, processes=1)
    return store


def test_everything_is_run_once(made):
    """
    A line for each unit of the plan; going on with what is done runs nothing.
    """
    lines = (made.folder / "results.jsonl").read_text().splitlines()
    told = []

    assert COUNT == len(lines) == len(made.done())
    assert set(SMALL.units()) == set(made.done())
    assert carry_out(made, processes=1, progress=lambda *all_: told.append(all_))
    assert [] == told


def test_units_come_seed_by_seed():
    """
    Checks after the first seed's runs, and nothing twice.
    """
    units = list(SMALL.units())
    seeds = [unit.seed for unit in units]

    assert sorted(seeds) == seeds
    assert COUNT == len(units) == len(set(units))
    assert [True] * 4 == [unit.checked for unit in units[16:20]]
    assert 4 == sum(unit.checked for unit in units)


def test_the_whole_campaign():
    """
    Ten runs of each rate, problem and seed, two of ``wait-1`` and of ``drop-1``; 20 checks; and a policy gradient.
    """
    units = list(FULL.units())

    assert 40 * (9 * 2 * 10 + 1) + 20 == len(units)
    assert {"", "log-normal", "Pareto"} == {unit.law for unit in units}
    assert 40 == sum(unit.condition == GRADIENT for unit in units)
    assert {
        "sync",
        "wait-1",
        "pipeline-1",
        "10 %/4",
        "10 %/8",
        "pipeline-4",
        "pipeline-8",
        "drop-1",
    } == ({unit.condition for unit in units} - {GRADIENT})


def test_what_a_result_holds(made):
    """
    A curve, when each of its points was reached, and where it led.
    """
    done = made.done()
    sync = done[Unit("sphere-8", "sync", "", 0.02, 1)]
    timed = done[Unit("sphere-8", "wait-1", "Pareto", 0.02, 1)]
    delayed = done[Unit("sphere-8", "10 %/4", "", 0.02, 1)]

    assert 4 == len(sync.curve) == len(sync.times["Pareto"])
    assert ({"log-normal", "Pareto"}, {"Pareto"}) == (set(sync.times), set(timed.times))
    assert sync.times == delayed.times
    assert timed.times["Pareto"][-1] < sync.times["Pareto"][-1]
    assert (0, 1) == (sync.max_lag, timed.max_lag)
    assert all(times[0] == 0.0 and sorted(times) == list(times) for times in sync.times.values())


def test_checks_lead_to_the_same_theta(made):
    """
    As the runs that they check.
    """
    done = made.done()
    pairs = [(one, done[attrs.evolve(u, checked=False)]) for u, one in done.items() if u.checked]

    assert 4 == len(pairs)
    assert all(one.digest == other.digest for one, other in pairs)


def test_processes_do_not_show(made, tmp_path):
    """
    Two at a time come to the same results as one.
    """
    store = Store.begin(tmp_path, SMALL)

    assert carry_out(store, processes=2)
    assert plain(made) == plain(store)


def test_stopped_after_no_time(made, tmp_path):
    """
    No run is begun; the next call makes them.
    """
    store = Store.begin(tmp_path, SMALL)

    assert not carry_out(store, processes=1, minutes=0)
    assert {} == store.done()
    assert carry_out(Store.begin(tmp_path, SMALL), processes=1)
    assert plain(made) == plain(store)


@pytest.mark.parametrize("left", [0, 1, 7, COUNT - 1])
@pytest.mark.parametrize("torn", [b"", b'{"unit":{"problem"', b"\x00"])
def test_a_line_that_was_cut_short(made, tmp_path, left, torn):
    """
    It is made again, and what stands before it is not.
    """
    store = Store.begin(tmp_path, SMALL)
    lines = (made.folder / "results.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "results.jsonl").write_bytes(b"".join(lines[:left]) + torn)
    told = []

    assert carry_out(
        Store.begin(tmp_path, SMALL), processes=1, progress=lambda one, *_: told.append(one)
    )
    assert COUNT - left == len(told)
    assert plain(made) == plain(store)


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_es_campaign_running import SMALL
from headway_es.campaign import Store, carry_out
carry_out(Store.begin(Path(sys.argv[1]), SMALL), processes=1, progress=lambda *a: print("told", flush=True))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_killed_at_once(made, tmp_path):
    """
    Whatever was told of is on the disk, and the rest is made by whoever goes on.
    """
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in range(3):
            assert b"told\n" == process.stdout.readline()
        process.kill()
        process.wait()
    store = Store.begin(tmp_path, SMALL)
    before = len(store.done())

    assert 3 <= before < COUNT
    assert carry_out(store, processes=1)
    assert plain(made) == plain(store)


def test_another_plan_is_refused(made):
    """
    The margins and all else were settled at the first start.
    """
    for changed in ({"seeds": 3}, {"margins": {"miniterm": 9.0, "functions": 1.0}}):
        with pytest.raises(UsageError, match="another plan"):
            Store.begin(made.folder, attrs.evolve(SMALL, **changed))

    assert SMALL == Store.read(made.folder).plan
    assert (made.folder / "plan.json").exists()


def test_what_it_was_begun_with(made):
    """
    The versions are those of the first start.
    """
    assert {"python", "headway", "numpy"} <= set(made.versions)


def test_what_cannot_be_read(tmp_path):
    """
    A folder without a plan, and a line that is no result, are told of by their places.
    """
    with pytest.raises(UsageError, match="holds no campaign"):
        Store.read(tmp_path)
    store = Store.begin(tmp_path, SMALL)
    (tmp_path / "results.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="line 1 is no result"):
        store.done()
    (tmp_path / "plan.json").write_text(json.dumps({"plan": {"seeds": 3}}))
    with pytest.raises(UsageError, match="holds no campaign"):
        Store.read(tmp_path)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"conditions": ("wait-1",)}, "Add sync"),
        ({"conditions": ("sync", "later-1")}, "schedule='later-1'"),
        ({"problems": ("sphere",)}, "sphere-100"),
        ({"problems": ("cube-10",)}, "sphere-100"),
        ({"every": 5}, "divisor of 12"),
        ({"laws": {"odd": "odd:1"}}, "odd"),
    ],
)
def test_a_plan_that_cannot_be_run(changed, told):
    """
    It is refused before anything is run, and the remedy is named.
    """
    with pytest.raises(OptionError, match=told):
        attrs.evolve(SMALL, **changed)
