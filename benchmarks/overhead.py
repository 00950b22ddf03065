"""
What Headway costs beside the rollouts: CPU per rollout above a bare loop, and starting and stopping.

    python benchmarks/overhead.py --check

The bare loop is one of the same driver, in the same process, calling the same function.
"""

from __future__ import annotations

import argparse
from functools import partial
from statistics import fmean, median
from time import perf_counter, process_time

from harness.case import scaled_ratio
from harness.fresh import call
from harness.tables import Table, add_common, end, mid

DRIVERS = ("threads", "asyncio")
SEARCH_MICROSECONDS = {"threads": 40.0, "asyncio": 30.0}
SOLVED_MICROSECONDS = 7.0
START_MILLISECONDS = 50.0
FEW_WORKERS = 4
MEAN = 0.02
"""Seconds of a mean rollout of the search."""


def search_microseconds(result):
    """
    CPU of a whole search above the mean of the bare loops before and after it, per rollout.
    """
    floor = fmean(floor["cpu"] / floor["rollouts"] for floor in result["floors"])
    return (result["cpu"] / result["rollouts"] - floor) * 1e6


def solved(driver, workers, rollouts):
    """
    CPU microseconds of a rollout that takes no time and is solved: the run's and the bare loop's.
    """
    from harness.engines.bare import LOOPS
    from harness.rules import SOLVED_DOMAINS
    from headway import run

    domain = SOLVED_DOMAINS[driver]()
    rollout = partial(domain.rollout, domain.initial(), domain.tasks().train[0])
    run(domain, driver=driver, n_workers=workers, max_rollouts=workers)  # imports are paid once
    before = process_time()
    LOOPS[driver](rollout, workers, rollouts)
    between = process_time()
    run(domain, driver=driver, n_workers=workers, max_rollouts=rollouts)
    after = process_time()
    scale = 1e6 / rollouts
    return {"run": (after - between) * scale, "bare": (between - before) * scale}


def starts(driver, workers, times):
    """
    Milliseconds of whole runs of one rollout a worker: the process's first, the median of the others.
    """
    from harness.rules import SOLVED_DOMAINS
    from headway import run

    walls = []
    for _ in range(times + 1):
        began = perf_counter()
        run(SOLVED_DOMAINS[driver](), driver=driver, n_workers=workers, max_rollouts=workers)
        walls.append((perf_counter() - began) * 1000)
    return {"first": walls[0], "later": median(walls[1:])}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--workers", type=int, default=128)
    parser.add_argument("--each", type=int, default=150, help="rollouts a worker")
    parser.add_argument("--solved", type=int, default=100_000, help="rollouts without work")
    parser.add_argument("--drivers", nargs="+", choices=DRIVERS, default=DRIVERS)
    parser.add_argument("--starts", type=int, default=20, help="runs started in one process")
    add_common(parser)
    return parser.parse_args()


class Overhead:
    """
    Measures part by part and shows each figure.
    """

    def __init__(self, asked):
        self.asked = asked
        self.table = Table(driver="7s", what="44s", value="8.1f", at_most="7.1f", unit="s")
        self.results = []

    def repeated(self, target, **fields):
        found = [call(target, **fields) for _ in range(self.asked.repeat)]
        self.results += [{"target": target, **fields, **one} for one in found]
        return found

    def row(self, driver, what, value, at_most=None, unit="microseconds"):
        missed = [f"{value:.1f} > {at_most}"] if at_most is not None and value > at_most else []
        self.table.row(
            driver=driver, what=what, value=value, at_most=at_most, unit=unit, missed=missed
        )

    def search(self, driver):
        case = {"engine": "headway", "driver": driver, "workers": self.asked.workers}
        case |= {"mean": MEAN, "each": self.asked.each, "floors": 2}
        case["async_ratio"] = scaled_ratio(self.asked.workers)
        runs = self.repeated("harness.case:measured", **case)
        floor = mid(runs, lambda run: run["floors"][0]["cpu"] / run["rollouts"] * 1e6)
        self.row(driver, "bare loop, CPU per rollout", floor)
        above = mid(runs, search_microseconds)
        self.row(driver, "search, CPU per rollout above it", above, SEARCH_MICROSECONDS[driver])

    def solved(self, driver):
        case = {"driver": driver, "workers": self.asked.workers, "rollouts": self.asked.solved}
        runs = self.repeated("overhead:solved", **case)
        self.row(driver, "bare loop without work, CPU per rollout", mid(runs, "bare"))
        above = mid(runs, lambda run: run["run"] - run["bare"])
        self.row(driver, "solved without work, CPU above it", above, SOLVED_MICROSECONDS)

    def starts(self, driver):
        for workers in (FEW_WORKERS, self.asked.workers):
            runs = self.repeated(
                "overhead:starts", driver=driver, workers=workers, times=self.asked.starts
            )
            what, unit = f"start and stop, {workers} workers", "milliseconds"
            self.row(driver, what, mid(runs, "later"), START_MILLISECONDS, unit)
            self.row(driver, f"{what}, first of a process", mid(runs, "first"), None, unit)


def main():
    asked = arguments()
    overhead = Overhead(asked)
    for driver in asked.drivers:
        overhead.search(driver)
        overhead.solved(driver)
        overhead.starts(driver)
    end(asked, overhead.table, overhead.results)


if __name__ == "__main__":
    main()
