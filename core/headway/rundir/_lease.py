"""
Who works in a run directory: one process at a time.

The lease is a lock that the kernel holds on a file and lets go of when its owner ends, however it
ends: there is nothing to steal, and nothing to clean up.  What is written in the file only says who
the owner is.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any
from weakref import WeakSet

from headway.errors import RunDirectoryError, StorageError

NAME = "lease.json"
"""The file, below the run directory."""

_LOCKED_AT = 1 << 30
"""The byte that Windows locks: nothing stands there, so the file can be read."""


class Lease:
    """
    The right to work in a directory.

    Args:
        directory: The run directory.

    Raises:
        RunDirectoryError: another process has it; the message names it.
        StorageError: the file can't be opened or written.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / NAME
        self._held = False
        try:
            self._file: IO[str] | None = self._path.open("a+", encoding="utf-8")
        except OSError as error:
            raise _trouble(self._path, error) from error
        try:
            self._take(directory, self._file)
        except OSError as error:
            self.release()
            raise _trouble(self._path, error) from error
        except BaseException:
            self.release()
            raise

    def _take(self, directory: Path, file: IO[str]) -> None:
        if not _lock(file):
            owner = f"{self._owner()} works in it."
            remedy = "Wait until it has ended, or give another run directory."
            raise RunDirectoryError(str(directory), owner, remedy)
        import socket  # costs, and most runs have no directory

        self._held = True
        signed = {"pid": os.getpid(), "host": socket.gethostname(), "boot": boot()}
        file.truncate(0)
        file.write(json.dumps(signed) + "\n")
        file.flush()
        _keep_from_children(self)

    def _owner(self) -> str:
        try:
            told: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
            return f"process {told['pid']} on {told['host']}"
        except (OSError, ValueError, TypeError, KeyError):  # it is just being written
            return "another process"

    def release(self) -> None:
        """
        Let go of it; twice is harmless.
        """
        if self._file is not None and self._held:
            with suppress(OSError):  # it is let go of all the same, only not said
                self._file.truncate(0)
        self.forget()

    def forget(self) -> None:
        """
        Leave it to the process that this one was forked off from.
        """
        _HELD.discard(self)
        if self._file is not None:
            self._file.close()
        self._file = None


_HELD: WeakSet[Lease] = WeakSet()
"""The leases of this process."""


def _keep_from_children(lease: Lease) -> None:
    """
    See that no child that is forked off holds the lock, which would outlive its owner in it.
    """
    _see_to_children()
    _HELD.add(lease)


@cache
def _see_to_children() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_let_go)


def _let_go() -> None:
    for lease in tuple(_HELD):
        lease.forget()


def _trouble(path: Path, error: OSError) -> StorageError:
    cause = error.strerror or str(error)
    return StorageError(str(path), cause, "Give a run directory that can be written to.")


def boot() -> str | None:
    """
    Which start of the machine this is, where the system says.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def _lock(file: IO[str]) -> bool:
    """
    Lock a file for this process; False when another one has.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return _lock_on_windows(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_on_windows(file: IO[str]) -> bool:
    import msvcrt

    locking: Any = vars(msvcrt)["locking"]
    file.seek(_LOCKED_AT)
    try:
        locking(file.fileno(), vars(msvcrt)["LK_NBLCK"], 1)
    except OSError:
        return False
    return True
