"""
What an evolution strategy costs beside its noise: ask and tell against the generator's own speed, and its cards.

    python benchmarks/es.py --check

A generation is asked and told: every half of every pair is written out, and the centre is moved by Adam.
The limits are measured in turn with it, in the same process: drawing that noise and doing nothing else, and
copying arrays that fit no cache.  Noise that is only read is held against copying what must be moved, which
is 16 bytes a number and pair: it is read, two halves are written, and it is read again.  Strategies of other
people, which ``make_peers.py --es`` installs, ask and tell as much, each in its turn with ours.

The second table is of the CPU that a card takes under ``wait-K``, in batches of ``--pairs``, with no noise, no
objective, no machine and no driver.  ``core`` counts what the core's parts do for it: its reservation by the
gate, the card itself, its completion, its place in the buffer, the questions after each completion whether a
step may begin and what it waits for, and its share of a step: batch, lease, the merger's verdict, update,
settling, and that it was trained.  ``bare`` keeps the gate's counters alone, and decides the same.  ``with ES``
adds the optimizer's own part: payload, evidence, order, ranks, report and commit.  What a whole machine takes
beside all that, ``groups.py`` measures.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.es_peers import PEERS
from harness.fresh import call
from harness.limits import copying, drawing, timed, told
from harness.peers import FOLDER_ES, interpreter
from harness.tables import Table, add_common, end, mid

DRAWN = {"stored": 0.90, "drawn again": 0.45}
READ = {"table32-v1/24": 0.5, "sign32-v1": 0.5}
BYTES = 16
"""Bytes that must be moved for each number of a pair whose noise costs nothing to make."""

BOUNDS = (1, 4)
MICROSECONDS = 10.0
"""For a card's share of buffer, gate and merger."""


def generation(strategy, out):
    """
    Ask for all pairs and tell them something.
    """

    def work():
        for pair in range(strategy.population):
            strategy.ask(pair, out)
        strategy.tell(told(strategy.population))

    return work


def measured(noise, store, dim, pairs, times, megabytes):
    """
    Seconds of a generation and of its limit, in turn, and the share of the limit that was reached.
    """
    from statistics import median

    import numpy as np

    from headway_es import Strategy

    theta = np.zeros(dim, dtype=np.float32)
    made = {"population": pairs, "noise": noise, "store": store, "seed": 7}
    strategy = Strategy(theta=theta, **made)
    work = generation(strategy, (np.empty_like(theta), np.empty_like(theta)))
    drawn = noise.startswith("zig")
    limit = drawing(dim, pairs) if drawn else copying(megabytes * 2**20)
    work(), limit()  # pages are touched and tables are made once
    rows = [(timed(limit), timed(work)) for _ in range(times)]
    bound = 1.0 if drawn else BYTES * dim * pairs / (2 * megabytes * 2**20)
    shares = [bound * floor / took for floor, took in rows]
    speed = dim * pairs / median(took for _, took in rows) / 1e9
    return {"share": median(shares), "speed": speed, "rows": rows}


def cases(asked):
    """
    Each row of the first table: what it shows, and what measures it.
    """
    sizes = {"dim": asked.dim, "pairs": asked.pairs, "times": asked.times}
    ours = [("zig32-v1", how, how == "stored", least) for how, least in DRAWN.items()]
    ours += [(noise, "read", False, least) for noise, least in READ.items()]
    for noise, how, store, least in ours:
        given = {"noise": noise, "store": store, "megabytes": asked.megabytes, **sizes}
        yield (
            {"noise": noise, "how": how, "at_least": least},
            ("es:measured", sys.executable),
            given,
        )
    python = str(interpreter(asked.peers))
    for name in PEERS:
        there = Path(python).exists() and call("harness.es_peers:installed", python, name=name)
        target = ("harness.es_peers:measured", python) if there else None
        shown = {"noise": "its own", "how": f"{name} {there or ''}".strip(), "at_least": None}
        yield shown, target, {"name": name, **sizes}


def generations(asked, table):
    """
    The first table; all rows in turn, so that what else the machine does is the same for all.
    """
    rows = [(shown, target, given, []) for shown, target, given in cases(asked)]
    for _ in range(asked.repeat):
        for _, target, given, runs in rows:
            if target is not None:
                runs.append(call(*target, **given))
    for shown, _, _, runs in rows:
        share, least = (mid(runs, "share") if runs else None), shown["at_least"]
        table.row(
            **shown,
            share=share,
            speed=mid(runs, "speed") if runs else None,
            unit="G numbers/s" if runs else "not installed: python benchmarks/make_peers.py --es",
            missed=[f"{share:.2f} < {least}"] if least is not None and share < least else [],
        )
    return [{**shown, **run} for shown, _, _, runs in rows for run in runs]


def cards(asked, table):
    """
    The second table.
    """
    results = []
    for bound in BOUNDS:
        given = {"size": asked.pairs, "updates": asked.updates, "times": asked.times}
        runs = [call("harness.cards:looped", staleness=bound, **given) for _ in range(asked.repeat)]
        results += [{"bound": bound, **run} for run in runs]
        core = mid(runs, "core")
        table.row(
            schedule=f"wait-{bound}",
            bare_us=mid(runs, "bare"),
            core_us=core,
            at_most=MICROSECONDS,
            with_ES_us=mid(runs, "whole"),
            missed=[f"{core:.1f} > {MICROSECONDS} us"] if core > MICROSECONDS else [],
        )
    return results


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--dim", type=int, default=1_000_000, help="parameters")
    parser.add_argument("--pairs", type=int, default=64, help="mirrored pairs in a generation")
    parser.add_argument("--megabytes", type=int, default=256, help="size of what is copied")
    parser.add_argument("--times", type=int, default=5, help="measurements in a process")
    parser.add_argument("--updates", type=int, default=200, help="batches of cards in one of them")
    parser.add_argument("--peers", type=Path, default=FOLDER_ES, help="the peers' environment")
    add_common(parser)
    return parser.parse_args()


def main():
    asked = arguments()
    table = Table(noise="13s", how="14s", share="5.2f", at_least="8.2f", speed="6.3f", unit="14s")
    results = generations(asked, table)
    print()
    costs = Table(schedule="8s", bare_us="7.2f", core_us="7.2f", at_most="7.1f", with_ES_us="10.2f")
    results += cards(asked, costs)
    table.missed += costs.missed
    end(asked, table, results)


if __name__ == "__main__":
    main()
