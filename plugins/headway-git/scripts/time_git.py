"""
How long commits take, beside what one flush takes on the same disk in the same minute.

python plugins/headway-git/scripts/time_git.py [FOLDER]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from headway.contracts import Artifact
from headway_git import GitLedger

SIZES = (1, 50, 1_000)


def timed(function: Callable[[], object]) -> float:
    """
    The seconds that a call takes.
    """
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def measure(folder: Path, files: int, commits: int) -> None:
    """
    Print one line of the table.
    """
    path = folder / f"{files}.git"
    texts = {f"skills/s{n:04d}.md": f"skill {n}\n" * 5 for n in range(files)}
    ledger = GitLedger(path, initial=Artifact(texts))
    floor = os.open(folder / "floor", os.O_WRONLY | os.O_CREAT)
    flushes: list[float] = []
    times: list[float] = []
    for version in range(commits):
        texts = texts | {f"skills/s{version % files:04d}.md": f"version {version}\n"}
        state, key = Artifact(texts), f"k{version}"
        assert state.digest
        times.append(timed(lambda: ledger.commit(version, state, key=key, message=key)))  # noqa: B023 - called at once
        os.write(floor, b"x" * 500)
        flushes.append(timed(lambda: os.fsync(floor)))
    os.close(floor)
    reads = timed(lambda: ledger.snapshot("dev", commits // 2))
    ledger.close()
    opened = timed(lambda: GitLedger(path).close())
    flush, commit = 1e3 * median(flushes), 1e3 * median(times)
    print(
        f"{files:5} files: commit {commit:.2f} ms = {commit / flush:.1f} x the flush of {flush:.3f} ms; "
        f"an old version read in {1e3 * reads:.1f} ms, {commits} versions opened in {opened:.2f} s"
    )


def main() -> None:
    """
    Measure a commit of one changed file among 1, 50 and 1,000.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="where; the system's temporary folder if absent")
    parser.add_argument("--commits", type=int, default=300)
    given = parser.parse_args()
    for files in SIZES:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            measure(Path(folder), files, given.commits)


if __name__ == "__main__":
    main()
