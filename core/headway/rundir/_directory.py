"""
One run directory: its lease, its database with ledger and journal, and its files.

====================  ============================================================================
``run.sqlite``        the journal, and the ledger unless another kind of ledger was chosen
``run.json``          with what the run was begun, for people; the journal has it too
``lease.json``        who works in it
``config.toml``       with what the run was begun, unless an object was given that has no name
====================  ============================================================================

and once the run has ended

====================  ============================================================================
``saved.json``        the result, as ``Result.load`` reads it
``result.json``       the result, to be read
``curve.tsv``         one line a sweep
``artifact/``         the final state as readable files
====================  ============================================================================

Guarantee: it opens again by itself whenever and however its owner ended.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from headway.errors import (
    ContractError,
    HeadwayError,
    LedgerCorrupt,
    LedgerError,
    RunDirectoryError,
    StorageError,
)
from headway.journal import JournalFile
from headway.machine import Done
from headway.result import Result
from headway.rundir._files import CONFIG, RESULT, read_result, remove_result, write_result
from headway.rundir._header import Header
from headway.rundir._lease import NAME as LEASE
from headway.rundir._lease import Lease
from headway.rundir._place import check_place
from headway.rundir._recipe import Recipe

if TYPE_CHECKING:
    from headway.builtins.sqlite import Database

DATABASE = "run.sqlite"
BEGUN = "run.json"

TAKEN_BACK = ("interrupted", "error")
"""Stop reasons of runs that may be gone on with: they did not end by themselves."""

_OURS = (DATABASE, LEASE, f"{DATABASE}-wal", f"{DATABASE}-shm", CONFIG, BEGUN)
"""What may lie in a directory in which no run was begun yet."""


class RunDirectory:
    """
    A directory that this process works in until ``close``.

    Args:
        path: The directory; it is made when there is none.

    Raises:
        RunDirectoryError: it holds something else, or another process works in it.
        StorageError: it can't be read or written.
        LedgerCorrupt: what it holds is not what was written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        from headway.builtins.sqlite import Database  # costs, and most runs have no directory

        self.path: Path = Path(path)
        self._made = not self.path.exists()
        with ExitStack() as stack:
            self._check_place()
            check_place(self.path)
            self._lease = Lease(self.path)
            stack.callback(self._lease.release)
            begun = (self.path / BEGUN).exists()
            self.database: Database = Database(self.path / DATABASE, create=not begun)
            stack.callback(self.database.close)
            self.journal: JournalFile = JournalFile(self.database)
            written = self.journal.header()
            self.header = None if written is None else Header.from_json(str(path), written)
            if begun and self.header is None:
                raise LedgerCorrupt(str(self.path / DATABASE), "the journal", "it has no header")
            if not begun and self.header is not None:
                self._mark(self.header)
            stack.callback(self._close_journal)
            self._closing = stack.pop_all()

    def _close_journal(self) -> None:
        with suppress(LedgerError):  # whoever appended or settled was told
            self.journal.close()

    def _check_place(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            known = (self.path / DATABASE).exists()
            others = [] if known else sorted({f.name for f in self.path.iterdir()} - {*_OURS})
        except FileExistsError:
            raise RunDirectoryError(
                str(self.path), "this is a file.", "Give a directory that is new or empty."
            ) from None
        except OSError as error:
            cause = error.strerror or str(error)
            remedy = "Give a run directory that can be written to."
            raise StorageError(str(self.path), cause, remedy) from error
        if others:
            raise RunDirectoryError(
                str(self.path),
                f"it holds no run but something else, such as {others[0]}.",
                "Give a directory that is new or empty, or the one of a run.",
            )

    def begin(self, header: Header, recipe: Recipe | None) -> None:
        """
        Write down with what the run begins.

        Args:
            header: With what.
            recipe: The same by names, when all of it has one.
        """
        if recipe is not None:
            recipe.keep(self.path)
        self.journal.begin(header.to_json())
        self.header = header
        self._mark(header)

    def _mark(self, header: Header) -> None:
        """
        Say in a file of its own that a run was begun, so that a database which was emptied is not
        taken for a new one.
        """
        place = self.path / BEGUN
        text = json.dumps(header.to_json(), indent=2) + "\n"
        try:
            draft = place.with_name(f".{BEGUN}.part")
            draft.write_text(text, encoding="utf-8")
            draft.replace(place)
        except OSError as error:
            cause = error.strerror or str(error)
            raise StorageError(str(place), cause, "Free some space and go on.") from error

    def ledger_path(self, name: str) -> Database | Path:
        """
        Where a ledger keeps its versions.

        Args:
            name: The name of its kind.

        Raises:
            LedgerCorrupt: the run has begun, and they are gone.
        """
        return ledger_place(self.path, self.database, name, begun=self.header is not None)

    def result(self) -> Result | None:
        """
        The result; None when the run has not ended.

        Raises:
            LedgerCorrupt: the file is not what was written.
        """
        return read_result(self.path)

    def end(self, result: Result, event: int) -> None:
        """
        Keep the result of the run, which has ended, and write the files that show it.

        Args:
            result: The result.
            event: The number of the event that stopped the run.

        Raises:
            ContractError: the domain rendered a file that would not lie below ``artifact``; all
                else is kept.
            StorageError: a file can't be written; running on writes it.
        """
        # In this order: a result that was kept without its end could never be taken back.
        self.journal.end(result.stop_reason, event)
        remove_result(self.path)
        try:
            write_result(self.path, result)
        except ContractError:
            raise
        except HeadwayError as error:
            remedy = "Free some space and run it again: nothing is paid for again."
            cause = getattr(error.__cause__, "strerror", None) or str(error)
            raise StorageError(str(self.path / RESULT), cause, remedy) from error

    def reopen(self) -> tuple[Done, ...]:
        """
        Take back the end of a run that was interrupted or could not go on, so that it may now; also
        when it was killed before it had ended, or was interrupted when it had been stopped already.

        Returns:
            What calls gave in what was taken back; those need not be made again.
        """
        reason, event = self.journal.ended() or ("", 0)
        stopped = event if reason in TAKEN_BACK else self.journal.interrupted(event)
        if stopped is None:
            return ()
        events = [row.event for row in self.journal.rows(stopped)]
        remove_result(self.path)
        self.journal.cut(stopped)
        return tuple(event for event in events if isinstance(event, Done))

    def abandon(self) -> None:
        """
        Close it; what was made for a run that then could not begin is removed.
        """
        self.close()
        if self.header is None and self._made:
            for name in (*_OURS, RESULT):
                (self.path / name).unlink(missing_ok=True)
            with suppress(OSError):  # somebody else has put something there
                self.path.rmdir()

    def close(self) -> None:
        """
        Let others work in it; closing twice is harmless.
        """
        self._closing.close()


def ledger_place(folder: Path, database: Database, name: str, *, begun: bool) -> Database | Path:
    """
    Where the ledger of a run directory keeps its versions.

    Args:
        folder: The directory.
        database: Its database.
        name: The name of the ledger's kind.
        begun: Whether its run has begun, and so its ledger is there.

    Raises:
        LedgerCorrupt: it should be there and is not: opening it would make an empty one.
    """
    kind = name.rpartition(":")[2]
    if kind == "sqlite":
        return database
    place = folder / f"ledger.{kind}"
    if begun and not place.exists():
        raise LedgerCorrupt(str(place), "the ledger", "it is gone. Put it back, from a copy of it")
    return place
