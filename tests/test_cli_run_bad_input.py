"""
Tests of ``headway run`` with bad input: one clear line, exit code 2, and nothing has been done.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headway.cli import main
from headway.errors import UnknownNameError
from headway.registry import Registry

WHOLE = "Give a whole number of at least"

BAD_FLAGS = {
    "--async-ratio -1": f"--async-ratio=-1: {WHOLE} 0.",
    "--workers 0": f"--workers=0: {WHOLE} 1.",
    "--workers two": "--workers='two': Give a whole number.",
    "--max-seconds nan": "--max-seconds=nan: Give a number.",
    "--max-seconds 0": "--max-seconds=0.0: Give a number above 0.",
    "--target 1.5": "--target=1.5: Give a reward within letters's range, 0 to 1.",
    "--target high": "--target='high': Give a number.",
    "--mode rounds": "--mode='rounds': Give one of sync, async.",
    "--driver thread": (
        "--driver='thread': Give one of threads, asyncio, serial, simulated. "
        "Did you mean 'threads'?"
    ),
    "--driver serial": (
        "--driver='serial': Async mode needs a driver that can overlap: threads, asyncio or "
        "simulated; serial runs in sync mode."
    ),
    "--policy gaurded": (
        "--policy: there is no staleness policy named 'gaurded'. Did you mean 'guarded'? "
        "Choices: drop, full, guarded, mask, reflective, soft, wait, window."
    ),
    "--observer nobody": "--observer: there is no observer named 'nobody'. Choices: ",
    "--set rewrad=1": (
        "--set rewrad='1': domain 'letters' has no such option. Did you mean 'reward'? "
        "Options: reward, ids, held_out, path."
    ),
    "--set reward": "--set='reward': Write it as KEY=VALUE.",
    "--durations rolout=none": (
        "--durations: there is no 'rolout'. Did you mean 'rollout'? "
        "The kinds of work: commit, measure, propose, rebase, rollout, train."
    ),
    "--durations rollout=soon": "--durations: rollout='soon': Give one of none; constant:SECONDS",
    "--config nowhere.toml": (
        "--config nowhere.toml: No such file or directory. "
        "Give a TOML file that can be read, or leave --config out."
    ),
    "--max-calls 5": "--max-calls=5: Give at least 11: the baseline takes 8 calls.",
    "--mode async --rounds 3 --max-rollouts 0": f"--max-rollouts=0: {WHOLE} 1.",
    "--set 'ids=a b a'": (
        "domain 'letters': tasks='a': This id occurs twice; give every task its own."
    ),
    "--set ids=a --set held_out=2": (
        "domain 'letters': tasks=3: Give at least 4 training and held-out tasks together."
    ),
}

BAD_FILES = {
    "n_workers = 0": f"study.toml: n_workers=0: {WHOLE} 1.",
    "n_workers = '4'": f"study.toml: n_workers='4': {WHOLE} 1.",
    "workers = 0": f"study.toml: n_workers=0: {WHOLE} 1.",
    "workers = 4\nn_workers = 4": (
        "study.toml: workers and n_workers are the same option. Give one of them."
    ),
    "wrkers = 4": "study.toml: there is no 'wrkers'. Did you mean 'workers'?",
    "xyz = 4": "study.toml: there is no 'xyz'. The options of a run and tables: accept_level, ",
    "self_verify = 'no'": "study.toml: self_verify='no': Give true or false.",
    "policy = 3": "study.toml: policy=3: Give a name, in quotes.",
    "policy = 'ful'": "study.toml: policy: there is no staleness policy named 'ful'.",
    "seed = 1\nmode = sync": (
        "study.toml: this is no TOML: Invalid value (at line 2, column 8). Mend the file there."
    ),
    "domain = 3": "study.toml: domain=3: Make it a table, [domain].",
    "[domain]\nrewrad = 1": "study.toml: domain.rewrad=1: domain 'letters' has no such option.",
    "[durations]\nrolout = 'none'": "study.toml: durations: there is no 'rolout'.",
    "[durations]\nrollout = 'x'": "study.toml: durations: rollout='x': Give one of none;",
    "observers = ['nobody']": "study.toml: observers: there is no observer named 'nobody'.",
    "observers = 'silent'": "study.toml: observers='silent': Give a list of names.",
    "target_reward = 2": "study.toml: target_reward=2: Give a reward within letters's range",
}


def refused(arguments, capsys):
    """
    The one line that says what is wrong.
    """
    code = main(["run", *arguments])
    told = capsys.readouterr()
    lines = [line for line in told.err.splitlines() if "talks" not in line]

    assert (2, "") == (code, told.out)
    assert 1 == len(lines)
    return lines[0].removeprefix("headway: error: ")


@pytest.mark.parametrize("arguments", BAD_FLAGS)
def test_bad_arguments(letters, arguments, capsys):
    """
    The value, the option as it was typed, and what to give instead.
    """
    import shlex

    told = refused(["letters", *shlex.split(arguments)], capsys)

    assert told.startswith(BAD_FLAGS[arguments])
    assert [] == list(letters.iterdir())


@pytest.mark.parametrize("text", BAD_FILES)
def test_bad_files(letters, text, capsys):
    """
    The file, the key, and what to give instead.
    """
    Path("study.toml").write_text(text)

    assert refused(["letters", "--config", "study.toml"], capsys).startswith(BAD_FILES[text])


def test_a_file_that_is_not_utf8(letters, capsys):
    """
    Editors of old still exist.
    """
    Path("study.toml").write_bytes(b"# caf\xe9\n")
    told = refused(["letters", "--config", "study.toml"], capsys)

    assert "study.toml: byte 5 is not UTF-8. Save it as UTF-8." == told


def test_a_first_party_domain_that_is_not_installed():
    """
    The remedy is the folder to install.
    """
    with pytest.raises(UnknownNameError) as caught:
        Registry().create("domain", "inflect")

    told = str(caught.value)
    assert told.startswith("there is no domain named 'inflect'.")
    assert told.endswith("To get it: python -m pip install ./plugins/headway-domains")


@pytest.mark.parametrize("name", ["inflect", "headway-domains:inflect"])
def test_a_first_party_domain_that_is_installed_and_left_out(
    letters, install, capsys, monkeypatch, name
):
    """
    The remedy is to name it, and not to install it again.
    """
    install("headway-domains", "")
    monkeypatch.setenv("HEADWAY_PLUGINS", "headway-letters")
    told = refused([name], capsys)

    assert told.startswith(f"there is no domain named '{name}'.")
    assert told.endswith("HEADWAY_PLUGINS leaves out headway-domains: name it there, too.")


def test_an_unknown_domain(letters, capsys):
    """
    What is installed is named.
    """
    told = refused(["leters"], capsys)

    assert told.startswith("there is no domain named 'leters'. Did you mean 'letters'? Choices: ")


def test_a_folder_that_is_not_empty(letters, capsys):
    """
    It is named, and nothing in it changes.
    """
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    told = refused(["letters", "--out", "mine"], capsys)

    assert "--out='mine': This folder is not empty: give a new one, or leave --out" in told
    assert ["thesis.txt"] == [path.name for path in Path("mine").iterdir()]


def test_a_file_where_a_folder_should_be(letters, capsys):
    """
    A file is not overwritten.
    """
    Path("mine").write_text("years of work")
    told = refused(["letters", "--out", "mine"], capsys)

    assert "--out='mine': This is a file: give a folder that is new or empty." == told


def test_a_folder_without_a_name(letters, capsys):
    """
    An empty variable of a shell is not the folder that one is in.
    """
    assert "--out='': Give the name of a folder." == refused(["letters", "--out", ""], capsys)


def test_nothing_would_end_the_run(install, letters, capsys):
    """
    The flags that would are named.
    """
    code = (Path(sys.path[0]) / "headway_letters.py").read_text().replace('"max_rollouts": 200', "")
    install("headway-endless", code.replace('{"letters"', '{"endless"'))
    told = refused(["endless", "--rounds", "3"], capsys)

    assert told.startswith("domain 'endless': nothing would end this run. Give --max-rollouts, ")


@pytest.mark.parametrize(
    "arguments",
    [["--workers", "0"], ["--config", "nowhere.toml"], ["--policy", "gaurded"]],
    ids=" ".join,
)
def test_a_user_sees_one_line_and_no_traceback(site, letters, arguments):
    """
    In a process of its own, as users have it.
    """
    done = subprocess.run(
        [sys.executable, "-m", "headway", "run", "letters", *arguments],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    lines = [line for line in done.stderr.splitlines() if "talks" not in line]

    assert (2, "") == (done.returncode, done.stdout)
    assert 1 == len(lines)
    assert lines[0].startswith("headway: error: --")


def test_an_unknown_flag_is_refused(capsys):
    """
    Flags are not abbreviated either: what works today must not change its meaning tomorrow.
    """
    for flag in ("--worker", "--max-roll"):
        with pytest.raises(SystemExit) as caught:
            main(["run", "letters", flag, "3"])

        assert 2 == caught.value.code
        hint = {
            "--worker": " Did you mean '--workers'?",
            "--max-roll": " Did you mean '--max-rollouts'?",
        }[flag]
        told = f"headway: error: {flag}: There is no such option.{hint} See headway run --help.\n"
        assert told == capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("", "the following arguments are required: DOMAIN"),
        ("letters --workers", "--workers: expected one argument"),
        ("letters --set", "--set: expected one argument"),
        ("letters --json=1", "--json: ignored explicit argument '1'"),
        ("letters numbers", "'numbers': nothing more can be given here"),
    ],
)
def test_arguments_that_cannot_be_read_are_one_line(arguments, told, capsys):
    """
    No usage of forty flags; the way to it instead.
    """
    with pytest.raises(SystemExit) as caught:
        main(["run", *arguments.split()])

    assert 2 == caught.value.code
    assert ("", f"headway: error: {told}. See headway run --help.\n") == capsys.readouterr()
