"""
Packing in the background: many small files become few large ones.

Only a copy of an object that is packed already is ever removed, so packing and commits need not
wait for each other; an object that no branch holds yet stays.  A kernel lock of its own keeps it to
one packing at a time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path

import attrs

from headway_git._git import Git, environment
from headway_git._lease import Lease

EVERY = 3_000
"""Objects between two packings: about a thousand commits."""

_SETTINGS = ("pack.threads=1", "pack.windowMemory=64m")
_COMMAND = ("repack", "--geometric=2", "-d", "-q")


@attrs.define(eq=False)
class Packer:
    """
    Packs a repository that is Headway's own.

    Args:
        git: The repository's git.
        common: Its folder.
        every: Objects between two packings.
    """

    git: Git
    common: Path
    every: int = EVERY
    _loose: int = 0
    _thread: threading.Thread | None = None
    _process: subprocess.Popen[bytes] | None = None
    _lock: threading.Lock = attrs.field(factory=threading.Lock)
    _closed: bool = False

    def count_up(self) -> None:
        """
        Estimate how many objects are not packed, as git does: from one folder of 256.
        """
        folder = self.common / "objects" / "17"
        self._loose = 256 * len(list(folder.iterdir())) if folder.is_dir() else 0

    def wrote(self, objects: int) -> None:
        """
        Take note of new objects, and begin to pack when there are many.
        """
        self._loose += objects
        if self._loose < self.every or (self._thread is not None and self._thread.is_alive()):
            return
        self._loose = 0
        self._thread = threading.Thread(target=self._pack, name="headway-git-pack", daemon=True)
        self._thread.start()

    def _pack(self) -> None:
        lease = Lease(self.common / "headway-pack.lock", self._clear)
        try:
            with lease.held(wait=False) as is_held:
                if is_held:
                    self._run(lease.descriptor)
        except OSError:
            return  # a full disk: commits say so, and the objects are where they were
        finally:
            lease.close()

    def _run(self, lease: int) -> None:
        with self._lock:
            if self._closed:
                return
            self._process = subprocess.Popen(
                self.git.command(*_COMMAND, settings=_SETTINGS),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment(),
                pass_fds=[lease],
                process_group=0,
            )
        if self._process.wait():
            self._clear()

    def _clear(self) -> None:
        folder = self.common / "objects" / "pack"
        for path in (*folder.glob("tmp_*"), *folder.glob(".tmp-*")):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """
        Stop packing; what is not packed stays as it was.
        """
        with self._lock:
            self._closed = True
            if self._process is not None and self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)  # it has processes of its own
        if self._thread is not None:
            self._thread.join()
