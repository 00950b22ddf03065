"""
Packing beside commits.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from headway.contracts import Artifact, Committed
from headway_git import GitLedger


def commits(ledger, versions):
    for version in versions:
        state = Artifact({f"s{version % 9}.md": f"version {version}\n"})
        answer = ledger.commit(version, state, key=f"k{version}", message="m")

        assert Committed(version + 1) == answer


def test_objects_are_packed_in_the_background(tmp_path, git, monkeypatch):
    """
    Few files are left, every version can be read, also by a ledger that was open before.
    """
    path = tmp_path / "ledger.git"
    with closing(GitLedger(path, initial=Artifact({"a": "0"}))) as other:
        with closing(GitLedger(path)) as ledger:
            ledger._packer.every = 60
            for begin in range(0, 100, 20):
                commits(ledger, range(begin, begin + 20))
                ledger._packer._thread.join()
            loose = len([*path.glob("objects/??/*")])
            packs = len([*path.glob("objects/pack/*.pack")])
            expected = [ledger.snapshot("dev", version) for version in range(101)]

        assert loose < 60
        assert packs < 5
        assert expected == [other.snapshot("dev", version) for version in range(101)]
    assert "" == git(path, "fsck", "--strict", "--no-dangling")


def test_closing_ends_the_packing(tmp_path):
    """
    What was not packed is still there, and nothing is left of the attempt.
    """
    path = tmp_path / "ledger.git"
    for begin in range(0, 60, 20):
        with closing(GitLedger(path, initial=Artifact({"a": "0"}))) as ledger:
            ledger._packer.every = 50
            commits(ledger, range(begin, begin + 20))
    with closing(GitLedger(path)) as ledger:
        assert 60 == len(ledger.log())
        assert Artifact({"s3.md": "version 3\n"}) == ledger.snapshot("dev", 4).artifact
    assert [] == [*path.glob("objects/pack/*tmp*")]


def test_leftovers_of_a_killed_packing_are_removed(tmp_path):
    """
    By the next one, which has the lock of the one that died.
    """
    path = tmp_path / "ledger.git"
    with closing(GitLedger(path, initial=Artifact({"a": "0"}))) as ledger:
        (path / "objects/pack/tmp_pack_x").write_bytes(b"half")
        (path / "headway-pack.lock").write_text('{"pid": 1}')
        ledger._packer.every = 10
        commits(ledger, range(5))
        ledger._packer._thread.join()

    assert not (path / "objects/pack/tmp_pack_x").exists()


def test_a_users_repository_is_not_packed(users):
    """
    That is theirs to do.
    """
    with closing(GitLedger(users)) as ledger:
        assert ledger._packer is None


def test_a_folder_that_packing_removes_is_made_again(tmp_path, monkeypatch):
    """
    Between the moment it is made and that of its first object.
    """
    made, mkdir = [], Path.mkdir

    def removed(self, *arguments, **options):
        mkdir(self, *arguments, **options)
        if self.parent.name == "objects" and len(self.name) == 2 and len(made) < 3:
            made.append(self)
            if not any(self.iterdir()):
                self.rmdir()

    with closing(GitLedger(tmp_path / "ledger.git", initial=Artifact({"a": "0"}))) as ledger:
        monkeypatch.setattr(Path, "mkdir", removed)
        commits(ledger, range(5))

        assert 5 == len(ledger.log())
    assert made
