"""
What each schedule of an evolution strategy saves in time, and what its staleness costs, updates being equal.

    python benchmarks/es_schedules.py --check

Time is virtual: evaluating a pair takes a log-normal time.  Progress is by how many powers of ten the distance
from the best value has shrunk; the mean over seeds is shown, and that of the paired differences from ``sync``
with its standard error.
"""

from __future__ import annotations

import argparse
import warnings
from math import log10, sqrt
from statistics import fmean, stdev

from harness.tables import Table, add_common, end

SCHEDULES = (
    "sync",
    "wait-1",
    "pipeline-1",
    "10%/4",
    "10%/8",
    "pipeline-4",
    "pipeline-8",
    "drop-1",
)
DIM, PAIRS = 100, 32


def ran(objective, name, seed, *, lr, updates, workers, sigma):
    """
    Decades gained, virtual seconds, mean and largest lag, and cards discarded.
    """
    from headway import run
    from headway.durations import parse_law
    from headway_es import ES, Delay, ESDomain, report_of, schedule

    delayed = "/" in name
    delay = Delay(share=0.1, by=int(name.partition("/")[2])) if delayed else None
    options = schedule("sync" if delayed else name)
    result = run(
        ESDomain(objective=objective, dim=DIM),
        aggregator=ES(population=PAIRS, lr=lr, sigma=sigma, delay=delay),
        updates=updates,
        seed=seed,
        n_workers=workers,
        driver="simulated",
        durations={"rollout": parse_law("lognormal:1,1.5")},
        stall_alarm=1e9,
        **options,
    )
    report = report_of(result.memory)
    return {
        "gained": log10(result.baseline_reward / result.final_reward),
        "seconds": result.wallclock,
        "mean_lag": report.mean_lag,
        "max_lag": report.max_lag,
        "dropped": result.stale_discarded,
    }


def missed(name, found):
    """
    What a schedule must keep, whatever it gains: its bound, and all its cards.
    """
    word, _, bound = name.partition("-")
    if not bound:
        return []
    worst = max(one["max_lag"] for one in found)
    lost = sum(one["dropped"] for one in found)
    told = [f"lag {worst} > {bound}"] if worst > int(bound) else []
    return told + ([f"{lost} cards lost"] if lost and word != "drop" else [])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--objectives", nargs="+", default=["ellipsoid"])
    parser.add_argument("--schedules", nargs="+", default=SCHEDULES)
    parser.add_argument("--rates", nargs="+", type=float, default=[0.02, 0.01])
    parser.add_argument("--updates", type=int, default=150)
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--sigma", type=float, default=0.02)
    add_common(parser)
    return parser.parse_args()


def main():
    asked = arguments()
    warnings.simplefilter("ignore", RuntimeWarning)
    table = Table(
        objective="10s", rate="5.3f", schedule="10s", speed="5.2f", mean_lag="8.2f", dropped="7.1f",
        gained="6.2f", less_than_sync="6.2f", error="5.2f",
    )  # fmt: skip
    results = []
    more = {"updates": asked.updates, "workers": asked.workers, "sigma": asked.sigma}
    for objective in asked.objectives:
        for rate in asked.rates:
            control = None
            for name in asked.schedules:
                found = [
                    ran(objective, name, seed, lr=rate, **more) for seed in range(asked.repeat)
                ]
                results.append(
                    {"objective": objective, "rate": rate, "schedule": name, "runs": found}
                )
                control = control or found
                less = [c["gained"] - f["gained"] for c, f in zip(control, found, strict=True)]
                error = stdev(less) / sqrt(len(less)) if len(less) > 1 else 0.0
                table.row(
                    objective=objective,
                    rate=rate,
                    schedule=name,
                    speed=fmean(
                        c["seconds"] / f["seconds"] for c, f in zip(control, found, strict=True)
                    ),
                    mean_lag=fmean(one["mean_lag"] for one in found),
                    dropped=fmean(one["dropped"] for one in found),
                    gained=fmean(one["gained"] for one in found),
                    less_than_sync=fmean(less),
                    error=error,
                    missed=missed(name, found),
                )
    end(asked, table, results)


if __name__ == "__main__":
    main()
