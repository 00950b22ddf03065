"""
Any ledger, written to git.
"""

from __future__ import annotations

from contextlib import closing

import pytest

from headway.builtins._memory_ledger import MemoryLedger
from headway.contracts import Artifact
from headway.errors import LedgerError, OptionError, StorageError, UnsafeNameError
from headway_git import GitLedger, export_to_git

STATES = [
    {"a.md": "1", "b/c.md": "2\r\n"},
    {"a.md": "1", "b/c.md": "", "b/d \u00fc.md": "3"},
    {"b": "a file now"},
    {"b/e": "a folder again", "quote'd": "x"},
    [1, 1.0, True, None],
    {"..": "hostile"},
    "text",
    {"a.md": "1"},
    {},
]


def fill(ledger):
    for version, value in enumerate(STATES):
        ledger.commit(version, Artifact(value), key=f"k{version}", message=f"m {version}\n\nmore")
    ledger.promote(4)
    ledger.promote(2)
    ledger.fork("side", source="dev")
    ledger.commit(9, Artifact({"s": "side"}), key="side", message="side", branch="side")
    return ledger


def everything(ledger):
    return {
        branch: (
            ledger.log(branch),
            [ledger.snapshot(branch, e.version) for e in ledger.log(branch)],
        )
        for branch in ("dev", "stable", "side")
    }


@pytest.mark.parametrize("kind", ["memory", "git"])
def test_every_version_is_there(tmp_path, git, kind):
    """
    As in the ledger, and a git ledger can go on from it.
    """
    new = (
        MemoryLedger
        if kind == "memory"
        else lambda start: GitLedger(tmp_path / "source", initial=start)
    )
    with closing(fill(new(Artifact({"a.md": "0"})))) as ledger:
        count = export_to_git(ledger, tmp_path / "out", branches=["dev", "stable", "side"])
        expected = everything(ledger)
    with closing(GitLedger(tmp_path / "out")) as written:
        found = everything(written)

    assert expected == found
    assert 1 + 9 + 2 + 1 == count
    assert "" == git(tmp_path / "out", "fsck", "--strict", "--no-dangling")
    assert f"{count}\n" == git(tmp_path / "out", "rev-list", "--all", "--count")
    assert "m 8" in git(tmp_path / "out", "log", "-1", "--format=%s")


def test_the_commits_are_those_of_a_git_ledger(tmp_path, git, monkeypatch):
    """
    Object for object, but for the time.
    """
    monkeypatch.setattr("time.time", lambda: 1_000_000_000.0)
    with closing(fill(GitLedger(tmp_path / "source", initial=Artifact(0)))) as ledger:
        export_to_git(ledger, tmp_path / "out", branches=["side", "dev", "stable"])
    refs = [git(tmp_path / name, "for-each-ref") for name in ("source", "out")]

    assert refs[0] == refs[1]


def test_a_place_that_is_taken_is_refused(tmp_path):
    """
    Nothing is written over; an empty folder will do.
    """
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    ledger = MemoryLedger(Artifact(1))
    for name in ("full", "file"):
        with pytest.raises(OptionError, match="empty or does not exist"):
            export_to_git(ledger, tmp_path / name)
    with pytest.raises(UnsafeNameError):
        export_to_git(ledger, tmp_path / "new", prefix="-x")
    export_to_git(ledger, tmp_path / "empty")

    assert ["empty", "file", "full"] == sorted(path.name for path in tmp_path.iterdir())


def test_a_ledger_that_lacks_a_version_leaves_nothing(tmp_path):
    """
    Half an export would look like a whole one.
    """
    ledger = MemoryLedger(Artifact(1), kept_bytes=0)
    for version in range(3):
        ledger.commit(version, Artifact(f"{version}"), key=f"k{version}", message="m")
    with pytest.raises(LedgerError, match="was let go"):
        export_to_git(ledger, tmp_path / "out")

    assert [] == [*tmp_path.iterdir()]


def test_success_is_not_believed(tmp_path, monkeypatch):
    """
    Where ``fast-import`` moved no branch, the export fails and leaves nothing.
    """
    monkeypatch.setattr("headway_git._export._import", lambda git, commands: None)
    ledger = fill(MemoryLedger(Artifact(1)))
    with pytest.raises(StorageError, match="'dev' is not what was written"):
        export_to_git(ledger, tmp_path / "out")

    assert [] == [*tmp_path.iterdir()]


def test_a_command_that_fails_says_what_git_said(tmp_path, monkeypatch):
    """
    Also when it ends before it was told everything.
    """
    monkeypatch.setattr("headway_git._export._Stream.commands", lambda *_: [b"bad\n"] * 100_000)
    with pytest.raises(StorageError, match="fast-import failed: fatal: Unsupported command: bad"):
        export_to_git(MemoryLedger(), tmp_path / "out")

    assert [] == [*tmp_path.iterdir()]
