"""
Faulty ledgers: the kit must find each.

Each is derived from a healthy twin, but for the one that writes to disk at its end.
"""

from __future__ import annotations

import pickle
import threading
from pathlib import Path

from headway.builtins._memory_ledger import MemoryLedger
from headway.contracts import Artifact, Committed, HeadMoved, Snapshot
from headway.errors import LedgerError


class LooksThenLeaps(MemoryLedger):
    """
    Compares in one breath and sets in the next: nobody holds the lock in between.
    """

    def commit(self, expected, artifact, *, key, message, branch="dev"):
        head = self.snapshot(branch)
        if head.version != expected:
            return super().commit(expected, artifact, key=key, message=message, branch=branch)
        threading.Event().wait(0.001)  # where a thread switch does harm
        with self._lock:
            there = self._open(branch)
            there.head = Snapshot(expected + 1, artifact)
            there.versions[expected + 1] = artifact.digest
            self._states.put(artifact, 1)
        return Committed(expected + 1)


class IgnoresExpected(MemoryLedger):
    """
    Commits on whatever the head is.
    """

    def commit(self, expected, artifact, *, key, message, branch="dev"):
        head = self.snapshot(branch).version
        return super().commit(head, artifact, key=key, message=message, branch=branch)


class LosesKeys(MemoryLedger):
    """
    Keeps no idempotency key.
    """

    def commit(self, expected, artifact, *, key, message, branch="dev"):
        answer = super().commit(expected, artifact, key=key, message=message, branch=branch)
        with self._lock:
            self._open(branch).keys.clear()
        return answer


class ForgivesKeys(MemoryLedger):
    """
    Answers a known key as before, whatever state comes with it.
    """

    def commit(self, expected, artifact, *, key, message, branch="dev"):
        try:
            return super().commit(expected, artifact, key=key, message=message, branch=branch)
        except LedgerError:
            return Committed(self.snapshot(branch).version)


class SharesItsState(MemoryLedger):
    """
    Keeps one mapping and changes it with every commit.
    """

    def commit(self, expected, artifact, *, key, message, branch="dev"):
        if isinstance(artifact.value, dict):
            self.state = getattr(self, "state", {})
            self.state.clear()
            self.state.update(artifact.value)
            artifact = Artifact(self.state)
        return super().commit(expected, artifact, key=key, message=message, branch=branch)


class LendsItsLog(MemoryLedger):
    """
    Gives the list that it goes on writing to.
    """

    def __init__(self, initial=None):
        super().__init__(initial)
        self.entries = []

    def log(self, branch="dev"):
        self.entries[:] = super().log(branch)
        return self.entries


class PromotesToDev(MemoryLedger):
    """
    Moves the branch that a version comes from as well.
    """

    def promote(self, version, *, source="dev", target="stable"):
        promoted = super().promote(version, source=source, target=target)
        with self._lock:
            self._open(source).head = promoted
        return promoted


class ReusesNumbers(MemoryLedger):
    """
    Counts on from the head, also behind one that was promoted back.
    """

    def commit(self, expected, artifact, *, key, message, branch="dev"):
        with self._lock:
            there = self._open(branch)
            there.newest = there.head.version
        return super().commit(expected, artifact, key=key, message=message, branch=branch)


class ComparesValues(MemoryLedger):
    """
    Takes a state that Python calls equal to the last one for the last one.
    """

    def commit(self, expected, artifact, *, key, message, branch="dev"):
        head = self.snapshot(branch).artifact
        if head.value == artifact.value:
            artifact = head
        return super().commit(expected, artifact, key=key, message=message, branch=branch)


class StripsTexts(MemoryLedger):
    """
    Tidies keys and messages up.
    """

    def commit(self, expected, artifact, *, key, message, branch="dev"):
        key, message = key.strip(), message.replace("\x00", "")
        return super().commit(expected, artifact, key=key, message=message, branch=branch)


class TakesAnyName(MemoryLedger):
    """
    Checks no branch's name.
    """

    def fork(self, branch, *, source="dev"):
        with self._lock:
            self._branches[branch] = self._open(source).copy()
            return self._open(source).head


class NeverClosed(MemoryLedger):
    """
    Goes on after it was closed.
    """

    def close(self):
        pass


class AnswersBare(MemoryLedger):
    """
    Answers a lost race with the version alone.
    """

    def commit(self, expected, artifact, *, key, message, branch="dev"):
        answer = super().commit(expected, artifact, key=key, message=message, branch=branch)
        if isinstance(answer, HeadMoved):
            return HeadMoved(Snapshot(answer.head.version, Artifact(None)))
        return answer


class FileAtTheEnd(MemoryLedger):
    """
    Reads its file when it is opened, writes it when it is closed, and says that it is durable.
    """

    durability = "process"

    def __init__(self, path, initial=None):
        super().__init__(initial)
        self.path = Path(path)
        if self.path.exists():
            self._branches, self._states = pickle.loads(self.path.read_bytes())
        else:
            self.write()

    def write(self):
        self.path.write_bytes(pickle.dumps((self._branches, self._states)))

    def close(self):
        if not self._closed:
            self.write()
        super().close()
