"""
How runs end when the backend fails, a plug-in raises or a proposal is huge: how, when, what is lost.

    python benchmarks/failures.py --check

Times are those of the simulated driver, and exact, but for the rows under ``threads``.
"""

from __future__ import annotations

import argparse
import math
import os
from functools import partial

from harness.failing import PLUGINS
from harness.fresh import call
from harness.tables import Table, add_common, end, mid

MODES = ("sync", "async")
MOST_RATIO = 1.6
MOST_DEAD = 10.0
"""Seconds in which a backend that is dead from the start is found out."""

MOST_PLUGIN = 1.0
MOST_MB = 25.0
PARTS = ("backend", "plugins", "proposals")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--methods", nargs="+", choices=PLUGINS, default=PLUGINS)
    add_common(parser, repeat=9)
    return parser.parse_args()


class Failures:
    """
    Measures case by case and prints a row for each.
    """

    def __init__(self, asked):
        self.asked = asked
        self.results = []
        self.table = Table(
            mode="5s",
            driver="9s",
            what="28s",
            ended="13s",
            seconds="7.2f",
            ratio="5.2f",
            cards="5d",
            lost="4d",
            failures="8d",
            more_MB="7.1f",
            error="50s",
        )

    def row(self, mode, driver, what, runs, missed, ratio=None, more=None):
        missed = [*missed, *self._always(runs)]
        self.table.row(
            mode=mode,
            driver=driver,
            what=what,
            ended=" ".join(sorted({run["stop"] for run in runs})),
            seconds=mid(runs, "seconds"),
            ratio=ratio,
            cards=sum(run["cards"] for run in runs),
            lost=sum(run["lost"] for run in runs),
            failures=sum(run["failures"] for run in runs),
            more_MB=more,
            error=runs[0]["error"][:50],
            missed=missed,
        )
        self.results += [{"mode": mode, "driver": driver, "what": what, **run} for run in runs]

    @staticmethod
    def _always(runs):
        if not all(run["whole"] for run in runs):
            yield "tickets are missing"
        if any(run["stop"] == "error" and not run["error"] for run in runs):
            yield "an error without a word"

    def seeds(self, target, **case):
        return [call(target, seed=seed, **case) for seed in range(self.asked.repeat)]

    # ------------------------------------------------------------------ the backend

    def backend(self, mode):
        row = partial(self.row, mode, "simulated")
        plain = self.seeds("harness.failing:backend", what="fault-free", mode=mode)
        row("fault-free", plain, [])
        for driver in ("simulated", "threads"):
            self.dead(mode, driver)
        runs = self.seeds("harness.failing:backend", what="2 failures in 3", mode=mode)
        missed = ["it ended with an error"] if any(run["stop"] == "error" for run in runs) else []
        missed += self._lost(runs)
        row("2 failures in 3", runs, missed, ratio=ratio(runs, plain))
        for kind in ("rollouts", "proposals", "measurements"):
            what = f"30 % of {kind}"
            runs = self.seeds("harness.failing:backend", what=what, mode=mode)
            self.borne(mode, what, runs, plain)
        healthy, one = (
            self.seeds("harness.failing:one_worker", mode=mode, dead=dead) for dead in (False, True)
        )
        self.borne(mode, "one worker's backend dead", one, healthy)

    def dead(self, mode, driver):
        case = {"what": "dead from the start", "mode": mode, "driver": driver}
        runs = self.seeds("harness.failing:backend", **case)[:3]
        missed = []
        if max(run["seconds"] for run in runs) > MOST_DEAD:
            missed.append("found out late")
        if not all("no answer to" in run["error"] for run in runs):
            missed.append("the backend's own words are missing")
        self.row(mode, driver, case["what"], runs, missed)

    def borne(self, mode, what, runs, plain):
        share = ratio(runs, plain)
        missed = list(self._alive(runs))
        if share > MOST_RATIO:
            missed.append(f"{share:.2f} times as long")
        missed += self._lost(runs)
        self.row(mode, "simulated", what, runs, missed, ratio=share)

    @staticmethod
    def _lost(runs):
        if lost := sum(run["lost"] for run in runs):
            yield f"{lost} cards lost to failures that come by chance"

    @staticmethod
    def _alive(runs):
        if any(run["stop"] != "target_reward" for run in runs):
            yield "the target was not reached"
        if any(run["retired"] for run in runs):
            yield "a worker retired"

    # ------------------------------------------------------------------ plug-ins and proposals

    def plugin(self, mode, method):
        for driver in ("simulated", "threads"):
            case = {"method": method, "mode": mode, "driver": driver}
            always = call("harness.failing:plugin", always=True, **case)
            missed = []
            if always["stop"] != "error" or "Broken" not in always["error"]:
                missed.append("not named")
            if driver == "threads" and always["real"] > MOST_PLUGIN:
                missed.append(f"ended after {always['real']:.2f} s")
            self.row(mode, driver, f"{method} always raises", [always], missed)
        case = {"method": method, "mode": mode, "driver": "simulated"}
        once = call("harness.failing:plugin", always=False, **case)
        plain = call("harness.failing:backend", what="fault-free", mode=mode, seed=0)
        missed = list(self._alive([once]))
        if once["lost"] or once["failures"] != 1:
            missed.append("something is lost")
        share = ratio([once], [plain])
        self.row(mode, "simulated", f"{method} raises once", [once], missed, ratio=share)

    def proposals(self, mode):
        self.huge(mode, "5 MB, a heap a thread", limit=math.inf)
        os.environ["MALLOC_ARENA_MAX"] = "1"  # what is held counts, not what threads keep unused
        try:
            self.huge(mode, "5 MB proposals", limit=MOST_MB)
        finally:
            del os.environ["MALLOC_ARENA_MAX"]

    def huge(self, mode, what, limit):
        pairs = [
            [call("harness.failing:proposals", mode=mode, huge=huge) for huge in (False, True)]
            for _ in range(min(self.asked.repeat, 9))
        ]
        more = mid(pairs, lambda pair: pair[1]["peak"] - pair[0]["peak"])
        missed = [f"{more:.0f} MB more"] if more > limit else []
        self.row(mode, "threads", what, [huge for _, huge in pairs], missed, more=more)


def ratio(runs, plain):
    """
    The time of all seeds together against that of the same seeds without faults.
    """
    return sum(run["seconds"] for run in runs) / sum(run["seconds"] for run in plain)


def main():
    asked = arguments()
    failures = Failures(asked)
    for mode in asked.modes:
        if "backend" in asked.parts:
            failures.backend(mode)
        if "plugins" in asked.parts:
            for method in asked.methods:
                failures.plugin(mode, method)
        if "proposals" in asked.parts:
            failures.proposals(mode)
    end(asked, failures.table, failures.results)


if __name__ == "__main__":
    main()
