"""
What a run directory costs: a journalled search beside the same one without, and a journal's rows.

    python benchmarks/journal.py --check

Pairs of searches run one right after the other, each in a fresh process.
"""

from __future__ import annotations

import argparse

from harness.case import scaled_ratio
from harness.fresh import call
from harness.tables import Table, add_common, end, mid

MOST_SLOWER = 1.10
"""Times as long as a search without a journal."""

MEAN = 0.02
"""Seconds of a mean rollout."""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--workers", type=int, default=128)
    parser.add_argument("--each", type=int, default=150, help="rollouts a worker")
    parser.add_argument("--drivers", nargs="+", default=["threads", "asyncio"])
    add_common(parser)
    return parser.parse_args()


def main():
    asked = arguments()
    table = Table(driver="7s", engine="10s", wall="6.2f", efficiency="6.3f", CPU_us="6.0f")
    results = []
    for driver in asked.drivers:
        case = {"driver": driver, "workers": asked.workers, "mean": MEAN, "each": asked.each}
        case |= {"async_ratio": scaled_ratio(asked.workers), "floors": 0}
        pairs = []
        for seed in range(asked.repeat):
            engines = ("headway", "journalled")
            pair = [call("harness.case:measured", **case, seed=seed, engine=e) for e in engines]
            pairs.append(pair)
        for place, engine in enumerate(("headway", "journalled")):
            runs = [pair[place] for pair in pairs]
            results += runs
            slower = mid(pairs, lambda pair: pair[1]["wall"] / pair[0]["wall"]) if place else 1.0
            missed = [f"{slower:.3f} x > {MOST_SLOWER} x"] if slower > MOST_SLOWER else []
            table.row(
                driver=driver,
                engine=engine,
                wall=mid(runs, "wall"),
                efficiency=mid(runs, "efficiency"),
                CPU_us=mid(runs, lambda run: run["cpu"] / run["rollouts"] * 1e6),
                missed=missed,
            )
            if place:
                print(f"{driver}: {slower:.3f} x as long with a journal")
    end(asked, table, results)


if __name__ == "__main__":
    main()
