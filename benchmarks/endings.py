"""
Runs in which a call never returns, or to which a signal comes: how late they end.

    python benchmarks/endings.py --check

Each run has a process of its own, in which the call still hangs when the interpreter exits.
"""

from __future__ import annotations

import argparse
from itertools import product
from time import monotonic, sleep

from harness.fresh import call
from harness.hanging import CALLS, DRIVERS, PLAIN, WAYS, matrix
from harness.tables import Table, add_common, end, mid

LIMIT, GRACE = 0.5, 0.3
"""Seconds of ``max_seconds`` and ``shutdown_grace``."""

MOST_LATE = 0.5
MOST_BEGUN = 0.1
"""Seconds after a signal was sent by which it has stopped the run: no call begins later."""
MOST_EXIT = 1.0
LEAST_OTHERS = 0.95
WORKERS = 8
WRITTEN = ("def", "async")
PARTS = ("hung", "signals", "others")


def hung(place, way, mode, driver):
    """
    Seconds after the limit and the grace at which a run returned, and when that was.
    """
    from harness.hanging import parts
    from headway import run

    trap, domain, options = parts(place, way, driver, mode)
    began = monotonic()
    result = run(domain, max_seconds=LIMIT, shutdown_grace=GRACE, **options)
    returned = monotonic()
    return {
        "late": returned - began - LIMIT - GRACE,
        "returned": returned,
        "reached": trap.reached.is_set(),
        "whole": result.rollouts == sum(result.completions.values()),
    }


def signalled(driver, way, number, hangs):
    """
    Seconds after a signal and the grace at which a run returned, and when the signal was sent.
    """
    import os
    import threading

    from harness.steady import STEADY
    from headway import run

    domain = STEADY[way]("rollout" if hangs else None, "blocking" if hangs else way)
    sent = []

    def send():
        sleep(LIMIT)
        sent.append(monotonic())
        os.kill(os.getpid(), number)

    threading.Thread(target=send).start()
    result = run(domain, driver=driver, patience=10**9, shutdown_grace=GRACE)
    late = monotonic() - sent[0] - GRACE
    begun = max(domain.begun) - sent[0]
    return {
        "late": late,
        "sent": sent[0],
        "begun": begun,
        "interrupted": result.stop_reason == "interrupted" and begun <= MOST_BEGUN,
        "whole": result.rollouts == sum(result.completions.values()),
    }


def steady(driver, way, place, workers, seconds):
    """
    Rollouts a second that came back, beside a call that never does, if there is a place for one.
    """
    from harness.steady import STEADY
    from headway import run

    domain = STEADY[way](place, way)
    result = run(domain, driver=driver, n_workers=workers, max_seconds=seconds)
    return {"rate": result.completions["ok"] / seconds}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--places", nargs="+", default=[*CALLS, *PLAIN])
    parser.add_argument("--drivers", nargs="+", choices=DRIVERS, default=DRIVERS)
    parser.add_argument("--seconds", type=float, default=4.0, help="of a throughput run")
    add_common(parser, repeat=1)
    return parser.parse_args()


class Endings:
    """
    Measures run by run and shows the latest of each kind.
    """

    def __init__(self, asked):
        self.asked = asked
        self.results = []
        self.table = Table(
            driver="7s",
            what="24s",
            way="8s",
            runs="3d",
            late_s="6.3f",
            exit_s="6.3f",
            others="6.3f",
        )

    def row(self, driver, what, way, runs, **values):
        values = {"late_s": None, "exit_s": None, "others": None, **values}
        missed = list(self._missed(runs, **values))
        self.table.row(driver=driver, what=what, way=way, runs=len(runs), missed=missed, **values)
        self.results += [{"driver": driver, "what": what, "way": way, **run} for run in runs]

    @staticmethod
    def _missed(runs, late_s, exit_s, others):
        if late_s is not None and late_s > MOST_LATE:
            yield f"returned {late_s:.2f} s late"
        if exit_s is not None and exit_s > MOST_EXIT:
            yield f"exited after {exit_s:.2f} s"
        if others is not None and others < LEAST_OTHERS:
            yield f"the others made {others:.3f}"
        if not all(run.get("whole", True) for run in runs):
            yield "tickets are missing"
        if not all(run.get("interrupted", True) for run in runs):
            yield "a call began after the stop, or nothing stopped"
        if not all(run.get("reached", True) for run in runs):
            yield "the call was not reached"

    def hung(self, place, way, driver):
        kind = {"place": place, "way": way, "driver": driver}
        cases = [case for case in matrix() if kind.items() <= case.items()] * self.asked.repeat
        runs = []
        for case in cases:
            found = call("endings:hung", **case)
            runs.append({**case, **found, "exit": monotonic() - found["returned"]})
        late, leaving = (max(run[name] for run in runs) for name in ("late", "exit"))
        self.row(driver, place, way, runs, late_s=late, exit_s=leaving)

    def signalled(self, driver, way, number, hangs):
        runs = []
        for _ in range(self.asked.repeat):
            found = call("endings:signalled", driver=driver, way=way, number=number, hangs=hangs)
            runs.append({**found, "exit": monotonic() - found["sent"] - GRACE})
        what = f"signal {number}" + (" while one hangs" if hangs else "")
        late, leaving = (max(run[name] for run in runs) for name in ("late", "exit"))
        self.row(driver, what, way, runs, late_s=late, exit_s=leaving)

    def others(self, driver, way, place):
        case = {"driver": driver, "way": way, "seconds": self.asked.seconds}
        beside = WORKERS - (place != "baseline")  # a measurement has no worker's place
        runs = [
            {
                "with": call("endings:steady", **case, place=place, workers=WORKERS)["rate"],
                "alone": call("endings:steady", **case, place=None, workers=beside)["rate"],
            }
            for _ in range(self.asked.repeat)
        ]
        others = mid(runs, lambda run: run["with"] / run["alone"])
        self.row(driver, f"others beside {place}", way, runs, others=others)


def main():
    asked = arguments()
    endings = Endings(asked)
    if "hung" in asked.parts:
        for driver, place in product(asked.drivers, asked.places):
            for way in WAYS if place in CALLS else ("def",):
                endings.hung(place, way, driver)
    if "signals" in asked.parts:
        for kind in product(asked.drivers, WRITTEN, (2, 15), (False, True)):
            endings.signalled(*kind)
    if "others" in asked.parts:
        for kind in product(asked.drivers, WRITTEN, ("rollout", "propose", "baseline")):
            endings.others(*kind)
    end(asked, endings.table, endings.results)


if __name__ == "__main__":
    main()
