"""
The references of a ledger's branches: read as files, moved by git alone.

``move`` is a compare-and-swap: git takes the reference's own lock and looks again before it writes.
One ``git update-ref`` serves all moves of a ledger, so that none waits for a process to start.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

import attrs

from headway.errors import StorageError
from headway_git._git import Git, environment
from headway_git._objects import flush_folder

NOTHING = "0" * 40
"""What a reference was moved from that was not there."""

_DONE = [b"start: ok\n", b"prepare: ok\n", b"commit: ok\n"]
_NAME = re.compile(r"[0-9a-f]{40}")


@attrs.define(eq=False)
class Refs:
    """
    The references below ``refs/heads/<prefix>/``; for one thread at a time.

    Args:
        git: The repository's git.
        common: The folder of what all work trees of the repository share.
        prefix: What the ledger's branches stand below.
    """

    git: Git
    common: Path
    prefix: str
    _mover: subprocess.Popen[bytes] | None = None
    _said: IO[bytes] | None = None
    _packed: tuple[tuple[int, int, int], dict[str, str]] = ((0, 0, 0), {})

    def name(self, branch: str) -> str:
        """
        The whole name of a branch's reference.
        """
        return f"refs/heads/{self.prefix}/{branch}"

    def path(self, branch: str) -> Path:
        """
        The file of a branch's reference.
        """
        return self.common / self.name(branch)

    def tip(self, branch: str) -> str | None:
        """
        The commit that a branch is at; None when there is no such branch.

        Raises:
            ValueError: the reference holds something else.
        """
        try:
            text = self.path(branch).read_text(encoding="ascii").strip()
        except (FileNotFoundError, NotADirectoryError):
            # ``git pack-refs`` writes the packed file before it removes the other.
            return self._packed_refs().get(self.name(branch))
        if not _NAME.fullmatch(text):
            message = f"{self.path(branch)} holds {text[:60]!r}, not the name of a commit"
            raise ValueError(message)
        return text

    def _lock(self, branch: str) -> Path:
        """
        The lock that git takes to move a branch: the one that is there.
        """
        head = self.common / "HEAD.lock"
        return head if head.exists() else self.path(branch).with_name(f"{branch}.lock")

    def branches(self) -> tuple[str, ...]:
        """
        The names of the branches that are there, sorted.
        """
        above = self.name("")
        folder = self.common / above
        there = {path.name for path in folder.iterdir()} if folder.is_dir() else set[str]()
        there |= {n.removeprefix(above) for n in self._packed_refs() if n.startswith(above)}
        return tuple(sorted(name for name in there if not name.endswith(".lock")))

    def _packed_refs(self) -> dict[str, str]:
        path = self.common / "packed-refs"
        try:
            there = path.stat()
        except FileNotFoundError:
            return {}
        stamp = (there.st_mtime_ns, there.st_size, there.st_ino)
        if stamp != self._packed[0]:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            pairs = (line.partition(" ") for line in lines if _NAME.match(line))
            self._packed = (stamp, {name: commit for commit, _, name in pairs})
        return self._packed[1]

    def move(
        self, branch: str, new: str, old: str, *, lease: int, meanwhile: Callable[[], None]
    ) -> bool:
        """
        Move a branch from one commit to another; False when it was not at ``old``.

        Args:
            branch: The branch.
            new: The commit to move it to.
            old: The commit that it must be at; ``NOTHING`` makes a new branch.
            lease: The descriptor of the lock under which this happens.
            meanwhile: What must be done before the branch moves, and may go on beside git's own
                preparations; if it raises, the branch is not moved.

        Raises:
            StorageError: git could not do it, and it was not done.
        """
        fresh = not self.path(branch).exists()
        order = f"start\nupdate {self.name(branch)} {new} {old}\nprepare\n".encode()
        done = self._ask(order, lease, meanwhile)
        if not done and self._is_older_than_boot(branch):
            self.clear()
            done = self._ask(order, lease, meanwhile)
        if not done:
            told = self._buried()
            at = self.tip(branch)
            if at != new:
                if at != (None if old == NOTHING else old):
                    return False
                raise self._in_the_way(branch, told)
        folder = self.path(branch).parent
        flush_folder(folder)
        if fresh:  # the folder itself may be new
            flush_folder(folder.parent)
        return True

    def _ask(self, order: bytes, lease: int, meanwhile: Callable[[], None]) -> bool:
        if self._mover is None or self._mover.poll() is not None:
            self._buried()
            self._mover = self._started(lease)
        into, out = self._mover.stdin, self._mover.stdout
        assert into is not None  # noqa: S101 - both are pipes
        assert out is not None  # noqa: S101 - both are pipes
        try:
            into.write(order)
            into.flush()
            meanwhile()
            into.write(b"commit\n")
            into.flush()
            return [out.readline() for _ in _DONE] == _DONE
        except BrokenPipeError:
            return False
        except BaseException:
            self._buried()  # which has git give the move up, and no answer wait for the next one
            raise

    def _started(self, lease: int) -> subprocess.Popen[bytes]:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is buried
        return subprocess.Popen(
            self.git.command("update-ref", "--stdin"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,  # a pipe that nobody reads could fill up with warnings
            env=environment(),
            pass_fds=[lease],  # the lock is held until the move is done, whatever becomes of us
            process_group=0,  # Ctrl-C is for the program, which ends this one by its pipe
        )

    def _buried(self) -> bytes:
        """
        End the process, and say what it told last.
        """
        mover, said = self._mover, self._said
        self._mover = self._said = None
        if mover is not None:
            with suppress(BrokenPipeError), mover:  # what it had not taken when it ended
                pass
        if said is None:
            return b""
        with said:
            said.seek(0)
            return said.read()

    def _in_the_way(self, branch: str, told: bytes) -> StorageError:
        lock = self._lock(branch)
        if not lock.exists():
            return self.git.failed("update-ref", told)
        remedy = "Remove it when no git command is at work in this repository."
        return StorageError(str(lock), "this lock of another git command is in the way", remedy)

    def clear(self) -> None:
        """
        Remove the locks that a process left which ended in the middle of a move.
        """
        self._buried()
        folder = self.common / self.name("")
        left = [*folder.glob("*.lock")]
        head = self.common / "HEAD"
        if head.read_bytes().startswith(f"ref: {self.name('')}".encode()):
            left.append(self.common / "HEAD.lock")  # git takes it with the branch it is at
        for path in left:
            path.unlink(missing_ok=True)

    def _is_older_than_boot(self, branch: str) -> bool:
        """
        Whether a lock is older than the running system: then its owner can't be alive.
        """
        lock = self._lock(branch)
        return lock.exists() and lock.stat().st_mtime < _booted()

    def close(self) -> None:
        """
        End the process; twice is harmless.
        """
        self._buried()


def _booted() -> float:
    """
    When the system was started, in seconds since 1970; 0 when it does not say.
    """
    path = Path("/proc/stat")
    text = path.read_text(encoding="ascii") if path.exists() else ""
    found = re.search(r"^btime (\d+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0
