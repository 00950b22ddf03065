"""
Whether acceptance can be believed: what a run without anything to find commits, and what it finds.

    python benchmarks/acceptance.py --check

All runs are simulated, with 20 held-out tasks and the default options, unless a flag says otherwise.
``--repeat`` is the number of runs of a noisy row; they are shared among all cores.
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from statistics import fmean

from harness.coins import HELD_OUT, HELPED, PLAIN, TASKS, Coins, Constant, Recording
from harness.tables import Table, add_common, end
from headway import run
from headway.builtins.standard import StandardAggregator
from headway.statistics import PairedTest, fixed_pairs

SWEEPS = 100
CONSTANT_RUNS = 20
ROLLOUTS = 200
LEVEL = 0.05
MOST_FALSE = 18 / 200
LEAST_COVERED = 182 / 200
LEAST_FOUND = 160 / 200
MOST_DRAWS = 2.0
MOST_SECONDS = 0.0002
"""Seconds that one decision may take."""

SPREAD = PLAIN * (1 - PLAIN) + HELPED * (1 - HELPED)
"""The variance of a difference when the useful edit is on one side."""


def searched(domain, seed, **options):
    """
    One run, and the trials of its acceptance.
    """
    acceptance = Recording(accept_level=LEVEL)
    aggregator = StandardAggregator(acceptance=acceptance)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # what a run says before it starts
        result = run(domain, driver="simulated", seed=seed, aggregator=aggregator, **options)
    return result, acceptance.trials


def told(result, trials):
    low, high = result.scores["final"].interval
    tests = [trial.test for trial in trials if hasattr(trial, "test") and trial.seen]
    return {
        "commits": result.version,
        "sweeps": len(result.history),
        "covered": low <= PLAIN <= high,
        "found": 0 in result.state,
        "calls": sum(result.calls.values()),
        "decisions": len(tests),
        "pairs": sum(test.pairs for test in tests),
        "fixed": sum(
            fixed_pairs(HELPED - PLAIN, level=test.level, power=0.8, variance=SPREAD)
            for test in tests
        ),
    }


def constant(seed):
    return told(*searched(Constant(), seed, patience=SWEEPS))


def null(seed):
    return told(*searched(Coins(), seed, max_rollouts=ROLLOUTS))


def power(seed):
    return told(*searched(Coins(useful=0, once=True), seed, max_rollouts=TASKS))


def a_decision():
    """
    Seconds of processor that one look of a test takes.
    """
    rounds, test = 2000, PairedTest(level=1e-3, effect=0.25, power=0.9, cycles=10_000)
    gains = [float((n % 3) - 1) for n in range(HELD_OUT)]
    began = time.process_time()
    for _ in range(rounds):
        test.add(gains)
    return (time.process_time() - began) / rounds


def misses(row, runs):
    count = len(runs)
    if row == "constant":
        if any(found["commits"] for found in runs):
            yield "commits"
        if any(found["sweeps"] < SWEEPS for found in runs):
            yield "sweeps"
    if row == "null":
        if sum(found["commits"] > 0 for found in runs) > MOST_FALSE * count:
            yield "false acceptances"
        if sum(found["covered"] for found in runs) < LEAST_COVERED * count:
            yield "coverage"
    if row == "power" and sum(found["found"] for found in runs) < LEAST_FOUND * count:
        yield "power"
    if row == "power" and draws(runs) > MOST_DRAWS:
        yield "draws"


def draws(runs):
    """
    Pairs that the decisions took, as a multiple of those that fixed samples need.
    """
    fixed = sum(found["fixed"] for found in runs)
    return sum(found["pairs"] for found in runs) / fixed if fixed else None


ROWS = {"constant": constant, "null": null, "power": power}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    add_common(parser, repeat=200)
    return parser.parse_args()


def main():
    asked = arguments()
    table = Table(
        row="8s",
        runs="4d",
        committed="4d",
        found="4d",
        covered="4d",
        decisions="6.1f",
        pairs="6.1f",
        fixed="6.1f",
        draws="5.2f",
        calls="7.0f",
    )
    results = []
    with ProcessPoolExecutor() as pool:
        for row in asked.rows:
            count = min(CONSTANT_RUNS, asked.repeat) if row == "constant" else asked.repeat
            runs = list(pool.map(ROWS[row], range(count)))
            results += [{"row": row, "seed": seed, **found} for seed, found in enumerate(runs)]
            decided = sum(found["decisions"] for found in runs)
            table.row(
                row=row,
                runs=count,
                committed=sum(found["commits"] > 0 for found in runs),
                found=sum(found["found"] for found in runs) if row == "power" else None,
                covered=sum(found["covered"] for found in runs) if row == "null" else None,
                decisions=fmean(found["decisions"] for found in runs),
                pairs=sum(found["pairs"] for found in runs) / decided if decided else None,
                fixed=sum(found["fixed"] for found in runs) / decided if decided else None,
                draws=draws(runs),
                calls=fmean(found["calls"] for found in runs),
                missed=list(misses(row, runs)),
            )
    seconds = a_decision()
    print(f"one look of a test: {seconds * 1e6:.0f} microseconds")
    if seconds > MOST_SECONDS:
        table.missed.append("decision time")
    end(asked, table, results)


if __name__ == "__main__":
    main()
