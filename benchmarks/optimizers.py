"""
Optimizers at equal rollouts on inflect, each held against a control seed by seed.

    python benchmarks/optimizers.py --check

Needs headway-domains and the optimizers of this repository.  8 workers, async mode, simulated, each call
takes a second in the mean (log-normal, sigma 1).  A line is printed as each run ends, then the tables
of ``headway compare``: paired differences to the control, which is best-of-N, with their 95 % interval.
``--check`` exits with 1 when the interval of an optimizer is not above 0, or when a run failed.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import attrs

from harness.tables import setting
from headway.comparing import Comparison, Runner, make_plan, table
from headway.drivers import Interrupt
from headway.registry import Registry
from headway_domains.inflect import Inflect

OPTIMIZERS = ("standard", "pareto", "islands", "annealing")


def inflect():
    return Inflect(latency="lognormal:1,1")


def planned(asked):
    """
    One arm an optimizer, the control first: the others are compared with it.
    """
    names = (asked.control, *asked.only)
    plans = [
        make_plan(
            inflect(),
            {
                "aggregator": name,
                "driver": "simulated",
                "max_rollouts": asked.rollouts,
                "n_workers": asked.workers,
            },
            modes=(asked.mode,),
            seeds=tuple(range(asked.seeds)),
            score_heads=False,
        )
        for name in names
    ]
    arms = (attrs.evolve(plan.arms[0], name=name) for plan, name in zip(plans, names, strict=True))
    return attrs.evolve(plans[0], arms=tuple(arms))


def tried(arm, seed):
    return Runner(make=inflect, registry=Registry.discover()).trial(arm, seed, Interrupt())


def told(trial):
    if trial.status != "done":
        return f"{trial.arm}, seed {trial.seed}: {trial.status}: {trial.error}"
    return (
        f"{trial.arm}, seed {trial.seed}: held-out {trial.reward:.4f}, test {trial.test_reward:.4f}, "
        f"{trial.rollouts} rollouts, {trial.calls} calls, {trial.seconds:.0f} virtual seconds"
    )


def made(plan, processes):
    """
    All trials, in the plan's order, each told as it ends.
    """
    cases = [(arm, seed) for seed in plan.seeds for arm in plan.arms]
    with ProcessPoolExecutor(processes) as pool:
        running = {pool.submit(tried, *case): place for place, case in enumerate(cases)}
        found = {}
        for done in as_completed(running):
            found[running[done]] = done.result()
            print(told(done.result()), flush=True)
    return tuple(found[place] for place in range(len(cases)))


def missed(comparison):
    """
    The optimizers whose interval is not above 0, and the runs that failed.
    """
    found = [f"{trial.arm}, seed {trial.seed}: {trial.status}" for trial in comparison.failed]
    for difference in comparison.differences():
        interval = difference.interval
        if difference.metric == "reward" and not (interval and interval.low and interval.low > 0):
            found.append(f"{difference.arm} is not shown to beat {difference.against}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many, from 0 on")
    parser.add_argument("--rollouts", type=int, default=400)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--mode", choices=("sync", "async"), default="async")
    parser.add_argument("--control", default="best-of-n", metavar="NAME")
    parser.add_argument("--only", nargs="+", default=OPTIMIZERS, metavar="NAME")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a figure is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every single result")
    asked = parser.parse_args()
    print(setting(), flush=True)
    plan = planned(asked)
    comparison = Comparison(plan=plan, trials=made(plan, asked.processes))
    print(f"\n{table(comparison)}", flush=True)
    if asked.json is not None:
        text = json.dumps(comparison.to_json(), indent=1)
        asked.json.write_text(f"{text}\n", encoding="utf-8")
    figures = missed(comparison)
    for figure in figures:
        print(f"MISSED: {figure}")
    sys.exit(asked.check and bool(figures))


if __name__ == "__main__":
    main()
