"""
A search shaped like one with a language model: how long until every held-out task is solved.

    python benchmarks/llm_shaped.py --check

48 tasks need one of 12 hidden hints each.  Every run, proposal and measurement sleeps 25 to 75 ms, and
under the heavy tail one in ten of them 12 times as long.  The clock stops at the commit of the first
head that truly solves every held-out task.  Without ``--peers no`` the engines of ``make_peers.py`` run
the same searches, seed by seed; their clock stops when such a state has been scored, before its commit.
"""

from __future__ import annotations

import argparse
from itertools import product
from statistics import median

from harness.fresh import call
from harness.hints import LAWS
from harness.peers import FOLDER, interpreter
from harness.tables import Table, add_common, end

WORKERS = 8

LEAST_OVER_PEER = {"uniform": 1.5, "heavy": 3.0}
"""How many times faster than the best mode of the peer, with 16 slots."""

LEAST_OVER_SYNC = {
    (16, "uniform"): 1.2,
    (16, "heavy"): 2.0,
    (8, "uniform"): 1.05,
    (8, "heavy"): 1.3,
}
"""How many times faster than sync mode, by slots and law."""

LEAST_OVER_SYNC_CANCELLING = 1.6
"""The same with 8 slots and the heavy tail where a call that nobody waits for can be cancelled."""

MOST_CALLS = 1.35

PATIENT = {"max_wait_rounds": 3}
"""
A candidate takes 12 measurements, so async mode gathers up to 12 cards for a step, and waits for them
three rounds of rollouts instead of one.  Sync mode gathers a round anyhow.
"""


def searched(engine, law, mode, driver, slots, seed):
    """
    One search: seconds and calls until it was over, and what the engine tells.
    """
    from importlib import import_module

    from harness.hints import Watched, split

    search = import_module(f"harness.hints.{engine}").search
    train, held = split(seed)
    case = {"mode": mode, "driver": driver, "workers": WORKERS, "slots": slots, "law": law}
    if engine == "headway" and mode == "async":
        case |= PATIENT
    # A process imports once, so what is timed is its second search.
    search(Watched(law, seed, held, scale=0.0), train, held, seed=seed, **case)
    watched = Watched(law, seed, held)
    told = search(watched, train, held, seed=seed, **case)
    seconds, calls = watched.over
    if told.get("seconds") is not None:
        seconds = told["seconds"]
    return {**told, "seconds": seconds, "calls": calls}


def least_over_sync(slots, law, driver):
    """
    What async mode is asked to reach.
    """
    if (slots, law) == (8, "heavy") and driver == "asyncio":
        return LEAST_OVER_SYNC_CANCELLING
    return LEAST_OVER_SYNC[slots, law]


def ratio(above, below, value):
    """
    The median over the seeds of a value of one engine, divided by that of another.
    """
    return median(a[value] / b[value] for a, b in zip(above, below, strict=True))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--laws", nargs="+", default=LAWS, choices=LAWS)
    parser.add_argument("--slots", type=int, nargs="+", default=[16, 8])
    parser.add_argument("--drivers", nargs="+", default=["threads", "asyncio", "simulated"])
    parser.add_argument("--peers", default="yes", choices=["yes", "no"])
    add_common(parser, repeat=10)
    return parser.parse_args()


def main():
    asked = arguments()
    table = Table(
        law="7s", slots="d", engine="12s", driver="9s", mode="5s",
        seconds="7.3f", calls="6.0f", over_sync="5.2f", over_peer="5.2f", more_calls="5.2f",
        idle="6.3f",
    )  # fmt: skip
    results = []
    for law, slots in product(asked.laws, asked.slots):
        runs = Runs(law, slots, asked.repeat)
        peer = None
        if asked.peers == "yes" and slots > WORKERS:  # the peer has slots beside its workers only
            for mode in ("sync", "async"):
                found = runs.of("agentdescent", mode, "threads")
                table.row(**runs.row(found), missed=[])
                peer = found if peer is None else min(peer, found, key=seconds)
        for driver in asked.drivers:
            sync, quick = (runs.of("headway", mode, driver) for mode in ("sync", "async"))
            table.row(**runs.row(sync), missed=[])
            told = {
                "over_sync": ratio(sync, quick, "seconds"),
                "more_calls": ratio(quick, sync, "calls"),
                "over_peer": None,
            }
            if peer is not None and driver != "simulated":
                told["over_peer"] = ratio(peer, quick, "seconds")
            missed = list(misses(law, slots, driver, told, quick))
            table.row(**{**runs.row(quick), **told}, missed=missed)
        results += runs.all
    end(asked, table, results)


def seconds(runs):
    return median(run["seconds"] for run in runs)


def misses(law, slots, driver, told, runs):
    least = least_over_sync(slots, law, driver)
    if told["over_sync"] < least:
        yield f"over sync < {least}"
    if told["over_peer"] is not None and told["over_peer"] < LEAST_OVER_PEER[law]:
        yield f"over peer < {LEAST_OVER_PEER[law]}"
    if told["more_calls"] > MOST_CALLS:
        yield f"calls > {MOST_CALLS}"
    if driver == "simulated" and any(run["idle"] for run in runs):
        yield "a slot idles while work waits"


class Runs:
    """
    The searches of one law with so many slots, one a seed.
    """

    def __init__(self, law, slots, seeds):
        self.law, self.slots, self.seeds = law, slots, seeds
        self.all = []

    def of(self, engine, mode, driver):
        case = {"engine": engine, "law": self.law, "mode": mode, "driver": driver}
        more = {"python": str(interpreter(FOLDER))} if engine == "agentdescent" else {}
        case["slots"] = self.slots
        found = [
            {**case, "seed": seed, **call("llm_shaped:searched", **case, seed=seed, **more)}
            for seed in range(self.seeds)
        ]
        self.all += found
        return found

    def row(self, found):
        keys = ("law", "slots", "engine", "driver", "mode")
        idle = [run["idle"] for run in found if run.get("idle") is not None]
        return {
            **{key: found[0][key] for key in keys},
            "seconds": seconds(found),
            "calls": median(run["calls"] for run in found),
            "idle": max(idle, default=None),
            **dict.fromkeys(("over_sync", "over_peer", "more_calls")),
        }


if __name__ == "__main__":
    main()
