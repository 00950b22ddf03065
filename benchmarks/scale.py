"""
Very many workers: efficiency, memory, and whether a limit on time is kept.

    python benchmarks/scale.py --check

Each row is a fresh process, so that the largest resident memory is that of the one run.
"""

from __future__ import annotations

import argparse

from harness.case import scaled_ratio
from harness.fresh import call
from harness.tables import Table, add_common, end, mid

WORKERS = {"asyncio": 4000, "threads": 1000}
EFFICIENCY = {"asyncio": 0.95, "threads": 0.87}
MEMORY = {"asyncio": 80.0}
MOST_LATE = 0.5
"""Seconds after ``max_seconds`` by which a run has returned: no commit is on its way there."""


def misses(driver, ended_early, efficiency, memory, late):
    if ended_early:
        if late > MOST_LATE:
            yield f"{late:.2f} s late"
        return
    if efficiency < EFFICIENCY[driver]:
        yield f"{efficiency:.3f} < {EFFICIENCY[driver]}"
    if memory > MEMORY.get(driver, memory):
        yield f"{memory:.0f} MB > {MEMORY[driver]:.0f}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--drivers", nargs="+", choices=WORKERS, default=[*WORKERS])
    parser.add_argument("--workers", type=int, help="instead of 4000 for asyncio, 1000 for threads")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a rollout")
    parser.add_argument("--each", type=int, default=3, help="rollouts a worker")
    add_common(parser)
    return parser.parse_args()


def main():
    asked = arguments()
    table = Table(
        engine="8s",
        driver="7s",
        workers="d",
        limit_s="5.2f",
        wall="6.2f",
        efficiency="6.3f",
        import_MB="6.1f",
        peak_MB="6.1f",
        late_s="6.3f",
        reward="6.3f",
        stop="s",
    )
    results = []
    middle = asked.seconds * asked.each / 2
    for driver in asked.drivers:
        workers = asked.workers or WORKERS[driver]
        for engine, limit in (("bare", None), ("headway", None), ("headway", middle)):
            case = {
                "engine": engine,
                "driver": driver,
                "workers": workers,
                "mean": asked.seconds,
                "law": "constant",
                "each": asked.each,
                "async_ratio": scaled_ratio(workers),
                "floors": 0,
                "options": {} if limit is None else {"max_seconds": limit},
            }
            runs = [call("harness.case:measured", **case) for _ in range(asked.repeat)]
            results += runs
            show(table, runs, limit)
    end(asked, table, results)


def show(table, runs, limit):
    first = runs[0]
    wall, efficiency, memory = (mid(runs, name) for name in ("wall", "efficiency", "memory"))
    late = None if limit is None else wall - limit
    missed = ()
    if first["engine"] == "headway":
        missed = list(misses(first["driver"], limit is not None, efficiency, memory, late))
    table.row(
        engine=first["engine"],
        driver=first["driver"],
        workers=first["workers"],
        limit_s=limit,
        wall=wall,
        efficiency=None if limit else efficiency,
        import_MB=mid(runs, "memory_import"),
        peak_MB=memory,
        late_s=late,
        reward=first.get("final_reward"),
        stop=first.get("stop", "-"),
        missed=missed,
    )


if __name__ == "__main__":
    main()
