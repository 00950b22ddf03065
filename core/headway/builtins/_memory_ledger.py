"""
A ledger in memory: the default of a library call.

Guarantees: of any number of threads that commit on one version, exactly one is answered
``Committed``; a version once made never changes; a key commits once.
"""

from __future__ import annotations

import threading

import attrs

from headway.builtins._branches import checked_branch
from headway.contracts import Artifact, Committed, HeadMoved, LedgerEntry, Snapshot
from headway.errors import LedgerClosedError, LedgerError


@attrs.define(eq=False)
class _Branch:
    head: Snapshot
    versions: dict[int, Artifact]
    log: list[LedgerEntry] = attrs.Factory(list[LedgerEntry])
    keys: dict[str, LedgerEntry] = attrs.Factory(dict[str, LedgerEntry])

    def copy(self) -> _Branch:
        return _Branch(self.head, dict(self.versions), list(self.log), dict(self.keys))

    def append(self, entry: LedgerEntry, artifact: Artifact) -> Snapshot:
        self.head = Snapshot(entry.version, artifact)
        self.versions[entry.version] = artifact
        self.log.append(entry)
        return self.head


class MemoryLedger:
    """
    Keeps every version in memory; gone when the process ends.

    Safe to use from several threads at once.  It begins with the branches ``dev`` and ``stable``,
    both at version 0.

    Args:
        initial: The state at version 0; None stands for the JSON value ``null``.
    """

    def __init__(self, initial: Artifact | None = None) -> None:
        start = Snapshot(0, Artifact(None) if initial is None else initial)
        self._lock = threading.Lock()
        self._closed = False
        self._branches = {name: _Branch(start, {0: start.artifact}) for name in ("dev", "stable")}

    def snapshot(self, branch: str = "dev") -> Snapshot:
        """
        The head of a branch.

        Raises:
            LedgerError: there is no such branch.
            LedgerClosedError: the ledger was closed.
        """
        with self._lock:
            return self._open(branch).head

    def commit(
        self, expected: int, artifact: Artifact, *, key: str, message: str, branch: str = "dev"
    ) -> Committed | HeadMoved:
        """
        Make ``artifact`` the head iff the head's version is ``expected``.

        The same key again is answered as before and commits nothing.  ``HeadMoved`` is not kept
        under the key, for nothing was changed.

        Raises:
            LedgerError: there is no such branch, or the key named a commit of another state.
            LedgerClosedError: the ledger was closed.
            ValueError: the state is not made of JSON values.
        """
        digest = artifact.digest  # hashed outside the lock, and refused before anything changes
        with self._lock:
            there = self._open(branch)
            if (known := there.keys.get(key)) is not None:
                return _again(known, digest)
            if there.head.version != expected:
                return HeadMoved(there.head)
            # Not ``expected + 1``: behind a head that was promoted back, that number is taken.
            version = max(there.versions) + 1
            entry = LedgerEntry(
                version=version, parent=expected, digest=digest, message=message, key=key
            )
            there.keys[key] = entry
            return Committed(there.append(entry, artifact).version)

    def promote(self, version: int, *, source: str = "dev", target: str = "stable") -> Snapshot:
        """
        Make a version of ``source`` the head of ``target``, under the number that it has.

        Promoting the version that the target is at already changes nothing.

        Raises:
            LedgerError: there is no such branch, no such version on it, or another one of that
                number on the target.
            LedgerClosedError: the ledger was closed.
        """
        with self._lock:
            artifact = self._version(source, version)
            there = self._open(target)
            if there.versions.get(version, artifact) != artifact:
                raise LedgerError(f"branch {target!r} has a version {version} of its own")
            if there.head == Snapshot(version, artifact):
                return there.head
            entry = LedgerEntry(
                version=version,
                parent=there.head.version,
                digest=artifact.digest,
                message=f"promote version {version} of {source}",
                key="",
            )
            return there.append(entry, artifact)

    def log(self, branch: str = "dev") -> tuple[LedgerEntry, ...]:
        """
        The commits and promotions of a branch, oldest first.

        Raises:
            LedgerError: there is no such branch.
            LedgerClosedError: the ledger was closed.
        """
        with self._lock:
            return tuple(self._open(branch).log)

    def fork(self, branch: str, *, source: str = "dev") -> Snapshot:
        """
        A new branch at another one's head, with its history.

        Raises:
            LedgerError: the branch exists, its name cannot be stored, or there is no such source.
            LedgerClosedError: the ledger was closed.
        """
        with self._lock:
            origin = self._open(source)
            if checked_branch(branch) in self._branches:
                raise LedgerError(f"branch {branch!r} exists already")
            self._branches[branch] = origin.copy()
            return origin.head

    def close(self) -> None:
        """
        Refuse every later call; closing twice is harmless.
        """
        with self._lock:
            self._closed = True
            self._branches.clear()

    def _open(self, branch: str) -> _Branch:
        if self._closed:
            raise LedgerClosedError("the memory ledger was closed before this call")
        if branch not in self._branches:
            known = ", ".join(sorted(self._branches))
            raise LedgerError(f"there is no branch {branch!r}; there are {known}")
        return self._branches[branch]

    def _version(self, branch: str, version: int) -> Artifact:
        artifact = self._open(branch).versions.get(version)
        if artifact is None:
            raise LedgerError(f"branch {branch!r} has no version {version}")
        return artifact


def _again(known: LedgerEntry, digest: str) -> Committed:
    if known.digest != digest:
        # Answering as before would lose this state without a word.
        raise LedgerError(f"key {known.key!r} named the commit of another state")
    return Committed(known.version)
