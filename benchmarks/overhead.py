"""
What Headway costs beside the rollouts: CPU per rollout above a bare loop, and starting and stopping.

    python benchmarks/overhead.py --check

The bare loop is one of the same driver, in the same process, calling the same function.  Two rows say
where the rest goes: what the machine alone takes of a solved rollout, and what a proposal costs from its
call to its decision, by how much dearer a search is where half of the rollouts propose.
"""

from __future__ import annotations

import argparse
from collections import deque
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

SHARES = (0.1, 0.5)
"""The shares of rollouts that propose: that of the search, and one to compare it with."""


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


def machine(workers, rollouts):
    """
    CPU microseconds of the machine for a solved rollout: no driver, no domain, nobody who is told.
    """
    from headway.backpressure import Backpressure
    from headway.contracts import NO_USAGE, Artifact, Outcome, Snapshot
    from headway.gate import LagGate
    from headway.machine import Done, Machine, MachineConfig, PluginLookups, Run, Started
    from headway.registry import Registry

    create = Registry.discover().create
    lookups = PluginLookups(
        aggregator=create("aggregator", "standard"),
        policy=create("staleness policy", "guarded"),
        sampler=create("sampler", "shuffled"),
        estimator=create("duration estimator", "ewma"),
    )
    config = MachineConfig(
        seed=0,
        train=tuple(f"train-{number}" for number in range(32)),
        held_out=("held-0",),
        deterministic=False,
        n_workers=workers,
        slots=workers,
        max_rollouts=rollouts,
    )
    machine = Machine(
        config,
        gate=LagGate(n_workers=workers),
        alpha=3,
        backpressure=Backpressure(),
        lookups=lookups,
    )
    answers = {"rollout": Outcome(reward=1.0), "measure": 0.0}
    calls, now = deque(), 0.0

    def tell(event):
        lookups.answers.clear()
        for instruction in machine.handle(event):
            if type(instruction) is Run:
                calls.append(instruction.call)

    before = process_time()
    tell(Started(now, Snapshot(0, Artifact(0))))
    while calls:
        call, now = calls.popleft(), now + 1e-5
        tell(Done(now, call.id, answers[call.kind], NO_USAGE))
    taken = process_time() - before
    assert machine.statistics().completions["ok"] == rollouts
    return {"machine": taken / rollouts * 1e6}


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
        few, many = [self.repeated("harness.case:measured", **case, share=s) for s in SHARES]
        floor = mid(few, lambda run: run["floors"][0]["cpu"] / run["rollouts"] * 1e6)
        self.row(driver, "bare loop, CPU per rollout", floor)
        above = mid(few, search_microseconds)
        self.row(driver, "search, CPU per rollout above it", above, SEARCH_MICROSECONDS[driver])
        dearer = (mid(many, search_microseconds) - above) / (SHARES[1] - SHARES[0])
        self.row(driver, "a proposal more, CPU", dearer)

    def machine(self):
        case = {"workers": self.asked.workers, "rollouts": self.asked.solved}
        alone = mid(self.repeated("overhead:machine", **case), "machine")
        self.row("none", "machine alone, CPU per solved rollout", alone)

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
    overhead.machine()
    for driver in asked.drivers:
        overhead.search(driver)
        overhead.solved(driver)
        overhead.starts(driver)
    end(asked, overhead.table, overhead.results)


if __name__ == "__main__":
    main()
