"""
A ledger in memory: the default of a library call.

Guarantees: of any number of threads that commit on one version, exactly one is answered
``Committed``; a version once made never changes; a key that is remembered commits once.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Literal

import attrs

from headway._checks import check_count
from headway.contracts import (
    Artifact,
    Committed,
    HeadMoved,
    LedgerEntry,
    Snapshot,
    canonical_json,
)
from headway.errors import LedgerClosedError, LedgerError
from headway.names import check_id

KEPT_BYTES = 64 * 2**20
"""Bytes of states, spelled as JSON, that are kept beside the branches' heads."""

KEPT_ENTRIES = 100_000
"""How many commits of a branch are remembered, the newest ones."""


@attrs.define(eq=False)
class _Branch:
    head: Snapshot
    newest: int
    versions: dict[int, str]
    log: deque[LedgerEntry] = attrs.Factory(deque[LedgerEntry])
    keys: dict[str, LedgerEntry] = attrs.Factory(dict[str, LedgerEntry])

    def copy(self) -> _Branch:
        versions, keys = dict(self.versions), dict(self.keys)
        return _Branch(self.head, self.newest, versions, deque(self.log), keys)

    def append(self, entry: LedgerEntry, artifact: Artifact) -> Snapshot:
        self.head = Snapshot(entry.version, artifact)
        self.newest = max(self.newest, entry.version)
        self.versions[entry.version] = entry.digest
        self.log.append(entry)
        if len(self.log) > KEPT_ENTRIES:
            oldest = self.log.popleft()
            self.keys.pop(oldest.key, None)
            if oldest.version != entry.version:
                self.versions.pop(oldest.version, None)
        return self.head


@attrs.define(eq=False)
class _States:
    """
    States by content digest, the oldest let go first.
    """

    limit: int
    _held: dict[str, tuple[Artifact, int]] = attrs.Factory(dict[str, tuple[Artifact, int]])
    _bytes: int = 0

    def put(self, artifact: Artifact, size: int) -> None:
        if artifact.digest in self._held:
            return
        self._held[artifact.digest] = (artifact, size)
        self._bytes += size
        while self._bytes > self.limit and self._held:
            oldest = next(iter(self._held))
            self._bytes -= self._held.pop(oldest)[1]

    def get(self, digest: str) -> Artifact | None:
        return self._held.get(digest, (None, 0))[0]


class MemoryLedger:
    """
    Keeps versions in memory; gone when the process ends.

    The head of every branch is kept, and of older states, each once, as many as there is room for.
    A version whose state was let go can't be promoted any more; the log still lists it.  Memory is
    bounded by that, whatever a run commits.

    Safe to use from several threads at once.  It begins with the branches ``dev`` and ``stable``,
    both at version 0.

    Args:
        initial: The state at version 0; None stands for the JSON value ``null``.
        kept_bytes: Bytes of older states, spelled as JSON, that are kept.

    Raises:
        OptionError: ``kept_bytes`` is no whole number of at least 0.
    """

    durability: Literal["power", "process", "none"] = "none"

    def __init__(self, initial: Artifact | None = None, *, kept_bytes: int = KEPT_BYTES) -> None:
        check_count("kept_bytes", kept_bytes, 0)
        start = Snapshot(0, Artifact(None) if initial is None else initial)
        self._lock = threading.Lock()
        self._closed = False
        self._states = _States(kept_bytes)
        self._states.put(start.artifact, len(canonical_json(start.artifact.value)))
        self._branches = {name: _Branch(start, 0, {0: start.digest}) for name in ("dev", "stable")}

    def snapshot(self, branch: str = "dev", version: int | None = None) -> Snapshot:
        """
        The head of a branch, or an earlier version of it.

        Raises:
            LedgerError: there is no such branch, no such version on it, or its state was let go.
            LedgerClosedError: the ledger was closed.
        """
        with self._lock:
            head = self._open(branch).head
            return head if version is None else Snapshot(version, self._version(branch, version))

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
        size = len(canonical_json(artifact.value))
        with self._lock:
            there = self._open(branch)
            if (known := there.keys.get(key)) is not None:
                return _again(known, digest)
            if there.head.version != expected:
                return HeadMoved(there.head)
            # Not ``expected + 1``: behind a head that was promoted back, that number is taken.
            version = there.newest + 1
            entry = LedgerEntry(
                version=version, parent=expected, digest=digest, message=message, key=key
            )
            there.keys[key] = entry
            self._states.put(artifact, size)
            return Committed(there.append(entry, artifact).version)

    def promote(self, version: int, *, source: str = "dev", target: str = "stable") -> Snapshot:
        """
        Make a version of ``source`` the head of ``target``, under the number that it has.

        Promoting the version that the target is at already changes nothing.

        Raises:
            LedgerError: there is no such branch, no such version on it or its state was let go, or
                the target has another one of that number.
            LedgerClosedError: the ledger was closed.
        """
        with self._lock:
            artifact = self._version(source, version)
            there = self._open(target)
            if there.versions.get(version, artifact.digest) != artifact.digest:
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
            LedgerError: the branch exists, or there is no such source.
            UnsafeNameError: not every ledger can store a branch of this name.
            LedgerClosedError: the ledger was closed.
        """
        with self._lock:
            origin = self._open(source)
            if check_id(branch) in self._branches:
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
        there = self._open(branch)
        if version == there.head.version:
            return there.head.artifact
        digest = there.versions.get(version)
        if digest is None:
            raise LedgerError(f"branch {branch!r} has no version {version}")
        heads = (branch.head.artifact for branch in self._branches.values())
        artifact = self._states.get(digest) or next((a for a in heads if a.digest == digest), None)
        if artifact is None:
            kept = f"the memory ledger keeps {self._states.limit:,} bytes of older states"
            remedy = "give it more with kept_bytes, or take a ledger on disk"
            raise LedgerError(f"version {version} of {branch!r} was let go: {kept}; {remedy}")
        return artifact


def _again(known: LedgerEntry, digest: str) -> Committed:
    if known.digest != digest:
        # Answering as before would lose this state without a word.
        raise LedgerError(f"key {known.key!r} named the commit of another state")
    return Committed(known.version)
