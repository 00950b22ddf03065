"""
What another process does to a ledger while the contract of ledgers looks on: ``python -m`` runs it.

It is told on its standard input what to do, opens the ledger, says ``open``, and waits for a line.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import IO, Any, TypeAlias, cast

import attrs

from headway.contracts import Artifact, Committed, Ledger

Opener: TypeAlias = tuple[Any, ...]
"""What opens a ledger in another process: a class or function that can be imported, then its arguments."""


def add(ledger: Ledger, writer: str, count: int) -> None:
    """
    Add one on top of the head until it is one's own, so often.
    """
    for number in range(count):
        while True:
            head = ledger.snapshot()
            state = {**head.artifact.value, "sum": head.artifact.value["sum"] + 1, writer: number}
            key = f"{writer}-{number}-{head.version}"
            answer = ledger.commit(head.version, Artifact(state), key=key, message=writer)
            if isinstance(answer, Committed):
                break


def go_on(ledger: Ledger, writer: str, count: int) -> None:
    """
    Commit until somebody ends the process; say each version once it was acknowledged.
    """
    del count
    version = ledger.snapshot().version
    while True:
        answer = ledger.commit(version, state_of(version), key=f"k{version}", message=writer)
        assert isinstance(answer, Committed), answer
        version = answer.version
        sys.stdout.write(f"{version}\n")
        sys.stdout.flush()


def state_of(version: int) -> Artifact:
    """
    What ``go_on`` commits on a version.
    """
    return Artifact({f"{n}.md": f"{n} at {version - n}" for n in range(20)})


JOBS: dict[str, Callable[[Ledger, str, int], None]] = {"add": add, "go on": go_on}


@attrs.define(eq=False)
class Writer:
    """
    A process that has a ledger open and waits to be let go.

    Args:
        opener: How it opens the ledger.
        job: One of ``JOBS``.
        name: What it signs with.
        count: How often.
    """

    opener: Opener
    job: str
    name: str = "a"
    count: int = 0
    process: subprocess.Popen[str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        pipe = subprocess.PIPE
        spelled = base64.b64encode(pickle.dumps(self.opener)).decode()
        path = os.pathsep.join(filter(None, sys.path))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headway.testing._ledger_writers"],
            stdin=pipe,
            stdout=pipe,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        told = {"opener": spelled, "job": self.job, "name": self.name, "count": self.count}
        self._write(json.dumps(told))

    def _write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def read(self) -> str:
        """
        The next line that it says; empty when it has ended.
        """
        return cast("IO[str]", self.process.stdout).readline().strip()

    def let_go(self) -> None:
        """
        Let it begin, once it is open.
        """
        self.read()
        self._write("go")

    def ended(self) -> int:
        """
        Wait for its end; its exit code.
        """
        self.process.communicate()
        return self.process.returncode

    def killed(self) -> list[str]:
        """
        Kill it at once; what it had still said.
        """
        self.process.kill()
        rest = self.process.communicate()[0]
        whole = rest[: rest.rfind("\n") + 1]  # the last line may have been cut off
        return whole.split()


def main() -> None:
    """
    Do what the standard input says.
    """
    told = json.loads(sys.stdin.readline())
    opener, *arguments = pickle.loads(base64.b64decode(told["opener"]))  # noqa: S301 - the parent's own
    ledger = opener(*arguments)
    sys.stdout.write("open\n")
    sys.stdout.flush()
    sys.stdin.readline()
    JOBS[told["job"]](ledger, told["name"], told["count"])
    ledger.close()


if __name__ == "__main__":
    main()
