"""
The history of a ledger's branches, rebuilt from the commits that git has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from headway.contracts import LedgerEntry
from headway_git._commits import Commit, read_commit
from headway_git._known import Known
from headway_git._objects import named
from headway_git._repository import DamagedError, Repository
from headway_git._states import State


@attrs.define(eq=False)
class Branch:
    """
    One branch, as far as this process has seen it.

    Args:
        head: The commit that it is at.
        newest: Its highest version.
        versions: The commit of each version.
        log: What was committed and promoted, oldest first.
        keys: Commits by their idempotency keys.
        state: A state of it that is at hand, with its commit's name; mostly the head's.
    """

    head: Commit
    newest: int
    versions: dict[int, Commit]
    log: list[LedgerEntry] = attrs.Factory(list[LedgerEntry])
    keys: dict[str, LedgerEntry] = attrs.Factory(dict[str, LedgerEntry])
    state: tuple[str, State] | None = None

    @classmethod
    def begun(cls, root: Commit) -> Branch:
        """
        A branch that has only its first version.
        """
        return cls(root, root.entry.version, {root.entry.version: root})

    def append(self, commit: Commit) -> None:
        """
        Put a commit on top.
        """
        entry = commit.entry
        self.head = commit
        self.newest = max(self.newest, entry.version)
        self.versions[entry.version] = commit
        self.log.append(entry)
        if entry.key:
            self.keys[entry.key] = entry

    def copy(self) -> Branch:
        """
        The same branch, to go its own way.
        """
        versions, keys = dict(self.versions), dict(self.keys)
        return Branch(self.head, self.newest, versions, list(self.log), keys, self.state)


@attrs.define(eq=False)
class History:
    """
    The commits that were read, each once.
    """

    repository: Repository
    known: Known
    _commits: dict[str, Commit] = attrs.Factory(dict[str, Commit])
    _unkept: list[Commit] = attrs.Factory(list[Commit])

    def read_all(self, tips: Iterable[str]) -> None:
        """
        Read every commit that some tips are made of: the tips from git, below them what is not known.

        Raises:
            StorageError: git can't read one of them.
            DamagedError: one is not what its name says, or no ledger made it.
        """
        heads = [self._read(tip) for tip in tips]
        known = {commit.name: commit for commit in self.known.read()}
        if any(known.get(head.name, head) != head for head in heads):
            known = {}  # somebody altered it, checksums and all
        self._commits = known
        new = [head.name for head in heads if head.name not in known]
        if not new:
            return
        below = {name for commit in self._commits.values() for name in commit.parents}
        ends = [f"^{name}" for name in self._commits if name not in below]
        git = self.repository.git
        given = "\n".join([*new, *ends]).encode()
        names = git.run("rev-list", "--ignore-missing", "--stdin", given=given)
        told = git.run("cat-file", "--batch", given=names)
        at = 0
        while at < len(told):
            end = told.index(b"\n", at)
            name, kind, *sizes = told[at:end].decode().split()
            size = int(sizes[0]) if sizes else 0  # none when the object is missing
            content = told[end + 1 : end + 1 + size]
            at = end + 1 + size + 1
            if named(kind, content).hex() != name:
                raise DamagedError(self.repository.path, f"{kind} {name} is not what its name says")
            self._commits[name] = commit = _parsed(self.repository, name, content)
            self._unkept.append(commit)

    def add(self, commit: Commit) -> None:
        """
        Take up a commit that is stored now; only who holds the ledger's lock does.
        """
        if commit.name not in self._commits:
            self._commits[commit.name] = commit
            self._unkept.append(commit)
        if self._unkept:
            self.known.add(self._unkept)
            self._unkept = []

    def commit(self, name: str) -> Commit:
        """
        A commit by the name of its object.

        Raises:
            DamagedError: there is none, or no ledger made it.
        """
        if name not in self._commits:
            self._commits[name] = self._read(name)
        return self._commits[name]

    def _read(self, name: str) -> Commit:
        content = self.repository.read(bytes.fromhex(name), "commit")
        return _parsed(self.repository, name, content)

    def branch(self, tip: str, before: Branch | None) -> Branch:
        """
        The branch at a commit; what ``before`` has seen of it is not walked again.
        """
        added: list[Commit] = []
        for commit in self._back(tip):
            if before is not None and commit.name == before.head.name:
                branch = before
                break
            added.append(commit)
        else:  # a new branch, or one whose history somebody wrote anew
            branch = Branch.begun(added.pop())
        for commit in reversed(added):
            branch.append(commit)
        return branch

    def _back(self, tip: str) -> Iterator[Commit]:
        name = tip
        while True:
            commit = self.commit(name)
            yield commit
            if not commit.parents:
                return
            name = commit.parents[0]


def _parsed(repository: Repository, name: str, content: bytes) -> Commit:
    try:
        return read_commit(name, content)
    except ValueError as error:
        raise DamagedError(repository.path, str(error)) from error
