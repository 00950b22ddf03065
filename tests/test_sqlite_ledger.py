"""
What the sqlite ledger promises beyond the contract: crashes, other processes, full and damaged disks.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import pytest

from headway.builtins.sqlite import Database, SqliteLedger, _database
from headway.contracts import Artifact, Committed, HeadMoved, Snapshot
from headway.errors import (
    LedgerClosedError,
    LedgerCorrupt,
    LedgerError,
    OptionError,
    StorageError,
)
from headway.registry import Registry
from headway.testing.ledgers import commit

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs kill, limits and users")

COMMITTERS = """
import os, sys
from headway.builtins.sqlite import SqliteLedger
from headway.contracts import Artifact

def commit(path):
    print(os.getpid(), flush=True)
    ledger = SqliteLedger(path, initial=Artifact({}))
    head = ledger.snapshot()
    while True:
        state = {**head.artifact.value, f"{head.version % 40}.md": str(head.version)}
        ledger.commit(head.version, Artifact(state), key=f"k{head.version}", message="")
        head = ledger.snapshot()
        print(head.version, flush=True)

for path in sys.stdin:
    if (child := os.fork()) == 0:
        commit(path.rstrip())
    os.waitpid(child, 0)
    print("ended", flush=True)
"""

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


def made(path, versions, **options):
    """
    A file with so many versions of a mapping of 40 names after version 0.
    """
    with closing(SqliteLedger(path, initial=Artifact(state(0)), **options)) as ledger:
        for version in range(versions):
            commit(ledger, version, state(version + 1), f"k{version}")
    return path


def state(version):
    return {
        f"{n}.md": f"{n} at {n if n > version else version - (version - n) % 40}" for n in range(40)
    }


def started(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


class Committers:
    """
    Processes that commit until they are killed, one after the other; each says what was acknowledged.
    """

    def __init__(self):
        command = [sys.executable, "-c", COMMITTERS]
        pipe = subprocess.PIPE
        self._nursery = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def killed_after(self, path, commits):
        """
        The last version that a process acknowledged, which was killed after so many.
        """
        print(path, file=self._nursery.stdin, flush=True)
        told = self._nursery.stdout
        child = int(told.readline())
        versions = [int(told.readline()) for _ in range(commits)]
        os.kill(child, signal.SIGKILL)
        versions += map(int, iter(told.readline, "ended\n"))
        return versions[-1]

    def close(self):
        self._nursery.communicate()


@pytest.fixture(scope="module")
def committers():
    with closing(Committers()) as committers:
        yield committers


@contextmanager
def raw(path):
    """
    The file as SQLite alone has it.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


# ---------------------------------------------------------------------- what is kept, and how


def test_a_commit_writes_what_it_changed(path):
    """
    One file of a thousand: the row is as short as the change; no state is read in steady state.
    """
    files = {f"{number}.md": f"{number} " * 100 for number in range(1000)}
    with closing(SqliteLedger(path, initial=Artifact(files))) as ledger:
        for version in range(30):
            files = {**files, f"{version}.md": f"changed at {version}"}
            assert Committed(version + 1) == commit(ledger, version, files, f"k{version}")
            assert version + 1 == ledger.snapshot().version
    with raw(path) as connection:
        sizes = [s for (s,) in connection.execute("SELECT length(body) FROM ledger_state")]

    assert 0 == ledger.reads
    assert max(sizes[1:]) < 100
    assert sizes[0] > 5_000


def test_differences_are_cut_off(path):
    """
    A version is read from no more than 64 rows, and a whole copy is written when they outgrow one.
    """
    made(path, 200)
    with raw(path) as connection:
        whole = [i for (i,) in connection.execute("SELECT id FROM ledger_state WHERE base IS NULL")]
    with closing(SqliteLedger(path)) as ledger:
        found = [ledger.snapshot("dev", version) for version in range(201)]

    assert 4 <= len(whole) <= 20
    assert max(b - a for a, b in pairwise(whole)) <= 64
    assert [Snapshot(version, Artifact(state(version))) for version in range(201)] == found


def test_states_that_are_no_mappings_are_let_go(path):
    """
    The newest of each branch, what was promoted and every head are kept; the log lists all.
    """
    with closing(SqliteLedger(path, initial=Artifact([0]), keep_versions=5)) as ledger:
        for version in range(30):
            commit(ledger, version, [version + 1], f"k{version}")
            if version == 9:
                ledger.promote(10)
                ledger.fork("side")
        ledger.promote(28)
        commit(ledger, 28, ["stable"], branch="stable")
        kept = []
        for version in range(31):
            try:
                kept.append(ledger.snapshot("dev", version).artifact.value[0])
            except LedgerError as error:
                assert f"version {version} of 'dev' was let go" in str(error)  # noqa: PT017 - listed
        rows = [len(ledger.log(branch)) for branch in ("dev", "stable", "side")]
        side = ledger.snapshot("side")
    with raw(path) as connection:
        (stored,) = connection.execute("SELECT count(*) FROM ledger_state").fetchone()

    # 0 is still among the newest of "stable", and 6 to 10 are those of "side".
    assert [0, 6, 7, 8, 9, 10, 26, 27, 28, 29, 30] == kept
    assert len([*kept, "stable"]) == stored
    assert [30, 3, 10] == rows
    assert Snapshot(10, Artifact([10])) == side


def test_sixteen_states_are_kept_by_default(path):
    """
    Of states that are no mappings; mappings are all kept, which ``test_differences`` reads.
    """
    with closing(SqliteLedger(path, initial=Artifact("0"))) as ledger:
        for version in range(40):
            commit(ledger, version, str(version + 1))

        assert Snapshot(25, Artifact("25")) == ledger.snapshot("dev", 25)
        with pytest.raises(LedgerError, match=r"version 24 of 'dev' was let go.*keep_versions"):
            ledger.promote(24)


@pytest.mark.parametrize(
    "odd", [{2: "a", 10: "b"}, {"a": {2: 0, 10: 0}}, {"\ud83d\ude00": 0, "\uffff": 1}]
)
def test_names_that_are_no_proper_texts_lose_nothing(path, odd):
    """
    JSON spells and sorts them differently when they are read back; such a state is kept whole.
    """
    with closing(SqliteLedger(path, initial=Artifact({"a": "text"}))) as ledger:
        commit(ledger, 0, odd, "k0")
        commit(
            ledger, 1, {**odd, "more": "x"} if all(isinstance(n, str) for n in odd) else {}, "k1"
        )
    with closing(SqliteLedger(path)) as ledger:
        found = [ledger.snapshot("dev", version).artifact.value for version in (1, 2)]

    assert json.loads(json.dumps(odd)) == found[0]
    assert 2 == len(found)


def test_a_state_that_was_changed_in_place_is_still_found_out(path):
    """
    A part that is the same object but has changed is written, and a whole copy is checked.
    """
    part = ["first"]
    first = Artifact({"a": part, "b": "x" * 100})
    with closing(SqliteLedger(path, initial=first)) as ledger:
        part.append("second")
        assert Committed(1) == commit(ledger, 0, {"a": part, "b": "x" * 100}, "k")
        stale = Artifact([1])
        assert stale.digest
        stale.value.append(2)
        with pytest.raises(LedgerError, match="changed in place"):
            ledger.commit(1, stale, key="stale", message="")
    with closing(SqliteLedger(path)) as ledger:
        assert ["first", "second"] == ledger.snapshot().artifact.value["a"]
        assert ["first"] == ledger.snapshot("dev", 0).artifact.value["a"]


def test_a_message_may_be_any_text(path):
    """
    Half of a surrogate pair can't be stored, and is no reason to lose a commit; in a key it is one.
    """
    with closing(SqliteLedger(path)) as ledger:
        ledger.commit(0, Artifact(1), key="k", message="half \ud800 \x00 \u00fc")
        with pytest.raises(ValueError, match="surrogates"):
            ledger.commit(1, Artifact(2), key="\ud800", message="")

        assert ["half \\ud800 \x00 \u00fc"] == [entry.message for entry in ledger.log()]


def test_opening_many_versions_is_quick(path):
    """
    It takes as long for ten thousand as for one.
    """
    made(path, 1)
    rows = ((n, n, n - 1, f"k{n}") for n in range(2, 10_001))
    with raw(path) as connection:
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO ledger_log SELECT branch, ?, ?, ?, digest, message, ?, state"
            " FROM ledger_log WHERE branch = 'dev' AND number = 1",
            rows,
        )
        connection.execute("COMMIT")
    began = perf_counter()
    with closing(SqliteLedger(path)) as ledger:
        head = ledger.snapshot()
        took = perf_counter() - began

        assert 10_000 == head.version == len(ledger.log())
        assert took < 0.2


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
        connection = ledger._database._connection
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
def folder(tmp_path):
    """
    A folder that everybody may reach, whatever pytest's own may be.
    """
    parents = [p for p in tmp_path.parents if p.stat().st_uid == os.getuid()]
    before = [(p, p.stat().st_mode) for p in (tmp_path, *parents)]
    for place, mode in before:
        place.chmod(mode | 0o711)
    yield tmp_path
    for place, mode in before:
        place.chmod(mode)


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


# --------------------------------------------------------------------------------- damage


def damaged(path, statement, *arguments):
    with raw(path) as connection:
        assert connection.execute(statement, arguments).rowcount > 0


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE ledger_state SET body = x'78ff' WHERE id = ?", "can't be read"),
        ("UPDATE ledger_state SET body = x'7b22' WHERE id = ?", "can't be read"),
        ("UPDATE ledger_state SET body = x'80' WHERE id = ?", "can't be read"),
        ("UPDATE ledger_state SET body = CAST('[]' AS BLOB) WHERE id = ?", ""),
        ("UPDATE ledger_state SET body = 7 WHERE id = ?", "can't be read"),
        ("UPDATE ledger_state SET base = id WHERE id = ?", ""),
        ("UPDATE ledger_state SET base = 99 WHERE id = ?", "difference from is missing"),
        ("DELETE FROM ledger_state WHERE id = ?", "missing"),
    ],
)
@pytest.mark.parametrize("row", [1, 3])
def test_a_damaged_state_is_never_given_back(path, statement, reason, row):
    """
    Not as a whole copy and not as a difference: the error names the file, the version and the why.
    """
    with closing(SqliteLedger(path, initial=Artifact(state(0)))) as ledger:
        for version in range(3):
            commit(ledger, version, {**state(0), "1.md": str(version)}, f"k{version}")
    damaged(path, statement, row)
    with closing(SqliteLedger(path)) as ledger:
        with pytest.raises(LedgerCorrupt, match=rf"ledger\.db: version 2 of dev.*{reason}"):
            ledger.snapshot("dev", 2)
        with pytest.raises(LedgerCorrupt, match="version 2 of dev"):
            ledger.promote(2)

        assert 3 == len(ledger.log())


def test_a_flipped_byte_is_found(path):
    """
    A text that is still proper JSON, but not what was committed.
    """
    with closing(SqliteLedger(path, initial=Artifact({"a": "one", "b": "two"}))) as ledger:
        commit(ledger, 0, {"a": "one", "b": "six"})
    statement = (
        "UPDATE ledger_state SET body = CAST(replace(CAST(body AS TEXT), 'six', 'sis') AS BLOB)"
    )
    damaged(path, statement)
    with closing(SqliteLedger(path)) as ledger:
        with pytest.raises(LedgerCorrupt, match=r"version 1 of dev is damaged.*content digest"):
            ledger.snapshot()
        with pytest.raises(LedgerCorrupt, match="version 1 of dev"):
            commit(ledger, 1, {})

        assert Snapshot(0, Artifact({"a": "one", "b": "two"})) == ledger.snapshot("stable")


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "DELETE FROM ledger_log WHERE branch = 'dev' AND number = 2",
            "entry 2 of the log is missing",
        ),
        ("DELETE FROM ledger_log WHERE branch = 'dev'", "its log is missing"),
        (
            "UPDATE ledger_log SET message = CAST(x'ff' AS TEXT) WHERE number = 2",
            "Could not decode to UTF-8",
        ),
    ],
)
def test_a_damaged_log_is_found(path, statement, told):
    """
    Lines are numbered without a gap, and hold texts.
    """
    made(path, 4)
    damaged(path, statement)
    with closing(SqliteLedger(path)) as ledger, pytest.raises(LedgerCorrupt, match=told):
        ledger.log()


def everything(path):
    with closing(SqliteLedger(path)) as ledger:
        ledger.log()
        return [ledger.snapshot("dev", version) for version in range(9)]


def test_a_flipped_byte_anywhere_is_never_taken_for_a_state(path):
    """
    Whatever byte of the file is wrong: each version is given back as it was, or there is an error.
    """
    made(path, 8)
    good = path.read_bytes()
    states = [Snapshot(version, Artifact(state(version))) for version in range(9)]
    refused = 0
    for place in range(0, len(good), 331):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        try:
            found = everything(path)
        except LedgerError:
            refused += 1
        else:
            assert states == found, place
        for more in ("-wal", "-shm"):
            Path(f"{path}{more}").unlink(missing_ok=True)

    assert refused > 3  # most bytes are those of no row


def test_a_truncated_file_is_damaged(path):
    """
    It is said so, and nothing is made anew in its place.
    """
    made(path, 8)
    good = path.read_bytes()
    for size in range(100, len(good), 4096):
        path.write_bytes(good[:size])
        with pytest.raises(LedgerCorrupt, match=r"ledger\.db: the file is damaged"):
            everything(path)


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


# ------------------------------------------------------------------------------- other files


def test_what_is_no_database_is_refused(path):
    """
    Whatever it is; it is left as it was.
    """
    path.write_text("some text that is long enough to be no SQLite header\n" * 100)
    before = path.read_bytes()
    with pytest.raises(
        LedgerCorrupt, match=r"ledger\.db: the file is damaged: it is no SQLite file"
    ):
        SqliteLedger(path)

    assert before == path.read_bytes()


def test_a_file_of_another_program_is_refused(path):
    """
    Nothing of Headway's is put into it.
    """
    with raw(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    with pytest.raises(StorageError, match="a SQLite file of another program"):
        SqliteLedger(path)


def test_a_newer_file_is_refused(path):
    """
    The error says which version it has, which one is read, and what to do.
    """
    made(path, 1)
    damaged(path, "UPDATE headway SET value = 7")
    with pytest.raises(StorageError, match=r"version 7, and this Headway reads version 1.*Upgrade"):
        SqliteLedger(path)


@pytest.mark.parametrize("statement", ["UPDATE headway SET value = 'x'", "DELETE FROM headway"])
def test_a_file_without_a_version_is_damaged(path, statement):
    """
    It is not taken for one that is to be begun.
    """
    made(path, 1)
    damaged(path, statement)
    with pytest.raises(LedgerCorrupt, match="the schema's version"):
        SqliteLedger(path)


def test_a_place_where_no_file_can_be_is_named(tmp_path):
    """
    A folder, a folder that is not there, and a file that was not to be made.
    """
    with pytest.raises(StorageError, match="it is a folder"):
        SqliteLedger(tmp_path)
    with pytest.raises(StorageError, match="its folder does not exist"):
        SqliteLedger(tmp_path / "none" / "ledger.db")
    with pytest.raises(StorageError, match="there is no such file"):
        Database(tmp_path / "ledger.db", create=False)
    (tmp_path / "empty.db").touch()
    with pytest.raises(LedgerCorrupt, match="it is empty"):
        Database(tmp_path / "empty.db", create=False)


@pytest.mark.parametrize("name", ["a b.db", "a?mode=ro.db", "a#b%20c.db", "\u00fc;.db", ":memory:"])
def test_a_file_may_have_any_name(tmp_path, name, monkeypatch):
    """
    A path is a path, and never an instruction to SQLite.
    """
    monkeypatch.chdir(tmp_path)
    made(name, 1)

    assert name in {file.name for file in tmp_path.iterdir()}


def test_by_name_it_needs_a_place():
    """
    The error names the option that gives it one.
    """
    with pytest.raises(OptionError, match=r"ledger='sqlite'.*run_dir="):
        Registry().create("ledger", "sqlite", initial=Artifact(0))
    with pytest.raises(OptionError, match="keep_versions=0"):
        SqliteLedger("unused", keep_versions=0)


# ------------------------------------------------------------------------------ the database


def test_a_database_is_its_owners(path):
    """
    A ledger that was given one does not close it, and shares it with other tables.
    """
    with closing(Database(path)) as database:
        ledger = SqliteLedger(database)
        with database.writing() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS event (number INTEGER PRIMARY KEY)")
            connection.execute("INSERT INTO event VALUES (1)")
        ledger.close()
        with pytest.raises(LedgerClosedError):
            ledger.snapshot()
        with database.reading() as connection:
            assert [(1,)] == connection.execute("SELECT * FROM event").fetchall()
    database.close()
    with pytest.raises(LedgerClosedError, match=r"ledger\.db was closed"), database.reading():
        pass


def test_every_commit_is_flushed(path):
    """
    SQLite's setting for that, and for the log that makes one flush enough.
    """
    with closing(Database(path)) as database, database.reading() as connection:
        assert (2,) == connection.execute("PRAGMA synchronous").fetchone()  # FULL
        assert ("wal",) == connection.execute("PRAGMA journal_mode").fetchone()


def test_a_transaction_that_raises_leaves_nothing(path):
    """
    Nor does one inside another one, which is refused.
    """
    with closing(SqliteLedger(path)) as ledger:
        database = ledger._database
        with suppress(KeyError), database.writing() as connection:
            connection.execute("DELETE FROM ledger_log")
            raise KeyError
        with pytest.raises(LedgerError, match="inside another one"), database.writing():
            ledger.snapshot()
        with pytest.raises(sqlite3.OperationalError), database.reading() as connection:
            connection.execute("SELECT nonsense")

        assert Committed(1) == commit(ledger, 0, "a")
