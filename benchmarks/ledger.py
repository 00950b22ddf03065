"""
What a commit to a ledger on disk takes, as a multiple of what the disk needs to flush one small file.

    python benchmarks/ledger.py --check

Each commit changes one file of 1,000 characters; the content digest was computed before.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import tempfile
from contextlib import closing
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter

from harness.fresh import call
from harness.tables import Table, add_common, end, mid

LIMITS = {"sqlite": (3.0, 0.5), "git": (20.0, 5.0)}
"""By ledger: how many floors a commit may take, and how many ms where the floor is not known."""

LEAST_FLOOR = 0.05
"""Milliseconds; a disk that flushes faster than this does not really."""

OPENING = 200.0
"""Milliseconds that a ledger may take to open and say its head."""


def opened(ledger, folder, initial=None):
    """
    A ledger by name, in a folder.
    """
    from headway.registry import Registry

    return Registry.discover().create(
        "ledger", ledger, path=Path(folder) / "ledger", initial=initial
    )


def content(number):
    return f"{number:09d} " * 100


def floor(folder):
    """
    Milliseconds in which a small new file is written and flushed.
    """
    path = Path(folder) / "floor"
    began = perf_counter()
    with path.open("wb") as file:
        file.write(content(0).encode())
        file.flush()
        os.fsync(file.fileno())
    taken = (perf_counter() - began) * 1000
    path.unlink()
    return taken


def commits(ledger, folder, files, times):
    """
    Milliseconds of a median commit and of the floor between commits, and the states read meanwhile.
    """
    from headway.contracts import Artifact, Committed

    with tempfile.TemporaryDirectory(dir=folder) as place:
        state = {f"{number:04d}.md": content(number) for number in range(files)}
        taken, floors = [], []
        with closing(opened(ledger, place, Artifact(state))) as there:
            reads = getattr(there, "reads", 0)
            for version in range(times):
                state = {**state, f"{version * 7 % files:04d}.md": content(version)}
                artifact = Artifact(state)
                artifact.digest  # noqa: B018 - computed before the clock starts
                floors.append(floor(place))
                began = perf_counter()
                answer = there.commit(version, artifact, key=f"k{version}", message="one file")
                taken.append((perf_counter() - began) * 1000)
                assert answer == Committed(version + 1), answer
            reads = getattr(there, "reads", 0) - reads
    longest = sorted(taken)[-max(1, times // 100)]
    return {"ms": median(taken), "longest": longest, "floor": median(floors), "reads": reads}


def opening(ledger, folder, versions, times):
    """
    Milliseconds in which a ledger with so many versions is opened and says its head.
    """
    from headway.contracts import Artifact

    with tempfile.TemporaryDirectory(dir=folder) as place:
        state = {f"{number:04d}.md": content(number) for number in range(50)}
        with closing(opened(ledger, place, Artifact(state))) as there:
            for version in range(versions):
                state = {**state, f"{version % 50:04d}.md": content(version)}
                there.commit(version, Artifact(state), key=f"k{version}", message="one file")
        taken = []
        for _ in range(times):
            began = perf_counter()
            with closing(opened(ledger, place)) as there:
                assert there.snapshot().version == versions
                taken.append((perf_counter() - began) * 1000)
        size = sum(file.stat().st_size for file in Path(place).rglob("*") if file.is_file())
    return {"ms": median(taken), "megabytes": size / 1e6}


def add(ledger, place, writer, adds):
    """
    Add one to the head until that is committed, so many times.
    """
    from headway.contracts import Artifact, Committed

    with closing(opened(ledger, place)) as there:
        for number in range(adds):
            for attempt in count():
                head = there.snapshot()
                state = Artifact({**head.artifact.value, "sum": head.artifact.value["sum"] + 1})
                key = f"{writer}-{number}-{attempt}"
                answer = there.commit(head.version, state, key=key, message=writer)
                if isinstance(answer, Committed):
                    break


def contended(ledger, folder, adds):
    """
    How many commits of two processes, which add to one number, were lost, and ms a commit.
    """
    from headway.contracts import Artifact

    with tempfile.TemporaryDirectory(dir=folder) as place:
        opened(ledger, place, Artifact({"sum": 0})).close()
        spawn = multiprocessing.get_context("spawn")
        writers = [
            spawn.Process(target=add, args=(ledger, place, writer, adds // 2)) for writer in "ab"
        ]
        began = perf_counter()
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        taken = (perf_counter() - began) * 1000 / (adds // 2 * 2)
        with closing(opened(ledger, place)) as there:
            made = there.snapshot().artifact.value["sum"], len(there.log())
    return {"ms": taken, "lost": adds // 2 * 2 - min(made)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ledger", default="sqlite", help="the name of a ledger that takes a path")
    parser.add_argument("--files", nargs="+", type=int, default=[1, 50, 1000])
    parser.add_argument("--commits", type=int, default=300, help="timed commits of a measurement")
    parser.add_argument("--versions", type=int, default=10_000, help="of the file that is opened")
    parser.add_argument("--contended", type=int, default=1000, help="commits of two processes")
    parser.add_argument("--folder", type=Path, help="on the disk to measure; else a temporary one")
    add_common(parser)
    return parser.parse_args()


class Measuring:
    """
    Measures part by part and shows each figure.
    """

    def __init__(self, asked):
        self.asked = asked
        self.folder = None if asked.folder is None else str(asked.folder.absolute())
        self.table = Table(
            what="38s",
            ms="8.3f",
            floor="8.3f",
            ratio="6.2f",
            at_most="8.3f",
            longest="8.2f",
            reads="5d",
        )
        self.results = []

    def repeated(self, function, repeat, **fields):
        fields |= {"ledger": self.asked.ledger, "folder": self.folder}
        found = [call(f"ledger:{function}", **fields) for _ in range(repeat)]
        self.results += [{"what": function, **fields, **one} for one in found]
        return found

    def row(self, what, ms, at_most, missed=False, **more):
        told = [f"{ms:.3f} ms > {at_most:.3f}"] if at_most is not None and ms > at_most else []
        told += [what] if missed else []
        blank = dict.fromkeys(("floor", "ratio", "longest", "reads"))
        self.table.row(what=what, ms=ms, at_most=at_most, missed=told, **(blank | more))

    def commits(self, files):
        found = self.repeated("commits", self.asked.repeat, files=files, times=self.asked.commits)
        ms, floors = mid(found, "ms"), mid(found, "floor")
        ratio, alone = LIMITS.get(self.asked.ledger, (None, None))
        at_most = alone if floors < LEAST_FLOOR or ratio is None else ratio * floors
        self.row(
            f"commit, one of {files:,} files",
            ms,
            at_most,
            floor=floors,
            ratio=mid(found, lambda one: one["ms"] / one["floor"]),
            longest=mid(found, "longest"),
            reads=max(one["reads"] for one in found),
            missed=any(one["reads"] for one in found),
        )

    def opening(self):
        versions = self.asked.versions
        # One file, for it takes long to make; it is opened a few times.
        found = self.repeated("opening", 1, versions=versions, times=5)
        size = mid(found, "megabytes")
        self.row(f"open {versions:,} versions ({size:.1f} MB)", mid(found, "ms"), OPENING)

    def contended(self):
        found = self.repeated("contended", self.asked.repeat, adds=self.asked.contended)
        lost = sum(one["lost"] for one in found)
        what = f"{self.asked.contended:,} commits of two, {lost} lost"
        self.row(what, mid(found, "ms"), None, missed=lost > 0)


def main():
    asked = arguments()
    measuring = Measuring(asked)
    for files in asked.files:
        measuring.commits(files)
    measuring.opening()
    measuring.contended()
    end(asked, measuring.table, measuring.results)


if __name__ == "__main__":
    main()
