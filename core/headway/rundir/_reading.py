"""
Looking at a run directory without working in it, whoever does and however it was left.

Nothing is written, nothing is locked: a run that goes on meanwhile does not notice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headway.contracts import Ledger
from headway.errors import LedgerCorrupt, RunDirectoryError
from headway.journal import JournalFile, Row
from headway.registry import Registry
from headway.result import Result
from headway.rundir._directory import BEGUN, DATABASE, TAKEN_BACK, ledger_place
from headway.rundir._files import RESULT, read_result
from headway.rundir._header import Header
from headway.rundir._lease import NAME as LEASE
from headway.rundir._lease import boot
from headway.rundir._place import on_network

if TYPE_CHECKING:
    from headway.builtins.sqlite import Database


@attrs.frozen(kw_only=True)
class Owner:
    """
    A process that has a run directory.

    Args:
        pid: Its number.
        host: The machine that it runs on.
    """

    pid: int
    host: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


@attrs.frozen(kw_only=True)
class OpenRun:
    """
    A run directory that is looked at; ``open_run`` gives it.

    Args:
        path: The directory.
        header: With what the run was begun.
        database: Its database, which can only be read.
        journal: Its journal, which can only be read.
    """

    path: Path
    header: Header
    database: Database
    journal: JournalFile

    def rows(self) -> Iterator[Row]:
        """
        What has been journalled by the time that it is read.

        Raises:
            LedgerCorrupt: an event is not what was written; it is named.
        """
        return self.journal.rows()

    def result(self) -> Result | None:
        """
        The result; None when the run has not ended.

        Raises:
            LedgerCorrupt: the file is not what was written.
        """
        return read_result(self.path)

    @property
    def ended(self) -> str | None:
        """
        Why the run ended; None while it has not, or when its end may be taken back.
        """
        ended = self.journal.ended()
        return None if ended is None or ended[0] in TAKEN_BACK else ended[0]

    @property
    def events(self) -> int:
        """
        How many events have been journalled.
        """
        return self.journal.stored

    @property
    def owner(self) -> Owner | None:
        """
        Who works in the directory; None when nobody does.

        One of an earlier start of this machine has ended, and one of another machine cannot have a
        local disk.  Of those of this start, one under another host's name, as in a container, is taken
        to be alive, since it can't be seen from here.
        """
        import socket  # costs, and most runs have no directory

        try:
            told: dict[str, Any] = json.loads((self.path / LEASE).read_text(encoding="utf-8"))
            owner = Owner(pid=int(told["pid"]), host=str(told["host"]))
        except (OSError, ValueError, TypeError, KeyError):  # let go of, or just being written
            return None
        if told.get("boot") != boot() and not on_network(self.path):
            return None
        if owner.host != socket.gethostname():
            return owner
        return owner if told.get("boot") == boot() and _lives(owner.pid) else None

    @contextmanager
    def ledger(self) -> Generator[Ledger]:
        """
        The versions, to be read.

        Raises:
            LedgerError: they can't be read, or are gone.
            PluginError: the ledger is of a plug-in that can't be loaded.
        """
        from headway.builtins.sqlite import SqliteLedger

        kind = str(self.header.plan.options["ledger"])
        place = ledger_place(self.path, self.database, kind, begun=True)
        opened: Ledger
        if isinstance(place, Path):
            opened = Registry.discover().create("ledger", kind, path=place)
        else:
            opened = SqliteLedger(place)
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def open_run(path: str | os.PathLike[str]) -> Generator[OpenRun]:
    """
    Look at a run directory.

    ::

        with open_run("first") as kept, kept.ledger() as ledger:
            print(ledger.snapshot().version)

    Args:
        path: The directory.

    Raises:
        RunDirectoryError: there is no such directory, or no run in it.
        StorageError: it can't be read.
        LedgerCorrupt: what it holds is not what was written.
    """
    from headway.builtins.sqlite import Database  # costs, and most runs have no directory

    place = Path(path)
    if not place.is_dir():
        what = "this is a file." if place.exists() else "there is no such directory."
        raise RunDirectoryError(str(path), what, "Give the directory of a run.")
    if not (place / DATABASE).is_file():
        reason = f"it holds no run, for there is no {DATABASE} in it."
        if (place / RESULT).is_file():
            reason = f"it holds a result, but no run to look at: there is no {DATABASE} in it."
        raise RunDirectoryError(str(path), reason, "Give what --run-dir or run_dir= was given.")
    database = Database(place / DATABASE, read_only=True)
    try:
        journal = JournalFile(database)
        written = journal.header()
        if written is None and (place / BEGUN).exists():
            raise LedgerCorrupt(str(place / DATABASE), "the journal", "it has no header")
        if written is None:
            reason = "no run was begun in it: whoever made it ended before that."
            raise RunDirectoryError(str(path), reason, "Begin one, with the same directory.")
        header = Header.from_json(str(path), written)
        yield OpenRun(path=place, header=header, database=database, journal=journal)
    finally:
        database.close()


def _lives(pid: int) -> bool:
    if os.name == "nt":
        return True  # signal 0 would end it there
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _has_ended(pid)


def _has_ended(pid: int) -> bool:
    """
    Whether a process only waits for its parent to take notice of its end.
    """
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not every system has it
        return False
    return told.rpartition(")")[2].split()[:1] == ["Z"]
