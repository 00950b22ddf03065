"""
What the gate of groups takes, alone: a bare loop admits, ends and trains groups of one member.

    python benchmarks/reservations.py --check
"""

from __future__ import annotations

import argparse
import time
from random import Random

from harness.fresh import call
from harness.tables import Table, add_common, end, mid

MOST_MICROSECONDS = 10.0
"""For a group of the first four rows: a million of them in 10 seconds."""

SMALL = 1000
"""Groups a step up to which that holds."""

CASES = [
    {"size": 8, "staleness": 2, "ahead": 1, "early": False},
    {"size": 8, "staleness": 2, "ahead": 2, "early": False},
    {"size": 64, "staleness": 4, "ahead": 4, "early": False},
    {"size": 8, "staleness": 2, "ahead": 1, "early": True},
    {"size": 1000, "staleness": 4, "ahead": 2, "early": False},
    {"size": 10_000, "staleness": 4, "ahead": 2, "early": False},
]


class Running:
    """
    Groups that end in a random order.
    """

    def __init__(self, seed):
        self.groups, self._random = [], Random(seed).random

    def end(self):
        groups = self.groups
        at = int(self._random() * len(groups))
        groups[at], groups[-1] = groups[-1], groups[at]
        return groups.pop()


def looped(groups, size, staleness, ahead, early, seed):
    """
    Seconds for so many groups.
    """
    from headway import GateView, Reservations

    gate = Reservations(
        groups_per_step=size, max_staleness=staleness, admit_ahead=ahead, early=early
    )
    running = Running(seed)
    began = time.process_time()
    for version in range(groups // size):
        view = GateView(head=version)
        while gate.admit(view):
            running.groups.append(gate.reserve(version))
        while not gate.take(view):
            gate.complete(running.end())
        batch = gate.batch()
        while not gate.full:
            more = gate.gather(view)
            if more is None:
                gate.complete(running.end())
            else:
                batch += more
        gate.trained(batch)
    return {"seconds": time.process_time() - began}


def misses(size, us):
    if size <= SMALL and us > MOST_MICROSECONDS:
        yield f"{us:.1f} us"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--groups", type=int, default=1_000_000, help="groups of a run")
    add_common(parser, repeat=1)
    return parser.parse_args()


def main():
    asked, results = arguments(), []
    table = Table(size="5d", staleness="9d", ahead="5d", early="5s", seconds="7.2f", us="5.2f")
    for case in CASES:
        runs = [
            call("reservations:looped", groups=asked.groups, **case, seed=seed)
            for seed in range(asked.repeat)
        ]
        results += [{**case, **run} for run in runs]
        us = mid(runs, "seconds") / asked.groups * 1e6
        shown = case | {"early": "yes" if case["early"] else "no"}
        table.row(
            **shown, seconds=mid(runs, "seconds"), us=us, missed=list(misses(case["size"], us))
        )
    end(asked, table, results)


if __name__ == "__main__":
    main()
