"""
Many commits and snapshots by one process: files, processes and memory must not grow.

python plugins/headway-git/scripts/endure_git.py --commits 5000
"""

from __future__ import annotations

import argparse
import gc
import re
import tempfile
import threading
from pathlib import Path

from headway.contracts import Artifact, Committed
from headway_git import GitLedger

A_VERSION = 2_048  # bytes of memory that the log and the keys of a version may take


def used() -> tuple[int, int, int]:
    """
    Open files, child processes, and bytes of memory of this process.
    """
    for thread in threading.enumerate():
        if thread.name == "headway-git-pack":
            thread.join()
    gc.collect()
    tasks = Path("/proc/self/task").iterdir()
    children = {pid for task in tasks for pid in (task / "children").read_text().split()}
    status = Path("/proc/self/status").read_text()
    kilobytes = re.search(r"VmRSS:\s+(\d+)", status)
    assert kilobytes is not None
    return len([*Path("/proc/self/fd").iterdir()]), len(children), 1024 * int(kilobytes[1])


def commit(ledger: GitLedger, versions: range, texts: dict[str, str]) -> dict[str, str]:
    """
    Commit some versions, and read one of them and an earlier one after each.
    """
    for version in versions:
        texts = texts | {f"skills/s{version % 50}.md": f"version {version}\n"}
        state = Artifact(texts)
        answer = ledger.commit(version, state, key=f"key-{version}", message=f"m{version}")
        assert answer == Committed(version + 1)
        assert ledger.snapshot().artifact is state
        ledger.snapshot("dev", version // 2)
    return texts


def main() -> None:
    """
    Compare what is used after a first part with what is used at the end.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=5000)
    commits = parser.parse_args().commits
    with tempfile.TemporaryDirectory() as folder:
        texts = {f"skills/s{n}.md": "" for n in range(50)}
        ledger = GitLedger(Path(folder) / "ledger.git", initial=Artifact(texts))
        early = commits // 5
        texts = commit(ledger, range(early), texts)
        before = used()
        commit(ledger, range(early, commits), texts)
        after = used()
        ledger.close()
    print("files, processes, bytes: ", before, "after", early, "versions,", after, "after", commits)
    assert after[0] <= before[0] + 2, "open files grow"  # the pipes of the process that reads packs
    assert after[1] <= before[1] + 1, "processes grow"
    assert after[2] <= before[2] + A_VERSION * (commits - early) + 2**22, "memory grows"


if __name__ == "__main__":
    main()
