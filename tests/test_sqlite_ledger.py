"""
What the sqlite ledger keeps and how, damage of every kind, and files that are not its own.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import pytest
from sqlite_files import made, raw, state, watched

from headway.builtins.sqlite import Database, SqliteLedger
from headway.builtins.sqlite._database import _looked_at
from headway.contracts import Artifact, Committed, Snapshot
from headway.errors import (
    LedgerClosedError,
    LedgerCorrupt,
    LedgerError,
    OptionError,
    StorageError,
)
from headway.registry import Registry
from headway.testing.conformance._ledger_calls import commit


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


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


def of_another_program(path):
    with raw(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")


def of_a_newer_headway(path):
    made(path, 1)
    damaged(path, "UPDATE headway SET value = 7")


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    "prepare",
    [lambda path: path.write_text("no database" * 100), of_another_program, of_a_newer_headway],
    ids=["text", "theirs", "newer"],
)
def test_what_cannot_be_opened_is_not_kept_open(path, monkeypatch, prepare, read_only):
    """
    Nobody could close it; and from Python 3.13 on, it would be warned of.
    """
    prepare(path)
    connections = watched(monkeypatch)
    with pytest.raises(LedgerError):
        Database(path, create=False, read_only=read_only)

    assert [True] == [connection.closed for connection in connections]


def test_a_connection_that_takes_no_setting_is_closed(path, monkeypatch):
    """
    Those for reading alone are set up before they read.
    """
    connections = watched(monkeypatch)
    with pytest.raises(sqlite3.OperationalError):
        _looked_at(sqlite3.connect(path), "no setting")

    assert [True] == [connection.closed for connection in connections]


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
        database = ledger.database
        with suppress(KeyError), database.writing() as connection:
            connection.execute("DELETE FROM ledger_log")
            raise KeyError
        with pytest.raises(LedgerError, match="inside another one"), database.writing():
            ledger.snapshot()
        with pytest.raises(sqlite3.OperationalError), database.reading() as connection:
            connection.execute("SELECT nonsense")

        assert Committed(1) == commit(ledger, 0, "a")
