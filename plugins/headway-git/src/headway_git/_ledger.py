"""
A ledger whose versions are git commits.

Guarantees: a version that was acknowledged survives the end of the process and the loss of power; of
any number of threads and processes that commit on one version, exactly one is answered
``Committed``; work tree, index and HEAD of a repository are never touched.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Literal

from headway.contracts import Artifact, Committed, HeadMoved, LedgerEntry, Snapshot
from headway.errors import (
    LedgerClosedError,
    LedgerCorrupt,
    LedgerError,
    OptionError,
    StorageError,
    UnsafeNameError,
)
from headway.names import check_id
from headway_git._commits import Commit, spelled_commit
from headway_git._committed import committed
from headway_git._history import Branch, History
from headway_git._known import Known
from headway_git._lease import Lease
from headway_git._objects import New, add
from headway_git._packing import Packer
from headway_git._refs import NOTHING, Refs
from headway_git._repository import DamagedError, open_repository
from headway_git._states import State, loaded, stored

FIRST = ("dev", "stable")
"""The branches that every ledger has."""


class GitLedger:
    """
    Keeps versions as commits below ``refs/heads/<prefix>/`` of a git repository.

    A state that maps safe relative paths to texts is a folder of files in git; every other state is
    one file, ``artifact.json``.  Log, keys and versions are those of the history, of which
    ``headway.commits`` in the repository keeps what was read before; several processes may use one
    repository at once.  About 1 KB of memory a version is used.

    Safe to use from several threads at once.  A new ledger begins with the branches ``dev`` and
    ``stable``, both at version 0.

    Args:
        path: A git repository, or a folder that is empty or does not exist: it becomes a bare one.
        initial: The state at version 0 of a new ledger; None stands for the JSON value ``null``.
            A ledger that exists keeps its own.
        prefix: What its branches stand below.

    Raises:
        OptionError: there is no path, or no repository at it, or no program git.
        UnsafeNameError: no branch can stand below ``prefix``.
        StorageError: the repository can't be read or written.
        LedgerCorrupt: what is stored is not what was written.
    """

    durability: Literal["power"] = "power"
    """What was acknowledged survives the loss of power."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        initial: Artifact | None = None,
        prefix: str = "headway",
    ) -> None:
        if path is None:
            remedy = "It needs a folder: give run_dir= (--run-dir), or an object made with GitLedger(path)."
            raise OptionError("ledger", "git", remedy)
        check_id(prefix)
        self._lock = threading.Lock()
        self._closed = False
        self._branches: dict[str, Branch] = {}
        self._repository = open_repository(path, prefix)
        common, git = self._repository.common, self._repository.git
        self._refs = Refs(git, common, prefix)
        self._lease = Lease(common / "headway.lock", self._clear_up)
        self._packer = Packer(git, common) if self._repository.is_ours else None
        self._history = History(self._repository, Known(common / "headway.commits"))
        try:
            self._begin(Artifact(None) if initial is None else initial)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def committed(
        path: str | os.PathLike[str], *, leave_out: Callable[[str], bool] = lambda _: False
    ) -> dict[str, str] | None:
        """
        The text files that are committed at HEAD of a repository, by path, sorted; nothing is changed.

        None where there is no repository yet, or one that was made for a ledger.

        Args:
            path: The repository.
            leave_out: Whether a path is no part of what is asked for.

        Raises:
            OptionError: there is something else than a repository, nothing is committed in it, or what
                is committed holds a link, another repository, a file that is no text or an odd name.
            LedgerCorrupt: an object is not what its name says.
        """
        return committed(path, leave_out)

    def _clear_up(self) -> None:
        self._refs.clear()
        self._repository.writer.clear()

    def _begin(self, initial: Artifact) -> None:
        with self._told("its history"):
            tips = [tip for name in self._refs.branches() if (tip := self._refs.tip(name))]
            self._history.read_all(tips)
            if self._packer is not None:
                self._packer.count_up()
            if any(self._refs.tip(branch) is None for branch in FIRST):
                with self._lease.held():
                    self._begin_branches(initial)

    def _begin_branches(self, initial: Artifact) -> None:
        made: New = {}
        missing = [branch for branch in FIRST if self._refs.tip(branch) is None]
        there = [branch for branch in FIRST if branch not in missing]
        if there:
            root = self._seen(there[0]).versions[0]
        else:
            entry = LedgerEntry(
                version=0, parent=0, digest=initial.digest, message="version 0", key=""
            )
            root = self._write(entry, stored(initial, None, made), (), made)
        for branch in missing:
            self._move(branch, root, NOTHING, made)

    def snapshot(self, branch: str = "dev", version: int | None = None) -> Snapshot:
        """
        The head of a branch, or an earlier version of it.

        Raises:
            LedgerError: there is no such branch, or no such version on it.
            LedgerCorrupt: what is stored of it is not what was written.
            LedgerClosedError: the ledger was closed.
        """
        with self._using(branch) as there:
            commit = there.head if version is None else self._version(branch, there, version)
            return self._snapshot(branch, there, commit)

    def commit(
        self, expected: int, artifact: Artifact, *, key: str, message: str, branch: str = "dev"
    ) -> Committed | HeadMoved:
        """
        Make ``artifact`` the head iff the head's version is ``expected``.

        The same key again is answered as before and commits nothing, also by another process and
        after a restart.  ``HeadMoved`` is not kept under the key, for nothing was changed.

        Raises:
            LedgerError: there is no such branch, or the key named a commit of another state.
            LedgerClosedError: the ledger was closed.
            StorageError: the repository can't be written; nothing was committed.
            ValueError: the state is not made of JSON values.
        """
        digest = artifact.digest  # hashed outside the lock, and refused before anything changes
        while True:
            with self._using(branch, write=True) as there:
                if (known := there.keys.get(key)) is not None:
                    return _again(known, digest)
                if there.head.entry.version != expected:
                    return HeadMoved(self._snapshot(branch, there, there.head))
                entry = LedgerEntry(
                    version=there.newest + 1,  # behind a head promoted back, the next is taken
                    parent=expected,
                    digest=digest,
                    message=message,
                    key=key,
                )
                made: New = {}
                before = self._state(branch, there, there.head)
                state = stored(artifact, before, made)
                made_on = (there.head.name,)
                if self._advance(branch, there, entry, state, made_on, made):
                    return Committed(entry.version)

    def promote(self, version: int, *, source: str = "dev", target: str = "stable") -> Snapshot:
        """
        Make a version of ``source`` the head of ``target``, under the number that it has.

        Promoting the version that the target is at already changes nothing.

        Raises:
            LedgerError: there is no such branch, no such version on it, or the target has another
                one of that number.
            LedgerClosedError: the ledger was closed.
            StorageError: the repository can't be written; nothing was promoted.
        """
        while True:
            with self._using(source, write=True) as origin:
                commit = self._version(source, origin, version)
                there = self._seen(target)
                taken = there.versions.get(version, commit)
                if taken.entry.digest != commit.entry.digest:
                    raise LedgerError(f"branch {target!r} has a version {version} of its own")
                state = self._state(source, origin, commit)
                head = Snapshot(version, state.artifact)
                at = there.head.entry
                if (at.version, at.digest) == (version, commit.entry.digest):
                    return head
                entry = LedgerEntry(
                    version=version,
                    parent=at.version,
                    digest=commit.entry.digest,
                    message=f"promote version {version} of {source}",
                    key="",
                )
                made_on = (there.head.name, commit.name)
                if self._advance(target, there, entry, state, made_on, {}):
                    return head

    def log(self, branch: str = "dev") -> tuple[LedgerEntry, ...]:
        """
        The commits and promotions of a branch, oldest first.

        Raises:
            LedgerError: there is no such branch.
            LedgerClosedError: the ledger was closed.
        """
        with self._using(branch) as there:
            return tuple(there.log)

    def fork(self, branch: str, *, source: str = "dev") -> Snapshot:
        """
        A new branch at another one's head, with its history.

        Raises:
            LedgerError: the branch exists, or there is no such source.
            UnsafeNameError: not every ledger can store a branch of this name.
            LedgerClosedError: the ledger was closed.
        """
        with self._using(source, write=True) as origin:
            taken = self._refs.tip(check_id(branch)) is not None
            if taken or not self._move(branch, origin.head, NOTHING, {}):
                raise LedgerError(f"branch {branch!r} exists already")
            self._branches[branch] = origin.copy()
            return self._snapshot(source, origin, origin.head)

    def close(self) -> None:
        """
        Refuse every later call, and end what runs for the ledger; closing twice is harmless.
        """
        with self._lock:
            self._closed = True
            self._branches.clear()
            self._refs.close()
            if self._packer is not None:
                self._packer.close()
            self._lease.close()
            self._repository.close()

    @contextmanager
    def _using(self, branch: str, *, write: bool = False) -> Iterator[Branch]:
        """
        A branch as it is now, alone in this process, and to write alone among all.
        """
        with self._lock:
            if self._closed:
                raise LedgerClosedError("the git ledger was closed before this call")
            with self._told(f"branch {branch!r}"):
                if not write:
                    yield self._seen(branch)
                    return
                with self._lease.held():
                    yield self._seen(branch)

    @contextmanager
    def _told(self, place: str) -> Iterator[None]:
        try:
            yield
        except DamagedError as error:
            raise LedgerCorrupt(str(error.path), place, error.reason) from error
        except OSError as error:
            path = str(error.filename or self._repository.path)
            remedy = "What was acknowledged before is still there; make it writable, or make room."
            raise StorageError(path, error.strerror or str(error), remedy) from error

    def _seen(self, branch: str) -> Branch:
        """
        A branch, with what other processes did to it.
        """
        try:
            tip = self._refs.tip(branch) if _is_id(branch) else None
        except ValueError as error:
            raise DamagedError(self._refs.path(branch), str(error)) from error
        if tip is None:
            known = ", ".join(self._refs.branches())
            raise LedgerError(f"there is no branch {branch!r}; there are {known}")
        there = self._branches.get(branch)
        if there is None or there.head.name != tip:
            there = self._branches[branch] = self._history.branch(tip, there)
        return there

    def _version(self, branch: str, there: Branch, version: int) -> Commit:
        if version not in there.versions:
            raise LedgerError(f"branch {branch!r} has no version {version}")
        return there.versions[version]

    def _snapshot(self, branch: str, there: Branch, commit: Commit) -> Snapshot:
        return Snapshot(commit.entry.version, self._state(branch, there, commit).artifact)

    def _state(self, branch: str, there: Branch, commit: Commit) -> State:
        """
        The state of a commit; the head's is kept.
        """
        if there.state is not None and there.state[0] == commit.name:
            return there.state[1]
        place = f"version {commit.entry.version} of {branch}"
        before = there.state[1] if there.state is not None else None
        with self._told(place):
            try:
                tree = bytes.fromhex(commit.tree)
                state = loaded(tree, commit.format, self._repository.read, before)
            except ValueError as error:
                raise DamagedError(self._repository.path, str(error)) from error
            if state.artifact.digest != commit.entry.digest:
                raise DamagedError(self._repository.path, "its state has another digest")
        if commit is there.head:
            there.state = (commit.name, state)
        return state

    def _write(
        self, entry: LedgerEntry, state: State, parents: tuple[str, ...], made: New
    ) -> Commit:
        tree = state.folder.name
        content = spelled_commit(entry, state.format, tree, parents, int(time.time()))
        name = add(made, "commit", content).hex()
        self._repository.writer.write(made)
        return Commit(name, tree.hex(), parents, state.format, entry)

    def _move(self, branch: str, commit: Commit, old: str, made: New) -> bool:
        flush = partial(self._repository.writer.flush, made)
        lease = self._lease.descriptor
        moved = self._refs.move(branch, commit.name, old, lease=lease, meanwhile=flush)
        if moved:
            self._history.add(commit)
        return moved

    def _advance(
        self,
        branch: str,
        there: Branch,
        entry: LedgerEntry,
        state: State,
        parents: tuple[str, ...],
        made: New,
    ) -> bool:
        """
        Put a commit on top of a branch; False when somebody moved it by other means than ours.
        """
        commit = self._write(entry, state, parents, made)
        if not self._move(branch, commit, there.head.name, made):
            return False
        there.append(commit)
        there.state = (commit.name, state)
        if self._packer is not None:
            self._packer.wrote(len(made))
        return True


def _is_id(branch: str) -> bool:
    try:
        check_id(branch)
    except UnsafeNameError:
        return False
    return True


def _again(known: LedgerEntry, digest: str) -> Committed:
    if known.digest != digest:
        # Answering as before would lose this state without a word.
        raise LedgerError(f"key {known.key!r} named the commit of another state")
    return Committed(known.version)
