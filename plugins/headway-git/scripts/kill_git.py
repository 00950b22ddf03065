"""
A process that commits is killed again and again, with git's own processes: what it acknowledged must be there.

python plugins/headway-git/scripts/kill_git.py --cycles 500
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from headway.contracts import Artifact, Committed
from headway_git import GitLedger


def commit_for_ever(path: str) -> None:
    """
    What is killed: says each version once it was acknowledged.
    """
    ledger = GitLedger(path)
    head = ledger.snapshot()
    texts = dict(head.artifact.value)
    version = head.version
    while True:
        texts = texts | {f"skills/s{version % 7}.md": f"version {version}\n"}
        state = Artifact(texts)
        answer = ledger.commit(version, state, key=f"k{version}", message=f"m{version}")
        assert isinstance(answer, Committed), answer
        version = answer.version
        print(version, state.digest, flush=True)


def children(pid: int) -> list[int]:
    """
    The processes that a process has started.
    """
    with contextlib.suppress(OSError):
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def kill(process: subprocess.Popen[str], chance: random.Random) -> None:
    """
    Kill a process and, mostly, those that it started, in any order.
    """
    pids = [process.pid, *children(process.pid)]
    chance.shuffle(pids)
    for pid in chance.choice([pids, pids, pids, [process.pid]]):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def cycle(path: str, chance: random.Random) -> tuple[int, bool]:
    """
    How many were acknowledged in one life, and whether one more was committed.
    """
    child = [sys.executable, __file__, "--commit", path]
    with subprocess.Popen(child, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.uniform(0, 0.05))
        kill(process, chance)
        told = (first + process.stdout.read()).splitlines(keepends=True)
    said = [line.split() for line in told if line.endswith("\n")]  # the last may be cut off
    assert said, "it committed nothing"
    ledger = GitLedger(path)
    there = {entry.version: entry.digest for entry in ledger.log()}
    lost = [version for version, digest in said if there.get(int(version)) != digest]
    assert not lost, f"lost: {lost}"
    head = ledger.snapshot()
    assert head.version >= int(said[-1][0])
    answer = ledger.commit(head.version, head.artifact, key=f"k{head.version}", message="goes on")
    assert answer == Committed(head.version + 1), answer
    ledger.close()
    return len(said), head.version > int(said[-1][0])


def main() -> None:
    """
    Kill, open, look, and once more.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commit", metavar="PATH", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.commit:
        commit_for_ever(given.commit)
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "ledger.git")
        GitLedger(path, initial=Artifact({"README.md": "skills\n"})).close()
        lives = [cycle(path, chance) for _ in range(given.cycles)]
        subprocess.run(["git", f"--git-dir={path}", "fsck", "--no-dangling"], check=True)
        locks = [*Path(path).rglob("*.lock")]
        left = [p for p in locks if p.name not in {"headway.lock", "headway-pack.lock"}]
        left += [*Path(path).rglob("tmp_obj_*")]
        assert not left, left
    told, more = sum(told for told, _ in lives), sum(more for _, more in lives)
    print(f"{given.cycles} kills, {told} acknowledged commits, none lost; {more} more were made")


if __name__ == "__main__":
    main()
