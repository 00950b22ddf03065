"""
Tests of ``headway run`` under Ctrl-C and SIGTERM: a complete result, whenever the signal comes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

SLOW = """
    import atexit
    import pathlib
    import time

    from headway.contracts import Domain, Outcome, Splits, Task
    from headway.registry import hookimpl

    BEGUN = []
    atexit.register(lambda: pathlib.Path("last.txt").write_text(str(max(BEGUN))))

    class Slow(Domain):
        name = "slow"
        deterministic = True
        defaults = {"max_rollouts": 100000}
        options = {"seconds": "how long a call takes"}

        def __init__(self, seconds="0.002"):
            self.seconds = float(seconds)

        def tasks(self):
            train = [Task(id=f"t{n}", data=n) for n in range(50)]
            return Splits(train=train, held_out=[Task(id=f"h{n}", data=n) for n in range(8)])

        def initial(self):
            return 0

        def rollout(self, state, task):
            BEGUN.append(time.monotonic())
            time.sleep(self.seconds)
            return Outcome(reward=min(1.0, state / 10000))

        def measure(self, state, task):
            return min(1.0, state / 10000)

        def propose(self, state, task, outcome):
            return state + 1

        def apply(self, state, diff):
            return diff

    @hookimpl
    def headway_domains():
        return {"slow": Slow}
"""

RUNS = {
    "threads": ["--mode", "async"],
    "rounds": ["--mode", "sync"],
    "asyncio": ["--driver", "asyncio"],
    "serial": ["--mode", "sync", "--driver", "serial"],
    "simulated": ["--driver", "simulated", "--set", "seconds=0"],
}


@pytest.fixture
def begin(install, site, tmp_path, monkeypatch):
    """
    ``begin("--mode", "sync")`` starts a run that will not end by itself, in a process of its own.
    """
    install("headway-slow", SLOW)
    monkeypatch.chdir(tmp_path)
    begun = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "headway", "run", "slow", "--out", "out", *arguments],
            env={**os.environ, "PYTHONPATH": str(site)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        begun.append(process)
        return process

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def read_until(process, word):
    for line in process.stderr:
        if line.startswith(word):
            return
    pytest.fail(f"there was no line {word!r}")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("run", RUNS)
def test_a_signal_leaves_a_complete_result(begin, tmp_path, run, number, code):
    """
    The report, all files, and an exit code that says which signal it was.
    """
    process = begin(*RUNS[run])
    read_until(process, "sweep 3 ")
    sent = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    names = {path.name for path in (tmp_path / "out").iterdir()}

    assert float((tmp_path / "last.txt").read_text()) < sent + 5  # no call begins any more
    assert code == process.returncode
    assert "stopped because it was interrupted (interrupted)" in out
    assert "interrupted" == result["stop_reason"]
    assert result["rollouts"] == sum(result["completions"].values())
    assert {"artifact", "config.toml", "curve.tsv", "result.json", "saved.json"} == names
    assert "Traceback" not in err


def test_a_signal_at_any_moment_leaves_a_result(begin, tmp_path):
    """
    Signals are acted upon between two events, so no moment is a bad one.
    """
    for n in range(6):
        out = tmp_path / f"out-{n}"
        process = begin("--out", str(out), "--set", "seconds=0", "--json")
        read_until(process, f"sweep {3 * n + 1} ")
        process.send_signal(signal.SIGINT)
        told, err = process.communicate(timeout=30)

        assert 130 == process.returncode
        assert "Traceback" not in err
        assert "interrupted" == json.loads(told)["stop_reason"]
        assert json.loads(told) == json.loads((out / "result.json").read_text())


def test_a_hanging_rollout_is_given_up(begin):
    """
    Nobody waits for it longer than ``shutdown_grace``.
    """
    process = begin("--set", "seconds=600", "--shutdown-grace", "0.3")
    read_until(process, "  files go to")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)

    assert 130 == process.returncode
    assert "abandoned" in out


def test_a_serial_run_leaves_a_call_in_the_middle(begin):
    """
    There is no other thread to wait for, so the call itself ends.
    """
    process = begin("--set", "seconds=600", *RUNS["serial"])
    read_until(process, "  files go to")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert 130 == process.returncode
