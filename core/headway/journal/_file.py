"""
A journal on disk, in the tables of a SQLite database.

Guarantee: rows are kept in order and in groups; once ``settle`` has returned, all that was appended
before it survives the end of the process and the loss of power.  What is read is what was written, or
``LedgerCorrupt`` names the first event that is not.

Whoever commits something to the database takes along the rows that wait, and one thread does so when
nobody else has for a while.  Whoever appends does not wait for the disk, unless far too much waits
already.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

import attrs

from headway.codec import Decoder, Encoder
from headway.contracts import Json, Ledger
from headway.errors import LedgerCorrupt, LedgerError
from headway.journal._artifacts import TABLE as ARTIFACTS
from headway.journal._artifacts import Artifacts
from headway.journal._checkpoints import TABLE as CHECKPOINTS
from headway.journal._checkpoints import last_event, newest, put
from headway.journal._rows import Row
from headway.journal._spelling import (
    Damaged,
    is_interruption,
    read_rows,
    sealed,
    spell_row,
    spell_value,
)
from headway.machine import CallValue, Event

if TYPE_CHECKING:
    import sqlite3

    from headway.builtins.sqlite import Database

PACE = 0.01
"""Seconds between two groups, unless somebody waits for one; what a crash may cost in results."""

SLOWEST_PACE = 0.1
"""The same while there is much to do: what is written in fewer groups leaves more to the run."""

_REST = 9
"""How many times as long as a group took the next one is put off."""

MOST_WAITING = 20_000
"""Rows that may wait for the disk before whoever appends must wait too."""

_TABLES = """
CREATE TABLE IF NOT EXISTS journal_header (
    id INTEGER PRIMARY KEY CHECK (id = 1), text TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS journal (
    first INTEGER PRIMARY KEY, count INTEGER NOT NULL, lines TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS journal_end (
    id INTEGER PRIMARY KEY CHECK (id = 1), reason TEXT NOT NULL, event INTEGER NOT NULL
)
"""

_MAY_STOP = (
    "SELECT first, lines FROM journal"
    " WHERE first + count > ? AND instr(lines, '\"Stop\"') ORDER BY first"
)
"""The groups in which an event of that name may be; reading all others would cost."""


@attrs.define(eq=False)
class JournalFile:
    """
    The journal of one run directory.  Safe to use from several threads at once.

    Args:
        database: Where it is kept; it stays open when the journal is closed.

    Raises:
        StorageError: the file can't be read or written.
    """

    database: Database
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _work: threading.Condition = attrs.field(init=False)
    _settled: threading.Condition = attrs.field(init=False)
    _waiting: list[str] = attrs.field(factory=list[str], init=False)
    _spelled: dict[int, str] = attrs.field(factory=dict[int, str], init=False)
    _artifacts: Artifacts = attrs.field(init=False)
    _encode: Encoder = attrs.field(init=False)
    _checkpoint: tuple[int, Json] | None = attrs.field(default=None, init=False)
    _count: int = attrs.field(default=0, init=False)
    _durable: int = attrs.field(default=0, init=False)
    _checksum: int = attrs.field(default=0, init=False)
    _wanted: int = attrs.field(default=0, init=False)
    _flushed: float = attrs.field(default=0.0, init=False)
    _idle: bool = attrs.field(default=False, init=False)
    _closing: bool = attrs.field(default=False, init=False)
    _broken: BaseException | None = attrs.field(default=None, init=False)
    _writer: threading.Thread | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._artifacts = Artifacts(self.database)
        self._encode = Encoder(self._artifacts.name)
        self._work = threading.Condition(self._lock)
        self._settled = threading.Condition(self._lock)

    # ------------------------------------------------------------------ what is there

    def begin(self, header: Json) -> None:
        """
        Write the header of a new journal.
        """
        text = json.dumps(header, allow_nan=False)
        with self.database.writing() as connection:
            for statement in (*_TABLES.split(";"), ARTIFACTS, CHECKPOINTS):
                connection.execute(statement)
            connection.execute("INSERT INTO journal_header VALUES (1, ?)", (text,))
        self._checksum = crc32(text.encode())

    def header(self) -> Json:
        """
        The header; None when there is no journal yet.

        Raises:
            LedgerCorrupt: it is not what was written.
        """
        text = self._header_text()
        if text is None:
            return None
        if not self._count:  # a process that was killed may have left the header alone
            self._checksum = crc32(text.encode())
        try:
            header = json.loads(text)
        except ValueError as error:
            raise LedgerCorrupt(self.database.path, "the header", str(error)) from error
        if not isinstance(header, dict):
            raise LedgerCorrupt(self.database.path, "the header", f"it is {text[:20]!r}")
        return cast(Json, header)

    def _header_text(self) -> str | None:
        with self.database.reading() as connection:
            named = "SELECT name FROM sqlite_master WHERE name = 'journal_header'"
            if connection.execute(named).fetchone() is None:
                return None
            row = connection.execute("SELECT text FROM journal_header").fetchone()
        return None if row is None else str(row[0])

    def checkpoint(self) -> tuple[int, Json] | None:
        """
        The newest checkpoint, and how many events came before it; None when there is none.
        """
        with self.database.reading() as connection:
            return newest(connection)

    def rows(self, since: int = 0) -> Iterator[Row]:
        """
        The rows that are on disk, in order.  New ones are appended behind those that were read.

        Args:
            since: How many rows are left out; those are not looked at.

        Raises:
            LedgerCorrupt: one is not what was written.
        """
        start, self._checksum = self._start_of_group(since)
        self._count = self._durable = start
        self._artifacts.look()
        for row in self._read_from(start):
            if self._count >= since:
                yield row
            self._count += 1
        self._durable = self._count

    def _start_of_group(self, event: int) -> tuple[int, int]:
        """
        Where the group of an event begins, and the checksum of all before it.
        """
        with self.database.reading() as connection:
            last = "SELECT first, lines FROM journal WHERE first <= ? ORDER BY first DESC LIMIT 2"
            found = connection.execute(last, (event,)).fetchall() if event else []
        if len(found) < 2:  # noqa: PLR2004 - there is none before it
            return 0, crc32((self._header_text() or "").encode())
        return int(found[0][0]), int(found[1][1].rpartition("\n")[2][:8], 16)

    def _read_from(self, start: int) -> Iterator[Row]:
        decode = Decoder(self._artifacts.get)
        for first, count, text in self._groups(start):
            lines = text.split("\n")
            if first != self._count or count != len(lines):
                raise self._damage(f"event {first} follows, with {len(lines)} of {count} events")
            try:
                yield from read_rows(lines, self._checksum, decode)
            except (Damaged, ValueError, TypeError, KeyError) as error:
                raise self._damage(str(error)) from error
            self._checksum = int(lines[-1][:8], 16)

    @property
    def stored(self) -> int:
        """
        How many events are on disk.
        """
        with self.database.reading() as connection:
            last = "SELECT first + count FROM journal ORDER BY first DESC LIMIT 1"
            row = connection.execute(last).fetchone()
        return 0 if row is None else int(row[0])

    def ended(self) -> tuple[str, int] | None:
        """
        Why the run was stopped and by which event; None when it did not end.
        """
        with self.database.reading() as connection:
            row = connection.execute("SELECT reason, event FROM journal_end").fetchone()
        return None if row is None else (str(row[0]), int(row[1]))

    def interrupted(self, since: int = 0) -> int | None:
        """
        The number of the event by which somebody interrupted the run; None when nobody did.

        Args:
            since: Events before this one are not looked at.
        """
        with self.database.reading() as connection:
            # No checkpoint is taken once the run was stopped, so none of a stop lies behind one.
            start = max(since, last_event(connection))
            found = connection.execute(_MAY_STOP, (start,)).fetchall()
        for first, text in found:
            for place, line in enumerate(text.split("\n")):
                if is_interruption(line):
                    return int(first) + place
        return None

    def end(self, reason: str, event: int) -> None:
        """
        Note that the run has ended.

        Args:
            reason: Why it was stopped.
            event: The event that stopped it.
        """
        with self.database.writing() as connection:
            connection.execute("REPLACE INTO journal_end VALUES (1, ?, ?)", (reason, event))

    def cut(self, event: int) -> None:
        """
        Let go of an event and of all that came after it, and of the end.
        """
        with self.database.writing() as connection:
            connection.execute("DELETE FROM journal_end")
            connection.execute("DELETE FROM journal_checkpoint WHERE event > ?", (event,))
            connection.execute("DELETE FROM journal WHERE first >= ?", (event,))
            last = "SELECT first, count, lines FROM journal ORDER BY first DESC LIMIT 1"
            for first, count, text in connection.execute(last).fetchall():
                if first + count > event:
                    kept = text.split("\n")[: event - first]
                    change = "UPDATE journal SET count = ?, lines = ? WHERE first = ?"
                    connection.execute(change, (len(kept), "\n".join(kept), first))
        self._count = self._durable = 0  # where nothing is left to be read, all begins anew
        self._checksum = crc32((self._header_text() or "").encode())

    def _groups(self, start: int) -> Iterator[tuple[int, int, str]]:
        last, step = start - 1, 64
        while True:
            with self.database.reading() as connection:
                found = connection.execute(
                    "SELECT first, count, lines FROM journal WHERE first > ? ORDER BY first LIMIT ?",
                    (last, step),
                ).fetchall()
            yield from found
            if len(found) < step:
                return
            last = found[-1][0]

    def _damage(self, reason: str) -> LedgerCorrupt:
        return LedgerCorrupt(str(self.database.path), f"event {self._count}", reason)

    # ------------------------------------------------------------------ what comes in

    def spell(self, call: int, value: CallValue) -> None:
        """
        Spell what a call gave, on the thread that made it; it is kept once its event comes in.

        Raises:
            TypeError: it is neither JSON nor a value of Headway's.
            ValueError: it holds NaN or an infinity.
        """
        if (text := spell_value(value)) is not None:
            self._spelled[call] = text

    def append(self, event: Event, answers: Sequence[Any], witness: str) -> None:
        """
        Keep one event; it is on its way to the disk when this returns.  From one thread at a time.

        It is spelled here, since another thread would take the interpreter's time for that all the
        same, and keep whole groups of events alive until then.

        Raises:
            LedgerError: an earlier one could not be written; nothing more is kept.
            TypeError: it holds what can't be kept.
            ValueError: it holds NaN or an infinity.
        """
        if self._closing or self._broken is not None or len(self._waiting) >= MOST_WAITING:
            self._wait_for_room()
        if self._writer is None and not self._durable:
            self._artifacts.look()  # a run that was cut back to nothing has left its artifacts
        try:
            text = spell_row(event, answers, witness, self._spelled, self._encode)
        except BaseException as error:
            self._break(error)  # the machine has handled it: nothing may come behind the gap
            raise
        line, self._checksum = sealed(text, self._checksum)
        self._waiting.append(line)
        self._count += 1
        # The writer says that it is idle before it looks for the last time.
        if self._idle:
            with self._lock:
                self._work.notify()
        elif self._writer is None:
            self._start()

    def _wait_for_room(self) -> None:
        with self._lock:
            self._check_open()
            while len(self._waiting) >= MOST_WAITING:
                self._settled.wait()
                self._check_open()

    def keep(self, checkpoint: Json) -> None:
        """
        Keep a checkpoint of what all events so far have led to.
        """
        with self._lock:
            self._checkpoint = (self._count, checkpoint)

    def _check_open(self) -> None:
        if self._broken is not None:
            raise self._broken
        if self._closing:
            raise LedgerError(f"{self.database.path}: the journal was closed before this event")

    def _start(self) -> None:
        self.database.rider = self._ride
        writer = threading.Thread(target=self._write, name="headway-journal", daemon=True)
        try:
            writer.start()
        except RuntimeError as error:  # the system has no thread for it
            self._break(error)
            raise
        self._writer = writer

    def settle(self, *, urgent: bool = True) -> None:
        """
        Return once all that was appended before this is durable.

        Args:
            urgent: Whether the group is to be written at once, not when its time has come.

        Raises:
            LedgerError: it could not be written.
        """
        with self._lock:
            mark = self._count
            if urgent and mark > self._durable:
                self._wanted = max(self._wanted, mark)
                self._work.notify()
            while self._durable < mark:
                if self._broken is not None:
                    raise self._broken
                self._settled.wait()

    def comes_with(self, ledger: Ledger) -> bool:
        """
        Whether a ledger's next commit takes along all that was appended before it.
        """
        return self.database.rider is not None and (
            getattr(ledger, "database", None) is self.database
        )

    def close(self) -> None:
        """
        Write what waits, and keep nothing any more; closing twice is harmless.

        Raises:
            LedgerError: it could not be written.
        """
        with self._lock:
            self._closing = True
            self._work.notify()
            writer = self._writer
        if writer is not None:
            writer.join()
        if self._broken is not None:
            raise self._broken  # and rides on: no version is made whose rows are not there
        self.database.rider = None

    # ------------------------------------------------------------------ the writer

    def _write(self) -> None:
        pace = 0.0
        while self._has_work(pace):
            began = time.monotonic()
            try:
                with self.database.writing():
                    pass  # what waits comes along
            except BaseException as error:  # noqa: BLE001 - it is raised where events come in
                self._break(error)
                return
            pace = min(max(PACE, _REST * (time.monotonic() - began)), SLOWEST_PACE)

    def _has_work(self, pace: float) -> bool:
        """
        Wait until a group is due, so many seconds after the last; False once it is closed and
        nothing waits.
        """
        with self._lock:
            while True:
                self._idle = True
                while not self._waiting and not self._closing:
                    self._work.wait()
                self._idle = False
                left = self._flushed + pace - time.monotonic()
                if left <= 0 or self._wanted > self._durable or self._closing:
                    return bool(self._waiting)
                self._work.wait(left)

    def _break(self, error: BaseException) -> None:
        with self._lock:
            self._broken = error
            self._settled.notify_all()

    def _ride(self, connection: sqlite3.Connection) -> Callable[[], None]:
        """
        Write what waits into somebody's transaction; where that fails, the next one takes it along.

        The database lets one thread at a time do so.
        """
        if self._broken is not None:
            raise self._broken
        with self._lock:
            checkpoint, self._checkpoint = self._checkpoint, None
        lines = self._waiting[:]  # before the artifacts, of which these rows have named theirs
        if lines:
            self._artifacts.flush(connection)
            row = (self._durable, len(lines), "\n".join(lines))
            connection.execute("INSERT INTO journal VALUES (?, ?, ?)", row)
        if checkpoint is not None:
            put(connection, *checkpoint)
        return partial(self._landed, len(lines))

    def _landed(self, rows: int) -> None:
        self._artifacts.landed()
        with self._lock:
            self._flushed = time.monotonic()
            self._durable += rows
            del self._waiting[:rows]
            self._settled.notify_all()
