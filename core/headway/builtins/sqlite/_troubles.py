"""
What SQLite says went wrong, as the errors that Headway raises: the file, the cause, the remedy.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from headway.errors import LedgerCorrupt, LedgerError, StorageError

_STORAGE: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_FULL: (
        "no space left on device",
        "Free some space and go on; what was acknowledged before is still there.",
    ),
    sqlite3.SQLITE_READONLY: (
        "it can only be read",
        "See that the file and its folder can be written and have space left, and open it anew.",
    ),
    sqlite3.SQLITE_PERM: (
        "access was denied",
        "Give yourself the right to read and write the file and its folder.",
    ),
    sqlite3.SQLITE_BUSY: (
        "another process keeps it locked",
        "Wait until that process is done with it, or end the process, and go on.",
    ),
    sqlite3.SQLITE_IOERR: (
        "it cannot be read or written",
        "Check the disk, its free space and the limits on this process, and go on.",
    ),
    sqlite3.SQLITE_TOOBIG: (
        "a value is longer than SQLite can store",
        "Keep states below a gigabyte, or store them elsewhere and their names here.",
    ),
}
_DAMAGE: dict[int, str] = {
    sqlite3.SQLITE_CORRUPT: "it is no valid SQLite file any more",
    sqlite3.SQLITE_NOTADB: "it is no SQLite file",
}
_UNREADABLE = "Could not decode to UTF-8"
"""What Python's module says, without a code, of a text whose bytes are none."""


def code_of(error: sqlite3.Error) -> int:
    """
    The primary result code; 0 when the error has none.
    """
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def trouble(path: str, error: sqlite3.Error) -> LedgerError | None:
    """
    The error to raise instead of SQLite's; None when it is a mistake in a statement.
    """
    code = code_of(error)
    if code in _DAMAGE:
        return LedgerCorrupt(path, "the file", f"{_DAMAGE[code]} ({error})")
    if _UNREADABLE in str(error):
        return LedgerCorrupt(path, "a text", str(error))
    if code == sqlite3.SQLITE_CANTOPEN:
        return _cannot_open(path)
    if code not in _STORAGE:
        return None
    cause, remedy = _STORAGE[code]
    name = getattr(error, "sqlite_errorname", "")
    return StorageError(path, f"{cause} ({name})", remedy)


def _cannot_open(path: str) -> StorageError:
    place = Path(path)
    if place.is_dir():
        return StorageError(path, "it is a folder", "Give the path of a file.")
    if not place.parent.is_dir():
        return StorageError(path, "its folder does not exist", "Make the folder first.")
    if not place.exists():
        return StorageError(path, "there is no such file", "Check the path, and who may read it.")
    return StorageError(
        path, "it cannot be opened", "Give yourself the right to read the file and its folder."
    )
