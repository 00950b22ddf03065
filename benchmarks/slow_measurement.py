"""
Measuring that takes far longer than rollouts do: cards decided, rollouts, stale cards, double work.

    python benchmarks/slow_measurement.py --check

A proposal is verified on its own task first, as by default: then a card whose rules nobody touched
needs no second look when the head moves.

A row shows medians of runs with different seeds, timed, and under the simulated driver, which has no
overhead: in one run alone, what is proposed first moves a figure by a quarter.  A shorter run asserts
every invariant after every event, the gate's bound among them; it is a run of its own because the
assertions cost CPU.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product

from harness.case import scaled_ratio
from harness.fresh import call
from harness.search import HELD_OUT
from harness.tables import Table, add_common, end, mid

ROLLOUT = 0.02
"""Seconds of a rollout."""

WARM = 4
"""Measurements' lengths until the steady state."""

SHARES = (1.0, 0.1)
LEAST = 0.9
MOST_STALE = 0.1
MOST_SILENT = 3
"""Measurements' lengths at the end of a run in which no card is decided: more is a stall."""


def eval_slots(workers):
    """
    Slots beside the rollouts: enough for all cards that there may be, for unions of them and for the
    head to be measured at once, so that measuring never waits for a slot.
    """
    return HELD_OUT * (workers + scaled_ratio(workers) + 4)


def searched(driver, workers, share, seconds, lengths, seed=0, validate=False):
    """
    One run that time ends.

    Args:
        driver: ``simulated`` as well as the others.
        workers: Rollouts at once.
        share: The share of rollouts that proposes.
        seconds: How long scoring one held-out task takes.
        lengths: How many times that the run takes.
        seed: Of the run and of the proposals.
        validate: Whether every invariant is asserted after every event.
    """
    from harness.durations import Waits
    from harness.rules import DOMAINS, Rules
    from harness.search import Search
    from harness.watching import Watch, rate
    from headway import run
    from headway.durations import Constant

    simulated = driver == "simulated"
    laws = {"rollout": Constant(ROLLOUT), "measure": Constant(seconds)}
    watch, limit = Watch(), lengths * seconds
    domain = DOMAINS.get(driver, Rules)(
        Waits([0.0 if simulated else ROLLOUT]),
        Search(share, 10_000, seed),
        measuring=0.0 if simulated else seconds,
    )
    result = run(
        domain,
        driver=driver,
        n_workers=workers,
        async_ratio=scaled_ratio(workers),
        eval_concurrency=eval_slots(workers),
        max_seconds=limit,
        validate=validate,
        observers=[watch],
        seed=seed,
        **({"durations": laws} if simulated else {}),
    )
    steady = WARM * seconds
    times = Counter(domain.measured).values()
    return {
        "decided": rate(watch.decided, steady, limit, burst=seconds / 20),
        "stalled": limit - max(watch.decided, default=0.0) > MOST_SILENT * seconds,
        "rollouts": sum(steady <= now <= limit for now in watch.rollouts) / (limit - steady),
        "stale": result.stale_rate(),
        "twice": sum(number > 1 for number in times),
        "measured": len(domain.measured),
        "stop": result.stop_reason,
        "decisions": dict(result.decisions),
        "late": result.wallclock - limit,
    }


def with_seeds(times, share, **fields):
    """
    So many runs, each with a seed of its own; at once where nearly all of their time they wait.
    """
    with ThreadPoolExecutor(times if share < 1 else os.cpu_count()) as pool:
        run = partial(call, "slow_measurement:searched", share=share, **fields)
        return list(pool.map(lambda seed: run(seed=seed), range(times)))


def bound_kept(**fields):
    """
    What is broken in a run that has every invariant asserted after every event; "" when nothing is.
    """
    from headway.errors import InvariantError

    try:
        searched(**fields, validate=True)
    except InvariantError as error:
        return str(error)
    return ""


def misses(share, runs, most_decided, simulated, broken):
    decided, rollouts = mid(runs, "decided"), mid(runs, "rollouts")
    if share == 1 and decided < LEAST * most_decided:
        yield f"cards {decided:.2f} < {LEAST} x {most_decided:.2f}"
    reachable = mid(simulated, "rollouts")
    if share < 1 and rollouts < LEAST * reachable:
        yield f"rollouts {rollouts:.1f} < {LEAST} x {reachable:.1f}"
    if mid(runs, "stale") >= MOST_STALE:
        yield "stale"
    if share == 1 and any(run["stalled"] for run in runs):
        yield "no card was decided at the end"
    if any(run["twice"] for run in runs):
        yield "measured twice"
    if broken:
        yield f"bound: {broken}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--drivers", nargs="+", default=["threads", "asyncio"])
    parser.add_argument("--workers", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES, metavar="P")
    parser.add_argument("--seconds", type=float, nargs="+", default=[0.5, 1.0, 2.0], metavar="T")
    parser.add_argument("--lengths", type=int, default=20, help="a run takes so many times T")
    add_common(parser, repeat=9)
    asked = parser.parse_args()
    if asked.lengths <= WARM:
        parser.error(f"--lengths must be above {WARM}: so long the steady state takes to begin")
    return asked


def main():
    asked = arguments()
    table = Table(
        driver="7s",
        share="5.1f",
        workers="d",
        T="4.1f",
        slots="d",
        cards_s="7.2f",
        most="6.2f",
        simulated="7.2f",
        rollouts_s="8.1f",
        simulated_="8.1f",
        stale="6.3f",
        measured="6.0f",
        twice="d",
        bound="s",
    )
    results = []
    for driver, share, workers, seconds in product(
        asked.drivers, asked.shares, asked.workers, asked.seconds
    ):
        lengths = asked.lengths
        case = {"workers": workers, "share": share, "seconds": seconds, "lengths": lengths}
        simulated = with_seeds(asked.repeat, driver="simulated", **case)
        runs = with_seeds(asked.repeat, driver=driver, **case)
        short = {**case, "lengths": max(WARM + 1, lengths // 2)}
        broken = call("slow_measurement:bound_kept", driver=driver, **short)
        most = (workers + scaled_ratio(workers)) / (2 * seconds)
        results += [{"driver": driver, **case, **run} for run in runs]
        results += [{"driver": "simulated", **case, **run} for run in simulated]
        table.row(
            driver=driver,
            share=share,
            workers=workers,
            T=seconds,
            slots=workers + eval_slots(workers),
            cards_s=mid(runs, "decided"),
            most=most,
            simulated=mid(simulated, "decided"),
            rollouts_s=mid(runs, "rollouts"),
            simulated_=mid(simulated, "rollouts"),
            stale=mid(runs, "stale"),
            measured=mid(runs, "measured"),
            twice=max(run["twice"] for run in runs),
            bound="broken" if broken else "kept",
            missed=list(misses(share, runs, most, simulated, broken)),
        )
    end(asked, table, results)


if __name__ == "__main__":
    main()
