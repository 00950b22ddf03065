"""
Opening a ledger by what is kept of its commits.
"""

from __future__ import annotations

import shutil
from contextlib import closing

import pytest

from headway.contracts import Artifact
from headway_git import GitLedger
from headway_git._git import Git
from headway_git._known import Known, _commit

NAME = "headway.commits"


def commit(path, *versions, message="mended\n\nagain \ud800"):
    with closing(GitLedger(path, initial=Artifact({"a": "0"}))) as ledger:
        for version in versions:
            state = Artifact({"a": f"{version + 1}"})
            ledger.commit(version, state, key=f"k {version}", message=message)
        return ledger.log(), ledger.log("stable")


def seen(path):
    with closing(GitLedger(path)) as ledger:
        states = [ledger.snapshot("dev", entry.version) for entry in ledger.log()]
        return ledger.log(), ledger.log("stable"), states


@pytest.fixture
def listed(monkeypatch):
    """
    How many commits git was asked to list, each time that it was.
    """
    counts, run = [], Git.run

    def counted(self, *arguments, **given):
        told = run(self, *arguments, **given)
        if arguments[0] == "rev-list":
            counts.append(len(told.split()))
        return told

    monkeypatch.setattr(Git, "run", counted)
    return counts


def test_what_is_known_is_not_read_again(tmp_path, listed):
    """
    A ledger that was closed is opened without its history being listed, and shows the same.
    """
    path = tmp_path / "ledger.git"
    before = commit(path, 0, 1, 2)

    assert before == seen(path)[:2]
    assert [] == listed


def test_a_file_that_is_behind_is_made_up_for_from_git(tmp_path, listed):
    """
    Only the commits that it lacks are read, and the next commit adds them to it.
    """
    path = tmp_path / "ledger.git"
    commit(path, 0, 1)
    old = (path / NAME).read_bytes()
    commit(path, 2, 3)
    (path / NAME).write_bytes(old)

    assert 4 == len(seen(path)[0])
    commit(path, 4)
    assert 5 == len(seen(path)[0])
    assert [2, 2] == listed


@pytest.mark.parametrize("damage", ["torn", "altered", "another's", "a folder"])
def test_a_damaged_file_changes_nothing(tmp_path, damage):
    """
    What can't be read from it is read from git; a later commit can be added to it.
    """
    path = tmp_path / "ledger.git"
    commit(path, 0, 1, 2)
    file, before = path / NAME, seen(path)
    whole = file.read_bytes()
    file.unlink()
    if damage == "a folder":
        file.mkdir()
    elif damage == "another's":
        commit(tmp_path / "other.git", 0, message="of another ledger")
        shutil.copy(tmp_path / "other.git" / NAME, file)
    else:
        altered = whole.replace(b'"k 1"', b'"k 7"')
        file.write_bytes(altered if damage == "altered" else whole[:-30])

    assert before == seen(path)
    log, _ = commit(path, 3)
    assert log == seen(path)[0]
    assert ["k 0", "k 1", "k 2", "k 3"] == [entry.key for entry in log]


def test_a_file_that_says_otherwise_than_a_head_counts_for_nothing(tmp_path):
    """
    Also when its checksums fit.
    """
    path = tmp_path / "ledger.git"
    commit(path, 0, 1)
    before, known = seen(path), Known(path / NAME)
    wrong = [
        _commit(c.name, c.tree, [*c.parents], c.format, c.entry.version, 0, "0", "", "wrong")
        for c in known.read()
    ]
    known.path.unlink()
    known.add(wrong)

    assert before == seen(path)
