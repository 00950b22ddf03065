"""
The git ledger after a kill, with damaged objects, on a full disk, and where git is not as usual.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from headway.contracts import Artifact, Committed
from headway.errors import LedgerCorrupt, OptionError, StorageError
from headway_git import GitLedger

SCRIPTS = Path(__file__).parent.parent / "scripts"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.git"


def commit(ledger, value, branch="dev"):
    head = ledger.snapshot(branch)
    key = f"k{head.version}"
    return ledger.commit(head.version, Artifact(value), key=key, message="m", branch=branch)


def filled(path, count=3):
    ledger = GitLedger(path, initial=Artifact({"a.md": "0", "b.md": "same"}))
    for number in range(count):
        commit(ledger, {"a.md": f"text {number + 1}", "b.md": "same"})
    return ledger


def test_what_was_acknowledged_survives_a_kill():
    """
    Twenty times, with and without git's own processes; it opens by itself and goes on.
    """
    command = [sys.executable, str(SCRIPTS / "kill_git.py"), "--cycles", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
    assert "20 kills" in done.stdout


LOCKS = ["refs/heads/headway/dev.lock", "HEAD.lock"]


@pytest.mark.parametrize("name", LOCKS)
def test_locks_of_one_that_died_at_work_are_removed(path, name):
    """
    The lease still says who held it, and the kernel that nobody does.
    """
    filled(path).close()
    (path / name).touch()
    (path / "objects" / "tmp_obj_headway_1_1").write_bytes(b"half")
    (path / "headway.lock").write_text('{"pid": 1}')
    with closing(GitLedger(path)) as ledger:
        assert Committed(4) == commit(ledger, {"a.md": "goes on"})

    assert not (path / name).exists()
    assert not (path / "objects" / "tmp_obj_headway_1_1").exists()


@pytest.mark.parametrize("name", LOCKS)
def test_locks_older_than_the_system_are_removed(path, name):
    """
    After a loss of power: no process is as old as that.
    """
    filled(path).close()
    (path / name).touch()
    os.utime(path / name, (1, 1))
    with closing(GitLedger(path)) as ledger:
        assert Committed(4) == commit(ledger, {"a.md": "goes on"})


def test_a_lock_of_another_git_command_is_respected(path, monkeypatch):
    """
    It may be at work: the error names the lock, nothing was committed, and later it goes on.
    """
    settings = ("core.filesRefLockTimeout=10",)
    monkeypatch.setattr("headway_git._git._SETTINGS", settings)
    lock = path / "refs/heads/headway/dev.lock"
    with closing(filled(path)) as ledger:
        lock.touch()
        with pytest.raises(StorageError, match=r"dev\.lock: this lock of another git command"):
            commit(ledger, {"a.md": "x"})
        assert lock.exists()
        assert 3 == ledger.snapshot().version
        lock.unlink()
        assert Committed(4) == commit(ledger, {"a.md": "x"})


def test_a_dead_process_of_git_is_replaced(path):
    """
    The one that moves branches may be killed alone.
    """
    with closing(filled(path)) as ledger:
        ledger._refs._mover.kill()
        ledger._refs._mover.wait()

        assert Committed(4) == commit(ledger, {"a.md": "x"})


def test_one_that_is_being_made_is_waited_for(path):
    """
    Eight at once on an empty folder: one makes it, all of them have it.
    """
    ledgers = []
    threads = [threading.Thread(target=lambda: ledgers.append(GitLedger(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    heads = {ledger.snapshot() for ledger in ledgers}
    for ledger in ledgers:
        ledger.close()

    assert (8, 1) == (len(ledgers), len(heads))


def test_one_whose_making_was_killed_is_made_again(path):
    """
    Whatever is there of it already.
    """
    path.mkdir()
    (path / "headway-unfinished").touch()
    (path / "HEAD").write_text("ref: refs/hea")
    (path / "config.lock").touch()
    with closing(filled(path)) as ledger:
        assert 3 == ledger.snapshot().version


def test_one_whose_first_branches_were_killed_gets_them(path, git):
    """
    ``stable`` begins where ``dev`` began.
    """
    filled(path).close()
    git(path, "update-ref", "-d", "refs/heads/headway/stable")
    with closing(GitLedger(path)) as ledger:
        assert 0 == ledger.snapshot("stable").version
        assert 3 == ledger.snapshot().version


def file_of(path, git, name):
    found = git(path, "rev-parse", name).strip()
    return path / "objects" / found[:2] / found[2:]


DAMAGES = {
    "missing": lambda file: file.unlink(),
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-3]),
    "empty": lambda file: file.write_bytes(b""),
    "flipped": lambda file: file.write_bytes(flipped(file.read_bytes())),
}


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["headway/dev~1:a.md", "headway/dev~1^{tree}"])
def test_damage_is_named_and_other_versions_stay_readable(path, git, name, damage):
    """
    The error says file, version and branch; the head can be read, and committed on.
    """
    filled(path).close()
    file = file_of(path, git, name)
    file.chmod(0o644)
    DAMAGES[damage](file)
    with closing(GitLedger(path)) as ledger:
        with pytest.raises(LedgerCorrupt, match="version 2 of dev") as caught:
            ledger.snapshot("dev", 2)

        assert str(file) == caught.value.path
        assert 3 == ledger.snapshot().version
        assert Committed(4) == commit(ledger, {"a.md": "goes on"})


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_commit_is_a_clear_error(path, git, damage):
    """
    Without it there is no history.
    """
    filled(path).close()
    file = file_of(path, git, "headway/dev")
    file.chmod(0o644)
    DAMAGES[damage](file)

    with pytest.raises((LedgerCorrupt, StorageError), match=file.parent.name + file.name):
        GitLedger(path)


def test_an_object_of_another_name_is_noticed(path, git):
    """
    Whole and well-formed, but not what its name says.
    """
    filled(path).close()
    wrong, right = file_of(path, git, "headway/dev:a.md"), file_of(path, git, "headway/dev~1:a.md")
    wrong.chmod(0o644)
    wrong.write_bytes(right.read_bytes())
    with (
        closing(GitLedger(path)) as ledger,
        pytest.raises(LedgerCorrupt, match="not what its name says"),
    ):
        ledger.snapshot()


def test_a_damaged_pack_is_noticed(path, git):
    """
    Wherever in it a bit is flipped, no wrong value is read.
    """
    filled(path, 6).close()
    git(path, "repack", "-adq")
    (pack,) = path.glob("objects/pack/*.pack")
    whole = pack.read_bytes()
    pack.chmod(0o644)
    values = [Artifact({"a.md": f"text {n + 1}", "b.md": "same"}) for n in range(6)]
    for place in range(12, len(whole) - 20, 17):
        pack.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        try:
            with closing(GitLedger(path)) as ledger:
                found = [ledger.snapshot("dev", version).artifact for version in range(1, 7)]
        except (LedgerCorrupt, StorageError):
            continue

        assert values == found


def test_a_reference_that_is_no_name_is_named(path):
    """
    Such as an empty file after a loss of power on a careless disk.
    """
    with closing(filled(path)) as ledger:
        (path / "refs/heads/headway/dev").write_bytes(b"")
        with pytest.raises(LedgerCorrupt, match="refs/heads/headway/dev"):
            ledger.snapshot()


def test_a_damaged_object_is_written_anew(path, git):
    """
    A commit that needs it again heals it.
    """
    with closing(filled(path)) as ledger:
        file = file_of(path, git, "headway/dev~1:a.md")
        file.chmod(0o644)
        file.write_bytes(b"damaged")
        commit(ledger, {"a.md": "text 2", "b.md": "same"})

        assert "text 2" == ledger.snapshot("dev", 2).artifact.value["a.md"]


def test_a_full_disk_is_a_clear_error(path):
    """
    A file may not grow beyond a limit; what was acknowledged stays, and it goes on when there is room.
    """
    code = f"""
import resource, signal, sys
from headway.contracts import Artifact, Committed
from headway.errors import StorageError
from headway_git import GitLedger
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ledger = GitLedger({str(path)!r}, initial=Artifact("0"))
ledger.commit(0, Artifact("1"), key="1", message="m")
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
big = Artifact(["%d" % n for n in range(20000)])
try:
    ledger.commit(1, big, key="2", message="m")
except StorageError as error:
    assert "make room" in str(error), error
else:
    sys.exit("no error")
assert 1 == ledger.snapshot().version
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
assert Committed(2) == ledger.commit(1, big, key="2", message="m")
ledger.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
    assert [] == [*path.rglob("tmp_obj_*")]
    with closing(GitLedger(path)) as ledger:
        assert 2 == ledger.snapshot().version


def test_it_closes_what_it_opened(path):
    """
    Many ledgers, one after the other, under a limit of open files.
    """
    there = len([*Path("/proc/self/fd").iterdir()])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (there + 25, hard))
    try:
        for _ in range(15):
            filled(path, 1).close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert there == len([*Path("/proc/self/fd").iterdir()])


def hostile_home(folder):
    """
    A home whose settings would sign, run hooks, change line ends, and know no identity.
    """
    hooks, template = folder / "hooks", folder / "template"
    for where in (hooks, template / "hooks"):
        where.mkdir(parents=True)
        for name in ("reference-transaction", "pre-commit", "post-update", "update"):
            (where / name).write_text(f"#!/bin/sh\ntouch {folder}/a-hook-ran\nexit 1\n")
            (where / name).chmod(0o755)
    (template / "HEAD").write_text("ref: refs/heads/hostile\n")
    (folder / ".gitconfig").write_text(
        "[user]\n\tuseConfigOnly = true\n[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = false\n"
        f"[core]\n\thooksPath = {hooks}\n\tautocrlf = true\n\tlogAllRefUpdates = always\n"
        f"[init]\n\ttemplateDir = {template}\n\tdefaultBranch = x\n\tdefaultObjectFormat = sha256\n"
        "[gc]\n\tauto = 1\n[safe]\n\tdirectory =\n[alias]\n\tupdate-ref = !false\n"
    )
    return {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}


def hostile_variables(folder):
    """
    An environment that points git to other places.
    """
    names = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
    paths = {name: str(folder / name) for name in names}
    more = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "x"}
    return paths | more | {"GIT_NAMESPACE": "other", "GIT_CONFIG_PARAMETERS": "'x.y"}


USES = """
import sys
from headway.contracts import Artifact, Committed
from headway_git import GitLedger, export_to_git
for path in sys.argv[1:3]:
    for number in range(2):
        ledger = GitLedger(path, initial=Artifact({"a.md": "0\\r\\n"}))
        state = Artifact({"a.md": "1\\r\\n"})
        assert Committed(1) == ledger.commit(0, state, key="k", message="m")
        ledger.promote(1)
        assert state == ledger.snapshot("stable").artifact
        ledger.close()
ledger = GitLedger(sys.argv[1])
export_to_git(ledger, sys.argv[3])
ledger.close()
"""


@pytest.mark.parametrize("hostile", [hostile_home, hostile_variables], ids=["home", "variables"])
def test_only_its_arguments_decide_what_git_does(tmp_path, users, git, hostile):
    """
    Neither the user's configuration nor variables change where and how it is stored.
    """
    folder = tmp_path / "hostile"
    folder.mkdir()
    surroundings = os.environ | hostile(folder)
    paths = [str(tmp_path / "new.git"), str(users), str(tmp_path / "exported.git")]
    before = git(users, "status", "--porcelain", "--branch")
    command = [sys.executable, "-c", USES, *paths]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
    assert not (folder / "a-hook-ran").exists()
    assert before == git(users, "status", "--porcelain", "--branch")
    assert [] == [path for path in folder.iterdir() if path.name.startswith("GIT_")]
    for path in paths:
        assert "1\r\n" == git_bytes(path, "show", "headway/stable:a.md")
        assert "ref: refs/heads/x" not in (Path(path) / ".git" / "HEAD").name


def git_bytes(path, *arguments):
    command = ["git", "-C", path, *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode()


WITHOUT_GIT = """
import sys
from headway.cli import main
from headway.errors import OptionError
from headway_git import GitLedger
try:
    GitLedger(sys.argv[1])
except OptionError as error:
    assert "Install git" in str(error), error
else:
    sys.exit("no error")
sys.exit(main(["plugins", "--check"]))
"""


def test_without_git_the_error_says_so(tmp_path):
    """
    Whoever asks for the ledger is told to install git, and the list of plug-ins stays whole.
    """
    (tmp_path / "bin").mkdir()
    surroundings = os.environ | {"PATH": str(tmp_path / "bin")}
    command = [sys.executable, "-c", WITHOUT_GIT, str(tmp_path / "ledger.git")]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stdout + done.stderr
    assert "headway-git" in done.stdout
    assert not (tmp_path / "ledger.git").exists()


def test_without_git_its_tests_are_skipped_or_fail(tmp_path):
    """
    Skipped with a reason; with ``HEADWAY_REQUIRE=git`` they fail.
    """
    (tmp_path / "bin").mkdir()
    tests = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-n0"]
    command += [str(tests / "test_git_ledger.py"), "-k", "two_prefixes or bad_paths"]
    said = {}
    for required in ("", "git"):
        surroundings = os.environ | {"PATH": str(tmp_path / "bin"), "HEADWAY_REQUIRE": required}
        done = subprocess.run(
            command, env=surroundings, capture_output=True, text=True, cwd=tests, check=False
        )
        said[required] = done.returncode, done.stdout

    assert 0 == said[""][0], said[""][1]
    assert "needs the program git" in said[""][1]
    assert 1 == said["git"][0], said["git"][1]


def test_an_old_git_is_refused(monkeypatch):
    """
    One that can't flush references can't keep the promise.
    """
    monkeypatch.setattr("headway_git._git._version", lambda program: (2, 30))
    with pytest.raises(OptionError, match=r"git 2\.36 or newer"):
        GitLedger("x")


def test_an_interrupted_call_leaves_no_answer_behind(path, git, monkeypatch):
    """
    What git answers late must not be taken for the answer to the next question.
    """
    with closing(filled(path, 6)) as ledger:
        git(path, "repack", "-adq")
        expected = [ledger.snapshot("dev", version) for version in range(7)]
        refs, reader = ledger._refs._mover.stdout, ledger._repository._reader.stdout
        for stream, call in (
            (refs, lambda: commit(ledger, {"a.md": "interrupted"})),
            (reader, lambda: ledger.snapshot("dev", 2)),
        ):
            owner = ledger._refs._mover if stream is refs else ledger._repository._reader
            monkeypatch.setattr(owner, "stdout", Interrupted(stream))
            with pytest.raises(KeyboardInterrupt):
                call()

        assert expected == [ledger.snapshot("dev", version) for version in range(7)]
        head = ledger.snapshot()
        assert Committed(head.version + 1) == commit(ledger, {"a.md": "goes on"})
        assert Artifact({"a.md": "goes on"}) == ledger.snapshot().artifact


class Interrupted:
    def __init__(self, stream):
        self.stream = stream

    def readline(self):
        raise KeyboardInterrupt

    def close(self):
        self.stream.close()
