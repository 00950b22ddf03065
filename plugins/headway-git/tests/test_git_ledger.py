"""
What a git ledger stores, and who may use it.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hostile import PATHS

from headway.contracts import Artifact, Committed, HeadMoved, Snapshot
from headway.errors import LedgerError, OptionError, UnsafeNameError
from headway.registry import Registry
from headway_git import GitLedger

SCRIPTS = Path(__file__).parent.parent / "scripts"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.git"


@pytest.fixture
def ledger(path):
    with closing(GitLedger(path, initial=Artifact({"a.md": "0\n"}))) as ledger:
        yield ledger


def commit(ledger, value, key=None, message="m", branch="dev"):
    head = ledger.snapshot(branch)
    key = key or f"k{head.version}"
    return ledger.commit(head.version, Artifact(value), key=key, message=message, branch=branch)


def test_it_is_offered_by_its_name(path):
    """
    The registry finds it, and it says what it promises.
    """
    registry = Registry.discover()
    with closing(registry.create("ledger", "git", path=path, initial=Artifact(1))) as ledger:
        assert Snapshot(0, Artifact(1)) == ledger.snapshot()
        assert "power" == ledger.durability


def test_a_mapping_of_paths_to_texts_is_a_folder(ledger, path, git):
    """
    People read and compare it with git.
    """
    commit(ledger, {"skills/date.md": "ISO\n", "a.md": "0\n"}, message="dates")
    commit(ledger, {"skills/date.md": "ISO 8601\n", "a.md": "0\n"}, message="better dates")

    assert "better dates\ndates\nversion 0\n" == git(path, "log", "--format=%s", "headway/dev")
    assert "ISO 8601\n" == git(path, "show", "headway/dev:skills/date.md")
    assert "skills/date.md\n" == git(path, "diff", "--name-only", "headway/dev~1", "headway/dev")
    assert "" == git(path, "fsck", "--strict", "--no-dangling")


def test_any_other_state_is_one_file(ledger, path, git):
    """
    Spelled so that a difference shows what changed.
    """
    commit(ledger, {"past": {"y": "ied"}, "plural": {"s": "es"}})
    commit(ledger, {"past": {"y": "ied", "e": "ed"}, "plural": {"s": "es"}})
    changed = git(path, "diff", "-U0", "headway/dev~1", "headway/dev").splitlines()

    assert "artifact.json\n" == git(path, "ls-tree", "--name-only", "headway/dev")
    assert ['+  "e": "ed",'] == [line for line in changed if line.startswith("+ ")]


def test_trailers_say_what_the_log_says(ledger, path, git):
    """
    Version, parent, digest and key, for programs that read the history.
    """
    commit(ledger, {"a.md": "1\n"}, key="run-1/step 9")
    form = "--format=%(trailers:only,unfold)"
    said = dict(line.split(": ") for line in git(path, "log", "-1", form).splitlines() if line)

    assert {
        "Headway-Version": "1",
        "Headway-Parent": "0",
        "Headway-Digest": Artifact({"a.md": "1\n"}).digest,
        "Headway-Format": "files",
        "Headway-Key": "run-1/step 9",
    } == said


STATES = {
    "line ends": {"a": "1\r\n2\r3\n", "b": "\n", "c": ""},
    "names": {"\u00fc b/\u00e9.md": "\U0001f600", "artifact.json": "1", "x.json": "{}"},
    "half a pair in a text": {"a.md": "\ud800"},
    "no text": {"a.md": "1", "b.md": 1},
    "file and folder": {"a": "1", "a/b": "2"},
    "file turned folder": {"a.md/b": "2"},
    "nothing": {},
    "vector": [0.1, 1.0, 1, True, -0.0],
    "deep": {"a": {"b": {"c": {"d": [[], {}, {"e": None}]}}}},
}


@pytest.mark.parametrize("first", STATES)
def test_states_follow_on_each_other(ledger, path, first):
    """
    Whatever came before, each is read back as it was, at once and after a restart.
    """
    values = [STATES[first], *STATES.values(), STATES[first]]
    for value in values:
        commit(ledger, value)
    now = [ledger.snapshot("dev", version + 1).artifact for version in range(len(values))]
    with closing(GitLedger(path)) as again:
        later = [again.snapshot("dev", version + 1).artifact for version in range(len(values))]

    assert [Artifact(value) for value in values] == now
    assert [Artifact(value) for value in values] == later


def test_no_hostile_name_reaches_git(ledger, path, git):
    """
    A mapping with a name that some platform would misread is one file, and comes back as it was.
    """
    names = [name for name, _ in PATHS if isinstance(name, str)]
    for name in names:
        commit(ledger, {name: "text"})
    tips = git(path, "rev-list", "headway/dev").split()
    listed = {git(path, "ls-tree", "-r", "--name-only", tip) for tip in tips[:-1:20]}
    found = [ledger.snapshot("dev", version + 1).artifact for version in range(len(names))]

    assert len(names) > 200
    assert {"artifact.json\n"} == listed
    assert [Artifact({name: "text"}) for name in names] == found


MESSAGES = [
    "",
    "plain",
    "two\nlines\n",
    "two\n\nparagraphs\n\n",
    "Headway-Version: 99\nHeadway-Key: other",
    "a\n\nHeadway-Version: 99\n\n",
    "\n\n\n",
    "nul \0 and half a pair \ud800",
    "\u00fc \U0001f600 \r\n\t",
    '"quoted"',
]
KEYS = ["k 1", " k", "k ", "k\nHeadway-Version: 7", '"k"', "\u00fc", "\ud800", "\0", "k: v", "{}"]


def test_messages_and_keys_come_back_as_they_were(ledger, path):
    """
    Whatever they hold, also what looks like a trailer, and after a restart.
    """
    for number, message in enumerate(MESSAGES):
        commit(ledger, {"a.md": f"{number}"}, key=KEYS[number], message=message)
    with closing(GitLedger(path)) as again:
        log = again.log()
        known = again.commit(0, Artifact({"a.md": "3"}), key=KEYS[3], message="again")

    assert MESSAGES == [entry.message for entry in log]
    assert KEYS == [entry.key for entry in log]
    assert list(range(1, len(KEYS) + 1)) == [entry.version for entry in log]
    assert Committed(4) == known


def test_a_version_without_a_message_has_a_subject(ledger, path, git):
    """
    People see its number, and the log gives back what was said: nothing.
    """
    commit(ledger, {"a.md": "1"}, message="")

    assert "version 1\n" == git(path, "log", "-1", "--format=%s", "headway/dev")
    assert [""] == [entry.message for entry in ledger.log()]


def test_only_what_changed_is_written(path):
    """
    One file of a thousand: a blob, the folders on the way to it, and a commit.
    """
    texts = {f"d{n % 10}/f{n}.md": f"{n}\n" for n in range(1_000)}
    with closing(GitLedger(path, initial=Artifact(texts))) as ledger:
        before = {*path.glob("objects/??/*")}
        commit(ledger, texts | {"d3/f3.md": "new\n"})
        after = {*path.glob("objects/??/*")}
        head = ledger.snapshot()

    assert 4 == len(after - before)
    assert texts | {"d3/f3.md": "new\n"} == head.artifact.value
    with closing(GitLedger(path)) as again:
        assert head == again.snapshot()


def test_two_of_them_see_each_other(ledger, path):
    """
    The one that comes late is told the head, knows the other's keys, and sees its branches.
    """
    with closing(GitLedger(path)) as other:
        assert Committed(1) == commit(ledger, {"a.md": "1"}, key="k")
        moved = other.commit(0, Artifact({"a.md": "2"}), key="l", message="m")
        again = other.commit(0, Artifact({"a.md": "1"}), key="k", message="m")
        ledger.promote(1)
        ledger.fork("side")

        assert HeadMoved(Snapshot(1, Artifact({"a.md": "1"}))) == moved
        assert Committed(1) == again
        assert other.snapshot("stable") == other.snapshot("side") == ledger.snapshot()
        assert other.log("stable") == ledger.log("stable")
        with pytest.raises(LedgerError, match="'side' exists already"):
            other.fork("side")


def test_a_users_repository_stays_as_it_was(users, git):
    """
    Branch, HEAD, index, work tree and settings; what is new is the ledger's branches.
    """
    looks = [("status", "--porcelain=v1", "--branch"), ("diff",), ("diff", "--cached"), ("reflog",)]
    files = {name: (users / ".git" / name).read_bytes() for name in ("HEAD", "index", "config")}
    before = [git(users, *look) for look in looks]
    with closing(GitLedger(users, initial=Artifact({"a.txt": "mine"}))) as ledger:
        commit(ledger, {"a.txt": "mine, too"})
        ledger.promote(1)
        ledger.fork("side")
    branches = git(users, "branch", "--format=%(refname:short)").split()

    assert before == [git(users, *look) for look in looks]
    assert files == {name: (users / ".git" / name).read_bytes() for name in files}
    assert ["headway/dev", "headway/side", "headway/stable", "main"] == branches
    assert ["a.txt", "b.txt", "c.txt"] == sorted(p.name for p in users.glob("*.txt"))


def test_it_goes_on_after_the_users_git_packed_it(users, git):
    """
    ``git gc`` moves objects into packs and references into one file.
    """
    with closing(GitLedger(users, initial=Artifact({"a": "0"}))) as ledger:
        for number in range(5):
            commit(ledger, {"a": f"{number}"})
        git(users, "gc", "-q", "--prune=now")

        assert Artifact({"a": "1"}) == ledger.snapshot("dev", 2).artifact
        assert Committed(6) == commit(ledger, {"a": "6"})
    with closing(GitLedger(users)) as again:
        assert 6 == len(again.log())


def test_a_work_tree_of_a_repository_will_do(users, git, tmp_path):
    """
    Objects and branches are those of the repository that it belongs to.
    """
    git(users, "worktree", "add", "-q", "--detach", str(tmp_path / "more"))
    with closing(GitLedger(tmp_path / "more", initial=Artifact(1))) as ledger:
        commit(ledger, 2)

    assert "2\n" == git(users, "show", "headway/dev:artifact.json")


def test_two_prefixes_are_two_ledgers(users):
    """
    They share a repository and nothing else.
    """
    with (
        closing(GitLedger(users, initial=Artifact(1), prefix="one")) as one,
        closing(GitLedger(users, initial=Artifact(2), prefix="two")) as two,
    ):
        commit(one, 3)

        assert (Artifact(3), Artifact(2)) == (one.snapshot().artifact, two.snapshot().artifact)


def test_a_history_written_anew_is_taken_as_it_is(ledger, path, git):
    """
    Somebody moved the branch back: that is the head now.
    """
    for number in range(3):
        commit(ledger, {"a.md": f"{number}"})
    git(path, "update-ref", "refs/heads/headway/dev", "headway/dev~2")

    assert [1] == [entry.version for entry in ledger.log()]
    assert Committed(2) == commit(ledger, {"a.md": "other"}, key="k9")


def test_somebody_elses_commit_on_its_branch_is_named(ledger, path, git):
    """
    A commit without trailers can't be a version.
    """
    tree = git(path, "rev-parse", "headway/dev^{tree}").strip()
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    other = git(path, *who, "commit-tree", tree, "-p", "headway/dev", "-m", "by hand").strip()
    git(path, "update-ref", "refs/heads/headway/dev", other)

    with pytest.raises(LedgerError, match=f"commit {other} was not made by a ledger"):
        ledger.snapshot()


def test_bad_paths_are_refused(tmp_path, users, git):
    """
    Each error says what to give instead.
    """
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    git(tmp_path, "init", "-q", "--object-format=sha256", "sha256")
    with pytest.raises(OptionError, match="run_dir="):
        GitLedger()
    for name in ("full", "full/x"):
        with pytest.raises(OptionError, match="empty or does not exist"):
            GitLedger(tmp_path / name)
    with pytest.raises(OptionError, match="give a repository with sha1"):
        GitLedger(tmp_path / "sha256")
    for prefix in ("", "-x", "a/b", "..", "x.lock"):
        with pytest.raises(UnsafeNameError):
            GitLedger(users, prefix=prefix)

    assert ["x"] == [path.name for path in (tmp_path / "full").iterdir()]


def test_a_branch_in_the_way_is_named(users, git):
    """
    A branch called like the prefix leaves no room below it.
    """
    git(users, "branch", "headway")
    with pytest.raises(LedgerError, match="refs/heads/headway"):
        GitLedger(users)
    GitLedger(users, prefix="search").close()


def test_processes_that_contend_lose_nothing():
    """
    Two of them, two hundred commits each.
    """
    command = [sys.executable, str(SCRIPTS / "contend_git.py"), "--commits", "400"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
    assert "400 contended commits" in done.stdout


def test_files_processes_and_memory_do_not_grow():
    """
    Over some hundreds of commits and snapshots.
    """
    command = [sys.executable, str(SCRIPTS / "endure_git.py"), "--commits", "400"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
