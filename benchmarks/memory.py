"""
The memory of a long run: 1,200 rollouts of 100 KB artifacts with 30 KB proposals on 60 tasks.

    python benchmarks/memory.py --check

Each run has a process of its own, whose largest resident memory is shown, imports included.
"""

from __future__ import annotations

import argparse
import resource
from itertools import product

from harness.fresh import call
from harness.tables import Table, add_common, end, mid

ROLLOUTS, TASKS, WORKERS = 1200, 60, 8
PARTS, PART, CHANGE = 10, 10_000, 30_000
"""An artifact has so many parts of so many characters; a proposal sets three of them."""

MOST_MB = 200.0
MODES, DRIVERS = ("sync", "async"), ("threads", "asyncio")


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def searched(mode, driver, rollouts):
    """
    One run, and the memory of its process before and after.
    """
    from headway import run
    from headway.contracts import Domain, Outcome, Splits, Task

    class Pages(Domain):
        """
        Every change is new text, and every other one is better by a little.
        """

        name = "pages"
        deterministic = True

        def tasks(self):
            half = TASKS // 2
            train, held_out = (
                tuple(Task(id=f"{side}-{n}", data=n) for n in range(half)) for side in ("t", "h")
            )
            return Splits(train=train, held_out=held_out)

        def initial(self):
            return {"score": 0, **{f"part-{n}": "." * PART for n in range(PARTS)}}

        def rollout(self, state, task, *, rng):
            del task, rng
            return Outcome(reward=1 - 0.99 ** state["score"], output=None)

        def propose(self, state, task, outcome, *, rng):
            del task, outcome
            parts = rng.sample(range(PARTS), CHANGE // PART)
            better = state["score"] + rng.choice([0, 1])
            text = {f"part-{n}": f"{rng.random():.17f}" * (PART // 19) for n in parts}
            return {"score": better, **text}

        def apply(self, state, diff):
            return {**state, **diff}

        def keys(self, diff):
            return tuple(diff)

    before = peak()
    result = run(Pages(), mode=mode, driver=driver, n_workers=WORKERS, max_rollouts=rollouts)
    return {
        "before": before,
        "peak": peak(),
        "wall": result.wallclock,
        "rollouts": result.rollouts,
        "version": result.version,
        "cards": sum(result.decisions.values()),
    }


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--drivers", nargs="+", choices=DRIVERS, default=DRIVERS)
    parser.add_argument("--rollouts", type=int, default=ROLLOUTS)
    add_common(parser)
    return parser.parse_args()


def main():
    asked = arguments()
    table = Table(
        mode="5s",
        driver="7s",
        rollouts="8d",
        cards="5d",
        commits="7d",
        wall="6.1f",
        import_MB="9.1f",
        peak_MB="7.1f",
    )
    results = []
    for mode, driver in product(asked.modes, asked.drivers):
        case = {"mode": mode, "driver": driver, "rollouts": asked.rollouts}
        runs = [call("memory:searched", **case) for _ in range(asked.repeat)]
        results += [{**case, **run} for run in runs]
        most = mid(runs, "peak")
        missed = [f"{most:.0f} MB"] if most > MOST_MB else []
        if any(run["rollouts"] != asked.rollouts for run in runs):
            missed.append("rollouts are missing")
        table.row(
            mode=mode,
            driver=driver,
            rollouts=mid(runs, "rollouts"),
            cards=mid(runs, "cards"),
            commits=mid(runs, "version"),
            wall=mid(runs, "wall"),
            import_MB=mid(runs, "before"),
            peak_MB=most,
            missed=missed,
        )
    end(asked, table, results)


if __name__ == "__main__":
    main()
