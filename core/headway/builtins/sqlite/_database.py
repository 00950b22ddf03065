"""
One SQLite file with one connection, and one lock in front of it.

Guarantees: what ``writing()`` committed is on the disk when it returns (write-ahead log, flushed at
every commit), and what it did not commit is not there; of any number of threads and processes one
writes at a time; the newest committed state can be read also when nothing can be written any more.
SQLite promises this as long as the disk does not lie about a flush and the file system has working
locks, which many network file systems lack.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from headway.builtins.sqlite._troubles import code_of, trouble
from headway.errors import LedgerClosedError, LedgerCorrupt, LedgerError, StorageError

SCHEMA = 1
"""The version of what Headway keeps in a file; one that is higher is refused."""

WAITING = 60.0
"""Seconds that a transaction waits for those of other processes."""

_SWITCHES = 100
"""How often the switch to the write-ahead log is tried beside other processes that open the file."""

_READ_ONLY = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
)
"""What stops a file from being opened for writing that may yet be read."""


Rider: TypeAlias = Callable[[sqlite3.Connection], Callable[[], None]]
"""Writes what waits into a transaction; what it returns is called once that is on the disk."""


class Database:
    """
    A SQLite file that is shared by the threads of a process, and with other processes.

    Whoever keeps something in it makes tables with ``CREATE TABLE IF NOT EXISTS`` inside
    ``writing()``.  A process that was forked off must open the file anew.

    Safe to use from several threads at once; they take turns, also for reading.

    Attributes:
        rider: Called at the end of every ``writing()``, so that what waits to be written comes along
            and needs no flush of its own; what it raises undoes the transaction.

    Args:
        path: The file.
        create: Whether to make the file when there is none, or an empty one.
        read_only: Whether to open it for reading alone.  A file that can't be opened for writing is
            read all the same: then ``writing()`` raises.

    Raises:
        StorageError: the file can't be opened, holds something else, or was written by a newer
            Headway.
        LedgerCorrupt: the file is no SQLite file, or a damaged one.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, create: bool = True, read_only: bool = False
    ) -> None:
        self.rider: Rider | None = None
        self._path = os.fspath(path)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        create = create and not read_only
        with self._told():
            self._connection = _opened(Path(self._path), create=create, read_only=read_only)
        try:
            self._check(create)
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> str:
        """
        The file, as it was given.
        """
        return self._path

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """
        A transaction that may write: committed and flushed at the end, undone by any exception.

        ::

            with database.writing() as connection:
                connection.execute("INSERT INTO ...")

        Raises:
            StorageError: the disk is full, the file can only be read, or another process kept it
                locked for a minute; the transaction was undone.
            LedgerCorrupt: the file is damaged.
            LedgerClosedError: the database was closed.
            LedgerError: this thread is in a transaction already, or the process was forked off.
        """
        with self._transaction("BEGIN IMMEDIATE", rides=True) as connection:
            yield connection

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """
        A transaction that reads: everything in it is of one moment.

        Raises:
            StorageError: the file can't be read.
            LedgerCorrupt: the file is damaged.
            LedgerClosedError: the database was closed.
            LedgerError: this thread is in a transaction already, or the process was forked off.
        """
        with self._transaction("BEGIN") as connection:
            yield connection

    def close(self) -> None:
        """
        Refuse every later call; closing twice is harmless.
        """
        if os.getpid() != self._process:
            return  # the connection is the parent's, and closing it here could harm the file
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self, begin: str, *, rides: bool = False) -> Generator[sqlite3.Connection]:
        self._check_process()
        with self._lock, self._told():
            connection = self._connection
            if connection is None:
                raise LedgerClosedError(f"{self._path} was closed before this call")
            if connection.in_transaction:
                raise LedgerError(f"{self._path}: a transaction was begun inside another one")
            connection.execute(begin)
            landed = None
            try:
                yield connection
                if rides and self.rider is not None:
                    landed = self.rider(connection)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:  # SQLite ends it by itself after some errors
                    connection.execute("ROLLBACK")
            if landed is not None:
                landed()

    def _check_process(self) -> None:
        # Before the lock, which another thread of the parent may have held when it forked.
        if (here := os.getpid()) != self._process:
            message = (
                f"{self._path} was opened by process {self._process} and can't be used in its "
                f"child {here}; open it anew there"
            )
            raise LedgerError(message)

    @contextmanager
    def _told(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if (told := trouble(self._path, error)) is None:
                raise
            raise told from error

    def _check(self, create: bool) -> None:
        with self.reading() as connection:
            found = _schema(connection)
            others = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if found is None and others:
            raise StorageError(
                self._path,
                "it is a SQLite file of another program",
                "Give the path of another file.",
            )
        if found is None and not create:
            raise LedgerCorrupt(self._path, "the file", "it is empty")
        if found is None:
            with self.writing() as connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS headway "
                    "(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID"
                )
                # Another process that opened the empty file may have been faster.
                connection.execute("INSERT OR IGNORE INTO headway VALUES ('schema', ?)", (SCHEMA,))
                found = _schema(connection)
        if not isinstance(found, int) or found < 1:
            raise LedgerCorrupt(self._path, "the schema's version", f"it is {found!r}")
        if found > SCHEMA:
            cause = f"its schema has version {found}, and this Headway reads version {SCHEMA}"
            remedy = "Upgrade Headway: python -m pip install --upgrade headway."
            raise StorageError(self._path, cause, remedy)


def _schema(connection: sqlite3.Connection) -> object:
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'headway'").fetchone()
    if there is None:
        return None
    row = connection.execute("SELECT value FROM headway WHERE name = 'schema'").fetchone()
    return row[0] if row else "missing"


def _opened(path: Path, *, create: bool, read_only: bool) -> sqlite3.Connection:
    if read_only:
        return _for_reading(path)
    try:
        return _for_writing(path, "rwc" if create else "rw")
    except sqlite3.Error as error:
        if code_of(error) not in _READ_ONLY or not path.is_file():
            raise
        try:
            return _for_reading(path)
        except sqlite3.Error:
            raise error from None


def _for_writing(path: Path, mode: str) -> sqlite3.Connection:
    connection = _connected(path, f"mode={mode}")
    try:
        connection.execute("PRAGMA synchronous = FULL")
        _keep_a_log(connection, path)
        _flush_folder(path.absolute().parent)
        _looked_at(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _for_reading(path: Path) -> sqlite3.Connection:
    """
    A connection that sees what was committed last, whatever may not be written.

    SQLite keeps an index of its log beside the file, and makes it when there is none.  Where it
    can't, nobody can be writing: then the log is read without locks and without that index, and
    where there is no log either, the file is all there is.
    """
    try:
        return _looked_at(_connected(path, "mode=ro"))
    except sqlite3.Error as error:
        if code_of(error) not in _READ_ONLY:
            raise
        if not Path(f"{path}-wal").exists():
            return _looked_at(_connected(path, "mode=ro&immutable=1"))
        if os.name == "nt":
            raise
        alone = _connected(path, "mode=ro&vfs=unix-none")
        return _looked_at(alone, "PRAGMA locking_mode = EXCLUSIVE")


def _connected(path: Path, query: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{query}",
        uri=True,
        timeout=WAITING,
        isolation_level=None,
        check_same_thread=False,
    )


def _looked_at(connection: sqlite3.Connection, *settings: str) -> sqlite3.Connection:
    """
    The connection, once it has read something: SQLite opens files no sooner.
    """
    try:
        for setting in (*settings, "PRAGMA cell_size_check = ON"):
            connection.execute(setting)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _keep_a_log(connection: sqlite3.Connection, path: Path) -> None:
    for _ in range(_SWITCHES):
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if code_of(error) != sqlite3.SQLITE_BUSY:
                raise
            # The switch waits for nobody; a transaction waits until the other process is done.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("COMMIT")
        else:
            if mode != "wal":
                cause = f"its file system allows no write-ahead log (SQLite stays at {mode!r})"
                raise StorageError(str(path), cause, "Put the file on a local disk.")
            return
    connection.execute("PRAGMA journal_mode = WAL")


def _flush_folder(folder: Path) -> None:
    """
    Make the names of new files survive a loss of power; SQLite does so for all but the first.
    """
    if os.name == "nt":
        return  # a folder can't be flushed there
    with suppress(PermissionError):  # nothing was made in a folder that may not even be listed
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            cause = error.strerror or str(error)
            raise StorageError(str(folder), cause, "Check the disk and go on.") from error
        finally:
            os.close(handle)
