"""
Files of the sqlite ledger, and processes that commit to them until they are killed.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from typing import ClassVar

from headway.builtins.sqlite import SqliteLedger
from headway.contracts import Artifact
from headway.testing.conformance._ledger_calls import commit

COMMITTERS = """
import os, sys
from headway.builtins.sqlite import SqliteLedger
from headway.contracts import Artifact

def commit(path):
    print(os.getpid(), flush=True)
    ledger = SqliteLedger(path, initial=Artifact({}))
    head = ledger.snapshot()
    while True:
        state = {**head.artifact.value, f"{head.version % 40}.md": str(head.version)}
        ledger.commit(head.version, Artifact(state), key=f"k{head.version}", message="")
        head = ledger.snapshot()
        print(head.version, flush=True)

for path in sys.stdin:
    if (child := os.fork()) == 0:
        commit(path.rstrip())
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


def made(path, versions, **options):
    """
    A file with so many versions of a mapping of 40 names after version 0.
    """
    with closing(SqliteLedger(path, initial=Artifact(state(0)), **options)) as ledger:
        for version in range(versions):
            commit(ledger, version, state(version + 1), f"k{version}")
    return path


def state(version):
    return {
        f"{n}.md": f"{n} at {n if n > version else version - (version - n) % 40}" for n in range(40)
    }


def started(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


class Committers:
    """
    Processes that commit until they are killed, one after the other; each says what was acknowledged.
    """

    def __init__(self):
        command = [sys.executable, "-c", COMMITTERS]
        pipe = subprocess.PIPE
        self._nursery = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def killed_after(self, path, commits):
        """
        The last version that a process acknowledged, which was killed after so many.
        """
        print(path, file=self._nursery.stdin, flush=True)
        told = self._nursery.stdout
        child = int(told.readline())
        versions = [int(told.readline()) for _ in range(commits)]
        os.kill(child, signal.SIGKILL)
        versions += map(int, iter(told.readline, "ended\n"))
        return versions[-1]

    def close(self):
        self._nursery.communicate()


@contextmanager
def raw(path):
    """
    The file as SQLite alone has it.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


class Watched(sqlite3.Connection):
    """
    A connection that knows which test opened it, and whether it was closed.

    Attributes:
        left: The tests whose connections were collected open; of this process alone.
    """

    left: ClassVar[list[str]] = []
    closed = True

    def __init__(self, *arguments, **options):
        self._process, self._test = os.getpid(), os.environ.get("PYTEST_CURRENT_TEST", "")
        super().__init__(*arguments, **options)
        self.closed = False

    def close(self):
        super().close()
        self.closed = True

    def __del__(self):
        if not self.closed and self._process == os.getpid():
            self.left.append(self._test)


def watched(monkeypatch):
    """
    A list of the connections that are opened from now on.
    """
    made, connect = [], sqlite3.connect

    def connected(*arguments, **options):
        made.append(connect(*arguments, **{**options, "factory": Watched}))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", connected)
    return made
