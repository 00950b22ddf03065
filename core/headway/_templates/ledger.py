"""
A ledger in one file of JSON lines that people can read.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any, Literal

from headway.contracts import (
    Artifact,
    Committed,
    HeadMoved,
    Ledger,
    LedgerEntry,
    Snapshot,
    canonical_json,
)
from headway.errors import LedgerCorrupt, StorageError
from headway.registry import Registry


class NewcomerLedger:
    """
    Writes every change down as a line, and makes them all again when the file is opened.

    The rules are those of the built-in ledger in memory, which holds what the file says.  Safe to use
    from several threads at once, but not from two processes: nothing locks the file.

    Args:
        path: The file; one that is there is gone on with.  None keeps everything in memory.
        initial: The state at version 0; a file that is there has its own.

    Raises:
        LedgerCorrupt: a line is damaged; one that a killed process had not ended is passed over.
        StorageError: the file can't be read or written.
    """

    durability: Literal["power", "process", "none"] = "none"

    def __init__(
        self, path: str | os.PathLike[str] | None = None, initial: Artifact | None = None
    ) -> None:
        self.path: Path | None = None if path is None else Path(path)
        self.durability = "none" if path is None else "process"
        self._lock = threading.Lock()
        self._size = 0
        begun = self._made_again()
        self._held: Ledger = _in_memory(initial) if begun is None else begun
        if begun is None:
            value = None if initial is None else initial.value
            self._append(canonical_json({"initial": value}))

    def snapshot(self, branch: str = "dev", version: int | None = None) -> Snapshot:
        """
        The head of a branch, or an earlier version of it.
        """
        return self._held.snapshot(branch, version)

    def commit(
        self, expected: int, artifact: Artifact, *, key: str, message: str, branch: str = "dev"
    ) -> Committed | HeadMoved:
        """
        Make ``artifact`` the head iff the head's version is ``expected``.
        """
        given = {"expected": expected, "artifact": artifact.value, "branch": branch}
        answer: Committed | HeadMoved = self._change(
            "commit", {**given, "key": key, "message": message}
        )
        return answer

    def promote(self, version: int, *, source: str = "dev", target: str = "stable") -> Snapshot:
        """
        Make a version of one branch the head of another.
        """
        given = {"version": version, "source": source, "target": target}
        promoted: Snapshot = self._change("promote", given)
        return promoted

    def fork(self, branch: str, *, source: str = "dev") -> Snapshot:
        """
        A new branch at another one's head.
        """
        forked: Snapshot = self._change("fork", {"branch": branch, "source": source})
        return forked

    def log(self, branch: str = "dev") -> tuple[LedgerEntry, ...]:
        """
        The commits of a branch, oldest first.
        """
        return self._held.log(branch)

    def close(self) -> None:
        """
        Refuse every later call; closing twice is harmless.
        """
        with self._lock:
            self._held.close()

    def _change(self, name: str, given: dict[str, Any]) -> Any:
        with self._lock:
            line = canonical_json({"call": name, **given})  # what is no JSON is refused here
            answer = _call(self._held, name, given)
            if not isinstance(answer, HeadMoved):  # which changed nothing
                self._append(line)
            return answer

    def _append(self, line: str) -> None:
        if self.path is None:
            return
        try:
            with self.path.open("ab") as file:
                file.truncate(self._size)
                self._size += file.write(f"{line}\n".encode())
        except OSError as error:
            # What is not on the disk was not committed: back to what is.
            self._held = self._made_again() or self._held
            told = error.strerror or str(error)
            raise StorageError(str(self.path), told, "Mend that and commit again.") from error

    def _made_again(self) -> Ledger | None:
        """
        What the file says; None when there is none.
        """
        if self.path is None or not self.path.exists():
            return None
        try:
            content = self.path.read_bytes()
        except OSError as error:
            told = error.strerror or str(error)
            raise StorageError(str(self.path), told, "Give a file that can be read.") from error
        self._size = content.rfind(b"\n") + 1
        ledger: Ledger | None = None
        for number, line in enumerate(content[: self._size].splitlines(), 1):
            try:
                told = json.loads(line)
                if ledger is None:
                    ledger = _in_memory(Artifact(told["initial"]))
                else:
                    _call(ledger, told.pop("call"), told)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise LedgerCorrupt(str(self.path), f"line {number}", str(error)) from error
        return ledger


def _in_memory(initial: Artifact | None) -> Ledger:
    ledger: Ledger = Registry().create("ledger", "memory", initial=initial)
    return ledger


def _call(ledger: Ledger, name: str, given: dict[str, Any]) -> Any:
    if name == "commit":
        rest = {option: value for option, value in given.items() if option != "artifact"}
        return ledger.commit(artifact=Artifact(given["artifact"]), **rest)
    return ledger.promote(**given) if name == "promote" else ledger.fork(**given)
