"""
Tests of ``headway replay --what-if``: what is answered, from what, and what is not.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlite_files import raw

from headway import run
from headway.cli import main
from headway.durations import parse_law
from headway.errors import OptionError, RunDirectoryError
from headway.testing import ToyDomain
from headway.what_if import what_if

LAWS = {
    "rollout": parse_law("lognormal:1,0.7"),
    "propose": parse_law("constant:0.5"),
    "measure": parse_law("constant:0.2"),
}

HARD = {"n_keys": 26, "n_values": 9, "n_tasks": 24, "right": 0.3}


class Pure(ToyDomain):
    """
    It may be run again.
    """

    pure = True

    def __init__(self):
        super().__init__(**HARD)


class Sealed(ToyDomain):
    """
    Every call of it but those of one run is a mistake.
    """

    open = True

    def __init__(self):
        super().__init__(**HARD)

    def rollout(self, state, task, *, rng):
        assert self.open
        return super().rollout(state, task, rng=rng)

    def tasks(self):
        assert self.open
        return super().tasks()


class Interrupting(Pure):
    """
    Sends Ctrl-C after so many rollouts, when it is told to.
    """

    after = None

    def virtual(self):
        return self

    def rollout(self, state, task, *, rng):
        if self.after is not None:
            self.after -= 1
            if self.after == 0:
                signal.raise_signal(signal.SIGINT)
        return super().rollout(state, task, rng=rng)


SLOW = """
import os
import time

from headway.testing import ToyDomain


class Slow(ToyDomain):
    pure = True

    def rollout(self, state, task, *, rng):
        if "ASKED" in os.environ:
            print("a call runs", flush=True)
            time.sleep(60)
        return super().rollout(state, task, rng=rng)
"""


def recorded(domain, path, **options):
    given = {"driver": "simulated", "durations": LAWS, "max_rollouts": 150, "n_workers": 4}
    return run(domain, run_dir=path, **{**given, **options})


def test_a_pure_domain_is_run_again(tmp_path):
    """
    With its own options it comes to nearly the same; with more workers it is done sooner.
    """
    result = recorded(Pure(), tmp_path / "d", durations={"rollout": parse_law("constant:1")})
    answer = what_if(tmp_path / "d", {"n_workers": 12}, domain=Pure())

    assert answer.rerun
    assert (150, 150, 150) == tuple(
        figures.rollouts for figures in (answer.recorded, answer.simulated, answer.changed)
    )
    assert answer.recorded == answer.simulated
    assert result.final_reward == answer.recorded.reward
    assert result.wallclock == answer.recorded.seconds
    assert answer.changed.seconds < 0.6 * answer.simulated.seconds
    assert answer.changed.reward is not None


def test_of_another_domain_no_code_runs(tmp_path):
    """
    Schedule and lag come from recorded answers, and are near what was; rewards are not answered.
    """
    domain = Sealed()
    recorded(domain, tmp_path / "d")
    domain.open = False
    answer = what_if(tmp_path / "d", {"n_workers": 12}, domain=domain)
    was, same, changed = answer.recorded, answer.simulated, answer.changed

    assert not answer.rerun
    assert (None, None) == (same.reward, changed.reward)
    assert was.rollouts == same.rollouts == changed.rollouts == 150
    assert 0.7 * was.seconds < same.seconds < 1.4 * was.seconds
    assert 0.4 * was.commits < same.commits < 2.5 * was.commits
    assert changed.seconds < 0.6 * same.seconds


def test_a_run_that_only_a_reward_would_end_is_made_as_long_as_it_was(tmp_path):
    """
    Nothing reaches a target where rewards are drawn.
    """
    result = recorded(Sealed(), tmp_path / "d", max_rollouts=None, target_reward=0.3)
    answer = what_if(tmp_path / "d", {"async_ratio": 8})

    assert result.rollouts == answer.simulated.rollouts == answer.changed.rollouts


def test_equal_questions_have_equal_answers(tmp_path):
    """
    Everything is drawn from streams that the seed keys.
    """
    recorded(Sealed(), tmp_path / "d")
    first, second = (what_if(tmp_path / "d", {"async_ratio": 8}) for _ in range(2))

    assert first == second


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"driver": "threads"}, "It means nothing here"),
        ({"durations": "rollout=none"}, "It means nothing here"),
        ({"target_reward": 0.5}, "which are only answered for a domain that is pure"),
        ({"aggregator": "best-of-n"}, "which are only answered for a domain that is pure"),
        ({"n_workers": 0}, "Give a whole number of at least 1"),
    ],
)
def test_what_cannot_be_answered_is_refused(tmp_path, changes, told):
    """
    The error names the option and why.
    """
    recorded(Sealed(), tmp_path / "d", max_rollouts=20)

    with pytest.raises(OptionError, match=told):
        what_if(tmp_path / "d", changes)


def test_parts_without_a_name_cannot_be_made_again(tmp_path):
    """
    The error names the part.
    """

    class First:
        def pick(self, book):
            return book.train[0]

    recorded(Sealed(), tmp_path / "d", max_rollouts=20, sampler=First())

    with pytest.raises(
        RunDirectoryError,
        match=r"the sampler of its run, .*First, was an object.*headway plugins new",
    ):
        what_if(tmp_path / "d", {"async_ratio": 8})


def test_the_command_shows_three_columns(letters, capsys):
    """
    What was, the same simulated, and what would have been; under names that the command line knows.
    """
    main(["run", "letters", "--run-dir", "d", "--max-rollouts", "40"])
    capsys.readouterr()
    asked = ["replay", "d", "--what-if", "async-ratio=8", "--what-if", "workers=9"]
    code = main(asked)
    told = capsys.readouterr().out
    main([*asked, "--json"])
    as_json = json.loads(capsys.readouterr().out)

    assert 0 == code
    assert "d: what if async-ratio 8, workers 9; calls answered as recorded ones did" in told
    assert "recorded  same options, simulated  what if\n" in told
    assert "rewards are not answered" in told
    assert {"async_ratio": 8, "n_workers": 9} == as_json["changes"]


def test_the_command_runs_a_pure_domain_again(tmp_path, monkeypatch, capsys):
    """
    Made again by its name.
    """
    pytest.importorskip("headway_domains")
    monkeypatch.chdir(tmp_path)
    main(["run", "router", "--run-dir", "d", "--max-rollouts", "24"])
    capsys.readouterr()

    assert 0 == main(["replay", "d", "--what-if", "mode=sync"])
    told = capsys.readouterr().out
    assert "the domain was run again" in told
    assert "held-out reward " in told
    assert not Path("headway-runs").exists()


def test_the_command_says_that_a_run_has_not_ended(tmp_path, monkeypatch, capsys):
    """
    What is recorded is then only its beginning.
    """
    pytest.importorskip("headway_domains")
    monkeypatch.chdir(tmp_path)
    main(["run", "router", "--run-dir", "d", "--max-rollouts", "24"])
    Path("d/saved.json").unlink()
    with raw("d/run.sqlite") as connection:
        connection.execute("DELETE FROM journal_end")
        last = connection.execute("SELECT max(first) FROM journal").fetchone()
        connection.execute("DELETE FROM journal WHERE first = ?", last)
    capsys.readouterr()

    assert 0 == main(["replay", "d", "--what-if", "mode=sync"])
    assert "the run has not ended: the first column is how far it came" in capsys.readouterr().out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_no_half_answer(tmp_path, monkeypatch, number, code):
    """
    What a run came to by then is not what it would have come to.
    """
    monkeypatch.chdir(tmp_path)
    Path("slow.py").write_text(SLOW)
    command = [sys.executable, "-m", "headway"]
    begin = ["run", "slow.py:Slow", "--run-dir", "d", "--max-rollouts", "20"]
    subprocess.run([*command, *begin], check=True, capture_output=True)
    ask = ["replay", "d", "--what-if", "mode=sync"]
    with subprocess.Popen(
        [*command, *ask],
        env={**os.environ, "ASKED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as asked:
        assert b"a call runs\n" == asked.stderr.readline()
        asked.send_signal(number)
        out, told = asked.communicate()

    assert code == asked.returncode
    assert b"" == out
    assert b"headway: interrupted before there was an answer\n" == told


def test_an_interrupted_question_has_no_answer(tmp_path):
    """
    In Python it is raised, whoever caught the signal.
    """
    recorded(Interrupting(), tmp_path / "d")
    domain = Interrupting()
    domain.after = 20

    with pytest.raises(KeyboardInterrupt):
        what_if(tmp_path / "d", {"async_ratio": 8}, domain=domain)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("workers", "Write it as KEY=VALUE"),
        ("worker=3", "Did you mean 'n_workers'?"),
        ("workers=x", "Give a whole number"),
        ("self_verify=perhaps", "Give true or false"),
        ("driver=serial", "--what-if driver='serial': It means nothing here"),
    ],
)
def test_a_question_that_is_none(letters, capsys, text, told):
    """
    Bad input, named as it was given.
    """
    main(["run", "letters", "--run-dir", "d", "--max-rollouts", "10"])
    capsys.readouterr()

    assert 2 == main(["replay", "d", "--what-if", text])
    assert told in capsys.readouterr().err


class Flaky(ToyDomain):
    """
    Every seventh measurement fails; trying it again helps.
    """

    count = 0

    def measure(self, state, task, *, rng):
        self.count += 1
        if self.count % 7 == 0:
            raise ConnectionError("the backend is busy")
        return super().rollout(state, task, rng=rng).reward


def test_failures_come_as_often_as_they_did(tmp_path):
    """
    What is tried again does not fail for ever, so that a run takes about as long as it took.
    """
    options = {"max_rollouts": 60, "seed": 2, "driver": "simulated", "durations": LAWS}
    result = run(Flaky(**HARD), run_dir=tmp_path / "r", **options)
    answer = what_if(tmp_path / "r", {"n_workers": 4})

    assert result.usage.failures > 10
    assert 0.4 < answer.simulated.seconds / result.wallclock < 2.5
