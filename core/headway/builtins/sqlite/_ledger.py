"""
A ledger in one SQLite file: the default of a run directory.

Guarantees: a commit that was acknowledged survives the end of the process and the loss of power; of
any number of threads and processes that commit on one version, exactly one is answered
``Committed``; a version once made never changes; a key commits once, for as long as the file exists.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Literal

import attrs

from headway._checks import check_count
from headway.builtins.sqlite._database import Database
from headway.builtins.sqlite._states import STATES, States, Stored
from headway.contracts import Artifact, Committed, HeadMoved, LedgerEntry, Snapshot
from headway.errors import (
    LedgerClosedError,
    LedgerCorrupt,
    LedgerError,
    OptionError,
)
from headway.names import check_id

KEPT_WHOLE = 16
"""How many states of a branch that are no mappings of names are kept, the newest ones."""

_TABLES = (
    STATES,
    "CREATE TABLE IF NOT EXISTS ledger_branch (name TEXT PRIMARY KEY) WITHOUT ROWID",
    # number: 0, 1, 2, ... on each branch.  key: NULL for where a branch begins and for promotions;
    # parent: NULL for where it begins; state: NULL once it was let go.
    """
    CREATE TABLE IF NOT EXISTS ledger_log (
        branch TEXT NOT NULL,
        number INTEGER NOT NULL,
        version INTEGER NOT NULL,
        parent INTEGER,
        digest TEXT NOT NULL,
        message TEXT NOT NULL,
        key TEXT,
        state INTEGER,
        PRIMARY KEY (branch, number)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS ledger_version ON ledger_log (branch, version)",
    """
    CREATE UNIQUE INDEX IF NOT EXISTS ledger_key ON ledger_log (branch, key)
    WHERE key IS NOT NULL
    """,
    "CREATE INDEX IF NOT EXISTS ledger_promoted ON ledger_log (state) WHERE key IS NULL",
)


@attrs.frozen(kw_only=True)
class _Row:
    """
    A line of the log.
    """

    number: int
    version: int
    digest: str
    state: int | None


@attrs.frozen(kw_only=True)
class _Head:
    """
    The newest line of a branch's log.
    """

    row: _Row
    stored: Stored

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(self.row.version, self.stored.artifact)


class SqliteLedger:
    """
    Keeps versions in a SQLite file, beside whatever else is kept in it.

    A state that is a mapping of names to values is kept as what is different from the version before
    it, so that a commit writes what it changed, and all versions are kept.  Any other state is kept
    whole, and of those of a branch only the newest, every promoted one, and what a branch is at.  A
    version whose state was let go can't be read or promoted any more; the log still lists it.

    Safe to use from several threads and several processes at once; a process that was forked off
    opens the file anew.  A new ledger has the branches ``dev`` and ``stable``, both at version 0.

    Args:
        path: The file, or a database that stays its owner's to close.
        initial: The state at version 0 when the file holds no ledger yet; None stands for the JSON
            value ``null``.
        keep_versions: How many states that are no mappings are kept on each branch; None means 16.

    Attributes:
        durability: ``power``: what was acknowledged survives the loss of power.
        database: Where it commits.

    Raises:
        OptionError: there is no path, or ``keep_versions`` is no whole number of at least 1.
        StorageError: the file can't be opened, or was written by a newer Headway.
        LedgerCorrupt: the file is damaged.
    """

    durability: Literal["power"] = "power"

    def __init__(
        self,
        path: str | os.PathLike[str] | Database | None = None,
        *,
        initial: Artifact | None = None,
        keep_versions: int | None = None,
    ) -> None:
        if path is None:
            remedy = (
                "It needs a file: give run_dir='FOLDER', or make the ledger yourself with "
                "SqliteLedger('FILE')."
            )
            raise OptionError("ledger", "sqlite", remedy)
        self._keep = KEPT_WHOLE if keep_versions is None else keep_versions
        check_count("keep_versions", self._keep, 1)
        self._owner = not isinstance(path, Database)
        self.database: Database = path if isinstance(path, Database) else Database(path)
        self._states = States(self.database.path)
        self._heads: dict[str, _Head] = {}
        self._closed = False
        try:
            self._begin(Artifact(None) if initial is None else initial)
        except BaseException:
            self.close()
            raise

    @property
    def reads(self) -> int:
        """
        How many states were read from the file; none in the steady state of one writer.
        """
        return self._states.reads

    def snapshot(self, branch: str = "dev", version: int | None = None) -> Snapshot:
        """
        The head of a branch, or an earlier version of it.

        Raises:
            LedgerError: there is no such branch, no such version on it, or its state was let go.
            LedgerCorrupt: what is stored is not what was committed.
            StorageError: the file can't be read.
            LedgerClosedError: the ledger was closed.
        """
        self._check_open()
        with self.database.reading() as connection:
            if version is None:
                return self._head(connection, branch).snapshot
            return Snapshot(version, self._version(connection, branch, version)[1].artifact)

    def commit(
        self, expected: int, artifact: Artifact, *, key: str, message: str, branch: str = "dev"
    ) -> Committed | HeadMoved:
        """
        Make ``artifact`` the head iff the head's version is ``expected``.

        The same key again is answered as before and commits nothing.  ``HeadMoved`` is not kept
        under the key, for nothing was changed.

        Raises:
            LedgerError: there is no such branch, or the key named a commit of another state.
            StorageError: nothing can be written; nothing was changed.
            LedgerCorrupt: the head is not what was committed.
            LedgerClosedError: the ledger was closed.
            ValueError: the state is not made of JSON values, or the key is no valid Unicode.
        """
        self._check_open()
        digest = artifact.digest  # hashed outside the lock, and refused before anything changes
        with self.database.writing() as connection:
            head = self._head(connection, branch)
            if (known := _known(connection, branch, key)) is not None:
                return _again(key, known, digest)
            if head.row.version != expected:
                return HeadMoved(head.snapshot)
            stored = self._states.put(connection, artifact, head.stored)
            # Not ``expected + 1``: behind a head that was promoted back, that number is taken.
            row = _Row(
                number=head.row.number + 1,
                version=_newest(connection, branch) + 1,
                digest=digest,
                state=stored.id,
            )
            _append(connection, branch, row, parent=expected, message=message, key=key)
            self._heads[branch] = _Head(row=row, stored=stored)
            if stored.parts is None:
                self._let_go(connection, branch, row.number - self._keep)
            return Committed(row.version)

    def promote(self, version: int, *, source: str = "dev", target: str = "stable") -> Snapshot:
        """
        Make a version of ``source`` the head of ``target``, under the number that it has.

        Promoting the version that the target is at already changes nothing.

        Raises:
            LedgerError: there is no such branch, no such version on it or its state was let go, or
                the target has another one of that number.
            StorageError: nothing can be written; nothing was changed.
            LedgerCorrupt: the version is not what was committed.
            LedgerClosedError: the ledger was closed.
        """
        self._check_open()
        with self.database.writing() as connection:
            origin, stored = self._version(connection, source, version)
            last = self._last(connection, target)
            own = _row_of(connection, target, version)
            if own is not None and own.digest != origin.digest:
                raise LedgerError(f"branch {target!r} has a version {version} of its own")
            snapshot = Snapshot(version, stored.artifact)
            if (last.version, last.digest) == (version, origin.digest):
                return snapshot
            row = attrs.evolve(origin, number=last.number + 1)
            message = f"promote version {version} of {source}"
            _append(connection, target, row, parent=last.version, message=message, key=None)
            self._heads[target] = _Head(row=row, stored=stored)
            return snapshot

    def log(self, branch: str = "dev") -> tuple[LedgerEntry, ...]:
        """
        The commits and promotions of a branch, oldest first.

        Raises:
            LedgerError: there is no such branch.
            LedgerCorrupt: an entry is missing.
            StorageError: the file can't be read.
            LedgerClosedError: the ledger was closed.
        """
        self._check_open()
        with self.database.reading() as connection:
            self._last(connection, branch)
            rows = connection.execute(
                "SELECT number, version, parent, digest, message, key FROM ledger_log"
                " WHERE branch = ? ORDER BY number",
                (branch,),
            ).fetchall()
        for place, row in enumerate(rows):
            if row[0] != place:
                reason = f"entry {place} of the log is missing"
                raise LedgerCorrupt(self.database.path, f"branch {branch}", reason)
        return tuple(_entry(*row[1:]) for row in rows if row[2] is not None)

    def fork(self, branch: str, *, source: str = "dev") -> Snapshot:
        """
        A new branch at another one's head, with its history.

        Raises:
            LedgerError: the branch exists, or there is no such source.
            UnsafeNameError: not every ledger can store a branch of this name.
            StorageError: nothing can be written; nothing was changed.
            LedgerCorrupt: the head is not what was committed.
            LedgerClosedError: the ledger was closed.
        """
        self._check_open()
        check_id(branch)
        with self.database.writing() as connection:
            head = self._head(connection, source)
            if branch in _branches(connection):
                raise LedgerError(f"branch {branch!r} exists already")
            connection.execute("INSERT INTO ledger_branch VALUES (?)", (branch,))
            connection.execute(
                "INSERT INTO ledger_log SELECT ?, number, version, parent, digest, message, key,"
                " state FROM ledger_log WHERE branch = ?",
                (branch, source),
            )
            return head.snapshot

    def close(self) -> None:
        """
        Refuse every later call; closing twice is harmless.
        """
        self._closed = True
        self._heads = {}  # not cleared: another thread may be looking through it
        if self._owner:
            self.database.close()

    def _check_open(self) -> None:
        if self._closed:
            raise LedgerClosedError(
                f"the sqlite ledger {self.database.path} was closed before this call"
            )

    def _begin(self, initial: Artifact) -> None:
        with self.database.reading() as connection:
            if _tables_are_there(connection):
                return
        with self.database.writing() as connection:
            if _tables_are_there(connection):
                return  # another process that opened the file was faster
            for statement in _TABLES:
                connection.execute(statement)
            stored = self._states.put(connection, initial, None)
            row = _Row(number=0, version=0, digest=initial.digest, state=stored.id)
            for branch in ("dev", "stable"):
                connection.execute("INSERT INTO ledger_branch VALUES (?)", (branch,))
                _append(connection, branch, row, parent=None, message="", key=None)
                self._heads[branch] = _Head(row=row, stored=stored)

    def _last(self, connection: sqlite3.Connection, branch: str) -> _Row:
        """
        The newest line of a branch's log.
        """
        found = connection.execute(
            "SELECT number, version, digest, state FROM ledger_log"
            " WHERE branch = ? ORDER BY number DESC LIMIT 1",
            (branch,),
        ).fetchone()
        if found is not None:
            return _row(found)
        known = _branches(connection)
        if branch in known:
            raise LedgerCorrupt(self.database.path, f"branch {branch}", "its log is missing")
        raise LedgerError(f"there is no branch {branch!r}; there are {', '.join(sorted(known))}")

    def _head(self, connection: sqlite3.Connection, branch: str) -> _Head:
        """
        A branch's head as the file has it; its state is read only when it is not at hand.
        """
        row = self._last(connection, branch)
        known = self._heads.get(branch)
        if known is None or known.row != row:
            known = self._heads[branch] = _Head(
                row=row, stored=self._stored(connection, branch, row)
            )
        return known

    def _version(
        self, connection: sqlite3.Connection, branch: str, version: int
    ) -> tuple[_Row, Stored]:
        last = self._last(connection, branch)
        row = last if last.version == version else _row_of(connection, branch, version)
        if row is None:
            raise LedgerError(f"branch {branch!r} has no version {version}")
        return row, self._stored(connection, branch, row)

    def _stored(self, connection: sqlite3.Connection, branch: str, row: _Row) -> Stored:
        if row.state is None:
            kept = (
                f"of states that are no mappings of names, the ledger keeps {self._keep} a branch"
            )
            remedy = "keep more with keep_versions"
            raise LedgerError(f"version {row.version} of {branch!r} was let go: {kept}; {remedy}")
        for head in self._heads.values():
            if head.row.state == row.state and head.row.digest == row.digest:
                return head.stored
        place = f"version {row.version} of {branch}"
        return self._states.get(connection, row.state, row.digest, place)

    def _let_go(self, connection: sqlite3.Connection, branch: str, number: int) -> None:
        """
        Let the state at a line of the log go, when it is whole and nobody needs it any more.
        """
        found = connection.execute(
            "SELECT log.version, log.state FROM ledger_log AS log JOIN ledger_state AS state"
            " ON state.id = log.state WHERE branch = ? AND number = ? AND state.blob",
            (branch, number),
        ).fetchone()
        if found is None:
            return
        version, state = found
        if _needed(connection, version, state, self._keep):
            return
        connection.execute(
            "UPDATE ledger_log SET state = NULL WHERE version = ? AND state = ?"
            " AND branch IN (SELECT name FROM ledger_branch)",
            (version, state),
        )
        connection.execute("DELETE FROM ledger_state WHERE id = ?", (state,))


def _tables_are_there(connection: sqlite3.Connection) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'ledger_branch'")
    return found.fetchone() is not None


def _branches(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM ledger_branch")}


def _row(found: tuple[int, int, str, int | None]) -> _Row:
    number, version, digest, state = found
    return _Row(number=number, version=version, digest=digest, state=state)


def _row_of(connection: sqlite3.Connection, branch: str, version: int) -> _Row | None:
    found = connection.execute(
        "SELECT number, version, digest, state FROM ledger_log"
        " WHERE branch = ? AND version = ? LIMIT 1",
        (branch, version),
    ).fetchone()
    return None if found is None else _row(found)


def _newest(connection: sqlite3.Connection, branch: str) -> int:
    found = connection.execute("SELECT max(version) FROM ledger_log WHERE branch = ?", (branch,))
    return int(found.fetchone()[0])


def _known(connection: sqlite3.Connection, branch: str, key: str) -> tuple[int, str] | None:
    found = connection.execute(
        "SELECT version, digest FROM ledger_log WHERE branch = ? AND key = ?", (branch, key)
    )
    known: tuple[int, str] | None = found.fetchone()
    return known


def _again(key: str, known: tuple[int, str], digest: str) -> Committed:
    version, there = known
    if there != digest:
        # Answering as before would lose this state without a word.
        raise LedgerError(f"key {key!r} named the commit of another state")
    return Committed(version)


def _append(
    connection: sqlite3.Connection,
    branch: str,
    row: _Row,
    *,
    parent: int | None,
    message: str,
    key: str | None,
) -> None:
    # A message with half of a surrogate pair can't be stored as it is, and is no reason to fail.
    told = message.encode("utf-8", "backslashreplace").decode()
    connection.execute(
        "INSERT INTO ledger_log VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (branch, row.number, row.version, parent, row.digest, told, key, row.state),
    )


def _needed(connection: sqlite3.Connection, version: int, state: int, keep: int) -> bool:
    """
    Whether a state was promoted, or is among the newest of some branch.
    """
    found = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM ledger_log WHERE state = :state AND key IS NULL"
        "               AND parent IS NOT NULL)"
        " OR EXISTS (SELECT 1 FROM ledger_branch JOIN ledger_log AS log ON branch = name"
        "            WHERE version = :version AND state = :state AND number > :keep_after +"
        "            (SELECT max(number) FROM ledger_log WHERE branch = name))",
        {"state": state, "version": version, "keep_after": -keep},
    )
    return bool(found.fetchone()[0])


def _entry(version: int, parent: int, digest: str, message: str, key: str | None) -> LedgerEntry:
    return LedgerEntry(
        version=version, parent=parent, digest=digest, message=message, key=key or ""
    )
