"""
What the sqlite ledger promises when processes are killed, contend or fork, and when disks are full or
closed.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_files import Committers, made, raw, started, state

from headway.builtins.sqlite import Database, SqliteLedger, _database
from headway.contracts import Artifact, Committed, HeadMoved, Snapshot
from headway.errors import (
    LedgerError,
    StorageError,
)
from headway.testing.conformance._ledger_calls import commit

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs kill, limits and users")

ADDER = """
import sys
from headway.builtins.sqlite import SqliteLedger
from headway.contracts import Artifact, Committed

path, writer, adds = sys.argv[1], sys.argv[2], int(sys.argv[3])
ledger = SqliteLedger(path, initial=Artifact({"sum": 0}))
for number in range(adds):
    while True:
        head = ledger.snapshot()
        total = head.artifact.value["sum"] + 1
        state = Artifact({**head.artifact.value, "sum": total, writer: number})
        key = f"{writer}-{number}-{head.version}"
        if isinstance(ledger.commit(head.version, state, key=key, message=writer), Committed):
            break
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture(scope="module")
def committers():
    with closing(Committers()) as committers:
        yield committers


# ------------------------------------------------------------------------ crashes and processes


@POSIX
def test_what_was_acknowledged_survives_kill(path, committers):
    """
    Twenty times, a process is killed in the midst of committing: nothing it acknowledged is gone.
    """
    for cycle in range(20):
        acknowledged = committers.killed_after(path, 1 + cycle % 7)
        with closing(SqliteLedger(path)) as ledger:
            head, log = ledger.snapshot(), ledger.log()

        assert acknowledged <= head.version <= acknowledged + 1  # one may be made, and not yet told
        assert list(range(1, head.version + 1)) == [entry.version for entry in log]
        assert {str(version) for version in range(max(0, head.version - 40), head.version)} == set(
            head.artifact.value.values()
        )


def test_two_processes_lose_no_update(path):
    """
    Each adds one to the head until it is its own; they open the empty file at once.
    """
    adds = 500
    processes = [started(ADDER, path, writer, adds) for writer in "ab"]
    for process in processes:
        process.communicate()
    with closing(SqliteLedger(path)) as ledger:
        head, log = ledger.snapshot(), ledger.log()

    assert [0, 0] == [process.returncode for process in processes]
    assert {"sum": 2 * adds, "a": adds - 1, "b": adds - 1} == head.artifact.value
    assert list(range(1, 2 * adds + 1)) == [entry.version for entry in log]
    assert {"a": adds, "b": adds} == {w: [e.message for e in log].count(w) for w in "ab"}


def test_an_empty_file_is_begun_once(path):
    """
    Of several processes that open it at once, one says what version 0 is.
    """
    path.touch()
    code = (
        "import sys; from headway.builtins.sqlite import SqliteLedger;"
        "from headway.contracts import Artifact;"
        "print(SqliteLedger(sys.argv[1], initial=Artifact(sys.argv[2])).snapshot().artifact.value)"
    )
    processes = [started(code, path, number) for number in range(5)]
    found = {process.communicate()[0] for process in processes}

    assert 1 == len(found)
    assert found <= {f"{number}\n" for number in range(5)}


def test_another_writer_is_seen(path):
    """
    The head is that of the file, whoever moved it; a commit on what was the head is answered so.
    """
    made(path, 3)
    with closing(SqliteLedger(path)) as one, closing(SqliteLedger(path)) as other:
        assert one.snapshot() == other.snapshot()
        commit(one, 3, {"a": "one"}, "one")

        assert HeadMoved(Snapshot(4, Artifact({"a": "one"}))) == commit(other, 3, {}, "other")
        assert Committed(4) == commit(other, 3, {"a": "one"}, "one")
        assert Committed(5) == commit(other, 4, {"a": "two"}, "two")
        assert Snapshot(5, Artifact({"a": "two"})) == one.snapshot()


@POSIX
def test_a_forked_process_opens_the_file_anew(path):
    """
    The connection is the parent's; the child is told so, and can do the parent no harm.
    """
    made(path, 1)
    with closing(SqliteLedger(path)) as ledger:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                ledger.snapshot()
            except LedgerError as error:
                code = 0 if "open it anew" in str(error) else 2
            ledger.close()
            os._exit(code)

        assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert Committed(2) == commit(ledger, 1, {}, "k")


def test_a_writer_that_waits_too_long_is_told(path, monkeypatch):
    """
    Another process keeps the lock: nothing is changed, and afterwards it goes on.
    """
    monkeypatch.setattr(_database, "WAITING", 0.05)
    made(path, 1)
    with closing(SqliteLedger(path)) as ledger, raw(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match=r"ledger\.db: another process keeps it locked"):
            commit(ledger, 1, {}, "k")
        assert 1 == ledger.snapshot().version
        other.execute("ROLLBACK")

        assert Committed(2) == commit(ledger, 1, {}, "k")


# ------------------------------------------------------------------- disks that are full or closed


def test_on_a_full_disk_the_head_stays(path):
    """
    A commit that does not fit changes nothing, and is made once there is room.
    """
    made(path, 3)
    large = {"a": os.urandom(200_000).hex()}
    with closing(SqliteLedger(path)) as ledger:
        connection = ledger.database._connection
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        for _ in range(2):
            with pytest.raises(StorageError, match=r"ledger\.db: no space left on device"):
                commit(ledger, 3, large, "large")
            assert Snapshot(3, Artifact(state(3))) == ledger.snapshot()
        connection.execute("PRAGMA max_page_count = 100000")

        assert Committed(4) == commit(ledger, 3, large, "large")
        assert Snapshot(4, Artifact(large)) == ledger.snapshot()


FILLING = """
import resource, signal, sys
from headway.builtins.sqlite import SqliteLedger
from headway.contracts import Artifact
from headway.errors import StorageError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ledger = SqliteLedger(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
made, failed = 0, 0
while failed < 3:
    try:
        made = ledger.commit(made, Artifact([made]), key=f"k{made}-{failed}", message="").version
    except StorageError:
        failed += 1
        assert ledger.snapshot().version == made
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert ledger.commit(made, Artifact("room"), key="room", message="").version == made + 1
print(made + 1)
"""


@POSIX
def test_where_the_log_can_grow_no_more_the_head_stays(path):
    """
    With a limit on the size of files, which the system enforces in the midst of a write.
    """
    process = started(FILLING, path)
    told = process.communicate()[0]
    with closing(SqliteLedger(path)) as ledger:
        assert 0 == process.returncode
        assert Snapshot(int(told), Artifact("room")) == ledger.snapshot()


NO_ROOM = """
import resource, signal, sys
from headway.builtins.sqlite import SqliteLedger
from headway.contracts import Artifact
from headway.errors import StorageError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
ledger = SqliteLedger(sys.argv[1])
version = ledger.snapshot().version
try:
    ledger.commit(version, Artifact({}), key="k", message="")
except StorageError:
    print(version)
"""


@POSIX
@pytest.mark.parametrize("left", ["nothing", "log", "log and index"])
def test_where_nothing_can_be_made_the_head_can_be_read(path, left, committers):
    """
    On a disk without room for SQLite's index of its log; with room again, it goes on.
    """
    made(path, 3)
    acknowledged = 3 if left == "nothing" else committers.killed_after(path, 20)
    if left == "log":
        Path(f"{path}-shm").unlink()
    told = started(NO_ROOM, path).communicate()[0]
    with closing(SqliteLedger(path)) as ledger:
        version = ledger.snapshot().version

        assert Committed(version + 1) == commit(ledger, version, {}, "k")
    assert [str(version)] == told.split()
    assert version >= acknowledged


READER = """
import os, sys
from headway.builtins.sqlite import SqliteLedger
from headway.contracts import Artifact
from headway.errors import StorageError

if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
ledger = SqliteLedger(sys.argv[1])
head = ledger.snapshot()
try:
    ledger.commit(head.version, Artifact({}), key="k", message="")
except StorageError as error:
    print(head.version, len(ledger.log()), ledger.snapshot("dev", 1).version, error)
"""


@pytest.fixture
def folder():
    """
    A folder that everybody may reach; pytest's own are for its user alone.
    """
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@POSIX
@pytest.mark.parametrize("left", ["nothing", "log", "log and index"])
def test_in_a_closed_folder_the_head_can_be_read(folder, left, committers):
    """
    After a clean end, after a crash, and after one whose index SQLite would have to make again.
    """
    path = folder / "ledger.db"
    made(path, 3)
    acknowledged = 3 if left == "nothing" else committers.killed_after(path, 20)
    if left == "log":
        Path(f"{path}-shm").unlink()
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    told = started(READER, path).communicate()[0]
    folder.chmod(0o755)
    with closing(SqliteLedger(path, initial=None)) as ledger:
        version = ledger.snapshot().version

    assert told.startswith(f"{version} {version} 1 {path}: it can only be read")
    assert version >= acknowledged


def test_a_database_may_be_opened_for_reading_alone(path):
    """
    Beside one that writes: it sees what was committed last, and is refused what it may not do.
    """
    made(path, 3)
    with (
        closing(SqliteLedger(path)) as writer,
        closing(Database(path, read_only=True)) as database,
    ):
        reader = SqliteLedger(database)
        commit(writer, 3, {"a": "b"}, "k")

        assert Snapshot(4, Artifact({"a": "b"})) == reader.snapshot()
        with pytest.raises(StorageError, match="it can only be read"):
            commit(reader, 4, {}, "more")


@POSIX
def test_a_torn_log_costs_only_what_was_torn(path, committers):
    """
    SQLite's log is cut in the midst: what was committed before the cut is there, whole.

    A disk that keeps its promises tears nothing that was acknowledged.
    """
    acknowledged = committers.killed_after(path, 40)
    good, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    heads = []
    for share in (0.999, 0.9, 0.5, 0.2):
        path.write_bytes(good)
        Path(f"{path}-wal").write_bytes(log[: int(len(log) * share)])
        Path(f"{path}-shm").unlink(missing_ok=True)
        with closing(SqliteLedger(path)) as ledger:
            head = ledger.snapshot()
            heads.append(head.version)

            assert head.version == len(ledger.log())
            assert Committed(head.version + 1) == commit(ledger, head.version, {}, "on")

    assert heads == sorted(heads, reverse=True)
    assert heads[0] >= acknowledged - 1
    assert heads[2] > 10
