"""
Several processes add one on top of a branch's head until it is theirs: no addition may be lost.

python plugins/headway-git/scripts/contend_git.py --commits 10000 --writers 2
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from headway.contracts import Artifact, Committed
from headway_git import GitLedger


def write(path: str, writer: str, commits: int) -> None:
    """
    What one process does.
    """
    ledger = GitLedger(path)
    moved = 0
    for number in range(commits):
        while True:
            head = ledger.snapshot()
            count = head.artifact.value["count"]
            state = Artifact({"count": count + 1, "by": writer})
            key = f"{writer}-{number}-{head.version}"
            if isinstance(ledger.commit(head.version, state, key=key, message=key), Committed):
                break
            moved += 1
    ledger.close()
    print(f"writer {writer}: {commits} commits, {moved} times the head had moved")


def check(path: str, commits: int) -> None:
    """
    Every commit is there, one on top of the other.
    """
    ledger = GitLedger(path)
    log, head = ledger.log(), ledger.snapshot()
    ledger.close()
    assert head.artifact.value["count"] == commits, head
    assert [entry.version for entry in log] == list(range(1, commits + 1))
    assert [entry.parent for entry in log] == list(range(commits))
    assert len({entry.key for entry in log}) == commits


def main() -> None:
    """
    Start the writers, wait for them, and count.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--write", nargs=2, metavar=("PATH", "WRITER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    each = given.commits // given.writers
    if given.write:
        write(*given.write, each)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "ledger.git")
        GitLedger(path, initial=Artifact({"count": 0, "by": ""})).close()
        begun = time.monotonic()
        again = [sys.executable, __file__, *sys.argv[1:], "--write", path]
        writers = [subprocess.Popen([*again, str(number)]) for number in range(given.writers)]
        assert {writer.wait() for writer in writers} == {0}
        seconds = time.monotonic() - begun
        check(path, each * given.writers)
    print(f"{each * given.writers} contended commits in {seconds:.1f} s: none lost")


if __name__ == "__main__":
    main()
