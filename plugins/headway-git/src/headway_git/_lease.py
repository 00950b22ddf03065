"""
Who may write: a kernel lock on a file, which ends with the process that holds it, however that ends.

The file says who holds the lock.  Whoever finds something there, once the lock is theirs, knows that
the one before died at work, and clears up after it; nobody's lock is ever judged by its age.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_LONGEST = 4_096


def _mark() -> bytes:
    boot = _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else ""
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "boot": boot}
    return json.dumps(holder).encode() + b"\n"


@attrs.define(eq=False)
class Lease:
    """
    The lock of one file, for one thread at a time.

    A child process that inherits ``descriptor`` keeps the lock while it lives, should this process
    be killed.

    Args:
        path: The file; it is made when the lock is first asked for.
        clear_up: Called when the one who held the lock before died at work.
    """

    path: Path
    clear_up: Callable[[], None]
    _opened: int | None = None
    _by: tuple[int, bytes] = (0, b"")

    @property
    def descriptor(self) -> int:
        """
        The open file.
        """
        if self._opened is None:
            self._opened = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        return self._opened

    @contextmanager
    def held(self, *, wait: bool = True) -> Iterator[bool]:
        """
        Hold the lock; yields whether it is held, which only ``wait=False`` leaves open.

        Raises:
            OSError: the file can't be written.
        """
        opened = self.descriptor
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        try:
            if os.pread(opened, _LONGEST, 0):
                self.clear_up()
            os.pwrite(opened, self._mine(), 0)
            try:
                yield True
            finally:
                os.ftruncate(opened, 0)
        finally:
            fcntl.flock(opened, fcntl.LOCK_UN)

    def _mine(self) -> bytes:
        pid = os.getpid()
        if self._by[0] != pid:
            self._by = (pid, _mark())
        return self._by[1]

    def close(self) -> None:
        """
        Close the file; twice is harmless.
        """
        if self._opened is not None:
            os.close(self._opened)
            self._opened = None
