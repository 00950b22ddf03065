"""
Tests of ``headway run --run-dir`` and ``headway resume``: signals, crashes, and what is refused.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from headway import run
from headway.cli import main
from headway.registry import Registry
from headway.result import Result
from headway.rundir import read_status, replay_run
from headway.testing import ToyDomain

COUNTED = """
    import pathlib
    import time

    from headway.contracts import Domain, Outcome, Splits, Task
    from headway.registry import hookimpl

    CALLS, GO_ON = pathlib.Path("calls.txt"), pathlib.Path("go_on")

    class Counted(Domain):
        name = "counted"
        deterministic = True
        defaults = {"max_rollouts": 60}
        options = {"seconds": "how long a call takes", "token": "for the backend"}

        def __init__(self, seconds="0.01", token=""):
            self.seconds = float(seconds)

        def tasks(self):
            train = [Task(id=f"t{n}", data=n) for n in range(50)]
            return Splits(train=train, held_out=[Task(id=f"h{n}", data=n) for n in range(4)])

        def initial(self):
            return {"n": 0}

        def rollout(self, state, task, *, ticket):
            with CALLS.open("a") as file:
                file.write(f"{ticket.number}\\n")
            time.sleep(self.seconds)
            while ticket.number >= 40 and not GO_ON.exists():
                time.sleep(self.seconds)  # however late the test is, this run is not over
            return Outcome(reward=min(0.9, state["n"] / 100))

        def measure(self, state, task):
            return min(0.9, state["n"] / 100)

        def propose(self, state, task, outcome):
            return state["n"] + 1

        def apply(self, state, diff):
            return {"n": diff}

    @hookimpl
    def headway_domains():
        return {"counted": Counted}
"""

FILES = {
    "artifact",
    "config.toml",
    "curve.tsv",
    "lease.json",
    "result.json",
    "run.json",
    "run.sqlite",
    "saved.json",
}
DRIVERS = {
    "threads": [],
    "asyncio": ["--driver", "asyncio"],
    "serial": ["--mode", "sync", "--driver", "serial"],
    "simulated": ["--driver", "simulated", "--durations", "rollout=constant:1"],
}


@pytest.fixture
def begin(install, site, tmp_path, monkeypatch):
    """
    ``begin("run", "counted")`` starts a command in a process of its own; its run can't end before
    there is a file ``go_on``.
    """
    install("headway-counted", COUNTED)
    monkeypatch.chdir(tmp_path)
    begun = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "headway", *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])},
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


def ended(process):
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err, err
    return process.returncode, out, err


def names_in(folder):
    return {p.name for p in Path(folder).iterdir() if not p.name.startswith("run.sqlite-")}


@pytest.mark.parametrize(
    ("driver", "number", "code"),
    [*((driver, signal.SIGINT, 130) for driver in DRIVERS), ("threads", signal.SIGTERM, 143)],
)
def test_a_run_that_a_signal_ended_goes_on(begin, driver, number, code):
    """
    The signal leaves a complete result and a closed journal; ``resume`` takes both from there.
    """
    process = begin("run", "counted", "--run-dir", "d", *DRIVERS[driver])
    read_until(process, "sweep 2 ")
    process.send_signal(number)
    first = ended(process)
    broken_off = Result.load("d/saved.json")
    left, stood = names_in("d"), read_status("d")
    Path("go_on").touch()
    again = ended(begin("resume", "d"))
    result = Result.load("d/saved.json")

    assert code == first[0]
    assert "headway resume d" in first[1]
    assert FILES == left == names_in("d")
    assert ("interrupted", "interrupted") == (stood.state, broken_off.stop_reason)
    assert 0 == again[0]
    assert "taken up after " in again[2]
    assert "max_iters" == result.stop_reason
    assert 60 == result.rollouts > broken_off.rollouts
    assert result.digest == replay_run("d").digest
    assert "finished" == read_status("d").state


def test_a_run_that_was_killed_goes_on_and_pays_only_what_was_in_flight_again(begin):
    """
    Every other rollout is made once; the calls made again are counted.
    """
    process = begin("run", "counted", "--run-dir", "d", "--no-self-verify")
    read_until(process, "sweep 3 ")
    process.kill()
    process.wait()
    Path("go_on").touch()
    stood = read_status("d")
    code, out, err = ended(begin("resume", "d", "--json"))
    result = json.loads(out)
    made = Path("calls.txt").read_text().split()

    assert ("interrupted", None) == (stood.state, stood.reason)
    assert f"{sum(stood.in_flight.values())} calls in flight are made again" in err
    assert 0 == code
    assert (60, 2) == (result["rollouts"], result["sessions"])
    assert {str(n) for n in range(60)} == set(made)
    assert len(made) - 60 <= result["repeated_calls"] + 4  # and what the last few milliseconds held


def test_the_same_command_goes_on_too(begin):
    """
    With the options that it was begun with.
    """
    process = begin("run", "counted", "--run-dir", "d")
    read_until(process, "sweep 2 ")
    process.kill()
    process.wait()
    Path("go_on").touch()
    code, _, err = ended(begin("run", "counted", "--run-dir", "d"))

    assert 0 == code
    assert "goes on with the run in d" in err
    assert "measuring the baseline" not in err
    assert 60 == Result.load("d/saved.json").rollouts


def test_a_second_process_is_refused_and_the_first_can_be_looked_at(begin):
    """
    The error and the status name the owner.
    """
    process = begin("run", "counted", "--run-dir", "d", "--max-rollouts", "100000")
    read_until(process, "sweep 2 ")
    refused = ended(begin("resume", "d"))
    stood = read_status("d")
    replayed = replay_run("d")
    process.send_signal(signal.SIGINT)
    ended(process)

    assert 2 == refused[0]
    assert f"process {process.pid} on " in refused[2]
    assert ("running", process.pid) == (stood.state, stood.owner.pid)
    assert 0 < stood.rollouts
    assert (False, None) == (replayed.ended, replayed.kept)


def test_a_finished_run_is_not_run_again(letters, capsys):
    """
    Its result is shown, by both commands, also where its domain is gone.
    """
    assert 0 == main(["run", "letters", "--run-dir", "d"])
    first = capsys.readouterr().out
    before = {p: p.read_bytes() for p in Path("d").iterdir() if p.is_file()}
    assert 0 == main(["run", "letters", "--run-dir", "d"])
    second = capsys.readouterr()
    Path("d/config.toml").unlink()
    assert 0 == main(["resume", "d"])
    third = capsys.readouterr()

    assert first.split("try next")[0] == second.out.split("try next")[0]
    assert first.split("files in")[0] == third.out.split("files in")[0]
    assert "the run in d has ended" in second.err
    assert "the run in d has ended" in third.err
    assert before[Path("d/saved.json")] == Path("d/saved.json").read_bytes()


@pytest.mark.parametrize(
    ("begun", "now", "named"),
    [
        (["--workers", "2"], ["--workers", "3"], "--workers=2, not 3"),
        (["--seed", "5"], [], "--seed=5, not 0"),
        ([], ["--mode", "sync"], "--mode='async', not 'sync'"),
        (["--set", "reward=0.1"], ["--set", "reward=0.2"], "--set reward='0.1', not '0.2'"),
        (["--set", "reward=0.1"], [], "--set reward='0.1', not None"),
        ([], ["--set", "reward=0.1"], "--set reward=None, not '0.1'"),
        (["--set", "held_out=8"], ["--set", "held_out=7"], "with other tasks"),
        ([], ["--config", "c.toml"], "c.toml: n_workers=4, not 7"),
    ],
)
def test_other_options_are_refused_by_the_name_that_they_were_given_under(
    letters, capsys, begun, now, named
):
    """
    Nothing is run, and the directory stays as it was.
    """
    Path("c.toml").write_text("n_workers = 7\n")
    main(["run", "letters", "--run-dir", "d", *begun])
    capsys.readouterr()

    assert 2 == main(["run", "letters", "--run-dir", "d", *now])
    assert named in capsys.readouterr().err
    assert 0 == main(["run", "letters", "--run-dir", "d", *begun])


def test_two_places_for_the_files_are_one_too_many(letters, capsys):
    """
    The error says why.
    """
    assert 2 == main(["run", "letters", "--run-dir", "d", "--out", "e"])
    assert "give one of the two" in capsys.readouterr().err
    assert [] == list(Path().iterdir())


def test_a_run_that_cannot_begin_leaves_no_directory(letters, capsys):
    """
    Neither a bad option nor a domain whose files no folder could hold.
    """
    assert 2 == main(["run", "letters", "--run-dir", "d", "--workers", "0"])
    assert 1 == main(["run", "letters", "--run-dir", "d", "--set", "path=../x"])
    capsys.readouterr()

    assert [] == list(Path().iterdir())


def test_what_a_program_ran_is_shown_without_commands_that_cannot_work(tmp_path, capsys):
    """
    There is no ``config.toml`` to name, and the domain has no name to type.
    """
    run(ToyDomain(), run_dir=tmp_path / "d", max_rollouts=8)

    assert 0 == main(["resume", str(tmp_path / "d")])
    told = capsys.readouterr().out
    assert "config.toml" not in told
    assert "headway run" not in told
    assert "run.sqlite" in told


def test_the_library_leaves_the_same_files(letters):
    """
    And its run can be gone on with on the command line, since all in it has a name.
    """
    result = run("letters", run_dir="d", max_rollouts=20, observers=[lambda notice: None, "silent"])
    table = tomllib.loads(Path("d/config.toml").read_text())

    assert FILES == names_in("d")
    assert ("letters", ["silent"], 20) == (
        table["domain_name"],
        table["observers"],
        table["max_rollouts"],
    )
    assert result == Result.load("d/saved.json")
    assert result.files == {"letters.txt": Path("d/artifact/letters.txt").read_text()}


def test_a_run_with_objects_says_how_it_goes_on(letters, capsys):
    """
    The error names what has no name, and the call.
    """
    domain = Registry.discover().create("domain", "letters")

    def stop(notice):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(domain, run_dir="d", observers=[stop])

    assert not Path("d/config.toml").exists()
    assert 2 == main(["resume", "d"])
    told = capsys.readouterr().err
    assert "domain Letters" in told
    assert "the same call with run_dir='d' goes on" in told


def test_a_run_of_files_says_where_it_goes_on(letters, capsys, monkeypatch):
    """
    What ``FILE.py:NAME`` means depends on the folder, so another one is told which it has to be.
    """
    Path("parts.py").write_text("def stop(notice):\n    raise KeyboardInterrupt\n")

    assert 1 == main(["run", "letters", "--run-dir", "d", "--observer", "parts.py:stop"])
    capsys.readouterr()
    monkeypatch.chdir("d")

    assert 2 == main(["resume", "../d"])
    assert (
        f"../d: its run is made of parts.py:stop, and there is no such file in {Path.cwd()}. "
        "Start headway resume in the folder in which the run was begun."
    ) in capsys.readouterr().err
    monkeypatch.chdir("..")
    assert 1 == main(["resume", "d"])


def test_a_secret_is_given_again(begin, capsys):
    """
    It is not kept, so that a run that needs one goes on when it is given once more.
    """
    process = begin("run", "counted", "--run-dir", "d", "--set", "token=hunter2-hunter2")
    read_until(process, "sweep 2 ")
    process.kill()
    process.wait()
    Path("go_on").touch()
    kept = b"".join(p.read_bytes() for p in Path("d").iterdir() if p.is_file())
    refused = ended(begin("resume", "d"))
    code = ended(begin("resume", "d", "--set", "token=hunter2-hunter2"))[0]

    assert b"hunter2" not in kept
    assert 2 == refused[0]
    told = "the option 'token' of the domain was a secret, and not written down. "
    assert f"{told}Give it again with --set KEY=VALUE" in refused[2]
    assert 0 == code


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: None, "there is no such directory"),
        (lambda: Path("d").mkdir(), "there is no run.sqlite in it"),
        (lambda: Path("d").write_text(""), "this is a file"),
        (lambda: main(["run", "letters", "--out", "d"]), "it holds a result, but no run"),
    ],
    ids=["none", "empty", "file", "out"],
)
@pytest.mark.parametrize("command", ["resume", "status", "replay", "log"])
def test_what_is_no_run_directory_is_refused(letters, capsys, make, told, command):
    """
    With exit code 2, and nothing is made there.
    """
    make()
    capsys.readouterr()
    before = sorted(Path().rglob("*"))

    assert 2 == main([command, "d"])
    assert told in capsys.readouterr().err
    assert before == sorted(Path().rglob("*"))
