"""
Whether the gate of groups decides what trying everything says, and keeps its bound in random runs.

    python benchmarks/staleness_oracle.py --check

The oracle and the runs are those of the tests, ``tests/reservations_oracle.py``.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random

from harness.tables import Table, end

sys.path.append(str(Path(__file__).parent.parent / "tests"))

from reservations_oracle import (
    World,
    breaks_bound,
    due_now,
    early_differs,
    random_case,
    random_gate,
    selections,
    state_differs,
)

EVENTS = 150


def states(count, seed, differs):
    """
    In how many random states the gate is wrong, in how many a step is legal, and in how many none is
    although enough groups are ready.
    """
    rng = Random(seed)
    cases = [random_case(rng) for _ in range(count)]
    legal = [bool(selections(case)) for case in cases]
    enough = [len(case.ready) >= case.size for case in cases]
    return sum(map(differs, cases)), sum(legal), sum(enough) - sum(legal)


def runs(count, seed):
    """
    How many random runs train a group too late.
    """
    wrong = 0
    for number in range(seed, seed + count):
        gate = random_gate(Random(number))
        world = World(gate, number, crashing=0.05).play(EVENTS).finish()
        wrong += any(age > gate.max_staleness for age in world.ages)
    return wrong, None, None


def due(count, seed, batches):
    """
    The same for the rule that waits only for what is due now.
    """
    numbers = range(seed, seed + count)
    return sum(breaks_bound(number, due_now, batches) for number in numbers), None, None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--states", type=int, default=40_000, help="random states")
    parser.add_argument("--runs", type=int, default=3000, help="random runs of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a figure is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every single result")
    return parser.parse_args()


def main():
    asked, results = arguments(), []
    seed = asked.seed
    rows = {
        "states: a whole batch": (asked.states, lambda n: states(n, seed, state_differs), False),
        "states: one by one": (asked.states, lambda n: states(n, seed + 1, early_differs), False),
        "runs: look-ahead": (asked.runs, lambda n: runs(n, seed), False),
        "runs: due now, S = A = 1": (asked.runs, lambda n: due(n, seed, 1), False),
        "runs: due now, S = A = 2": (asked.runs, lambda n: due(n, seed, 2), True),
        "runs: due now, S = A = 3": (asked.runs, lambda n: due(n, seed, 3), True),
    }
    table = Table(what="24s", tried="6d", wrong="5d", legal="6d", blocked="7d", seconds="7.1f")
    for what, (count, found, fails) in rows.items():
        began = time.perf_counter()
        wrong, legal, blocked = found(count)
        took = time.perf_counter() - began
        missed = ["none is wrong" if fails else "wrong"] if bool(wrong) != fails else []
        row = {"what": what, "tried": count, "wrong": wrong, "legal": legal, "blocked": blocked}
        results.append(row)
        table.row(**row, seconds=took, missed=missed)
    end(asked, table, results)


if __name__ == "__main__":
    main()
