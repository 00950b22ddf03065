"""
Run directories whose ledger is a git repository, asked for by name.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys

import pytest

from headway import run
from headway.cli import main
from headway.errors import LedgerCorrupt
from headway.result import Result
from headway.rundir import open_run, read_status
from headway.testing import ToyDomain

KILLED = """
import os, signal, sys
from headway import run
from headway.contracts import HeadCommitted
from headway.testing import ToyDomain


def kill(notice):
    if isinstance(notice, HeadCommitted) and notice.head.version == 3:
        os.kill(os.getpid(), signal.SIGKILL)


run(ToyDomain(), run_dir="d", ledger="git", max_rollouts=60, observers=[kill])
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """
    A current folder of its own.
    """
    monkeypatch.chdir(tmp_path)
    return tmp_path


def begin():
    return run(ToyDomain(), run_dir="d", ledger="git", max_rollouts=60)


def test_the_versions_are_commits_below_the_run_directory(here, git):
    """
    One each, which git shows without help.
    """
    result = begin()
    subjects = git("d/ledger.git", "log", "--format=%s", "headway/dev").splitlines()

    assert "power" == result.durability
    assert 0 < result.version
    assert 1 + result.version == len(subjects)
    with open_run("d") as kept, kept.ledger() as ledger:
        assert result.version == ledger.snapshot().version


def test_a_run_that_was_killed_goes_on(here, git):
    """
    With the repository as it was left.
    """
    killed = subprocess.run([sys.executable, "-c", KILLED], check=False)
    assert -signal.SIGKILL == killed.returncode
    assert 3 <= read_status("d").version

    result = begin()
    assert 2 == result.sessions
    assert 1 + result.version == int(git("d/ledger.git", "rev-list", "--count", "headway/dev"))


def test_a_ledger_that_is_gone_is_not_made_anew(here, capsys):
    """
    Neither by who looks nor by who goes on; what needs no versions can still be seen.
    """
    result = begin()
    shutil.rmtree("d/ledger.git")

    assert result.version == read_status("d").version
    for command in (["log", "d"], ["show", "d", "head"], ["checkout", "d", "head", "found"]):
        assert 1 == main(command)
        assert "d/ledger.git: the ledger is damaged: it is gone." in capsys.readouterr().err
    with pytest.raises(LedgerCorrupt, match="it is gone"):
        begin()
    assert 0 == main(["resume", "d"])
    assert result == Result.load("d/saved.json")
    assert not (here / "d" / "ledger.git").exists()
