"""
Cards that all contradict each other: what a run finds that compares them on the same tasks.

    python benchmarks/rivals.py --check

The artifact is one prompt, and a proposal is another prompt that solves its own task and a share of all
tasks, mostly a small one.  So each helped on its own task, and few are worth a commit.  8 workers,
simulated with log-normal durations, the same number of calls for both ways to choose.
"""

from __future__ import annotations

import argparse
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from statistics import fmean

from harness.tables import Table, add_common, end, mid
from headway import SingleSlot, async_evolve, evolve
from headway.durations import LogNormal
from headway.keyed import keyed_unit

CALLS = {"deterministic": 300, "noisy": 1500}
MOST_SHARE, FIRST_SHARE = 0.95, 0.2
RIGHT = 0.85
"""The chance that a noisy answer is right."""

LEAST_MORE = 0.05
"""By how much more tasks are solved when rivals are compared on the same ones, on the mean."""


def solves(prompt, task):
    share = FIRST_SHARE if prompt == "none" else float(prompt.split()[0])
    return task["id"] in prompt.split() or keyed_unit(prompt, task["id"]) < share


def searched(case):
    rewards, tasks, mode, conflict, seed = case
    noisy = rewards == "noisy"

    def run(prompt, task, rng):
        solved = solves(prompt, task)
        return solved if not noisy or rng.random() < RIGHT else not solved

    def propose(prompt, task, output, reward, rng):
        return f"{MOST_SHARE * rng.random() ** 2:.4f} {rng.random():.5f} {task['id']}"

    tasks = [{"id": f"task-{n}"} for n in range(tasks)]
    limits = {"rounds": 10_000} if mode == "sync" else {"max_seconds": float("inf")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = (evolve if mode == "sync" else async_evolve)(
            tasks,
            lambda task, output: float(output),
            run=run,
            propose=propose,
            strategy=SingleSlot("none"),
            deterministic=not noisy,
            n_workers=8,
            max_rollouts=10_000,
            max_calls=CALLS[rewards],
            conflict=conflict,
            driver="simulated",
            durations={kind: LogNormal(1, 0.5) for kind in ("rollout", "propose", "measure")},
            seed=seed,
            **limits,
        )
    return {
        "solved": fmean(solves(result.rendered, task) for task in tasks),
        "rollouts": result.rollouts,
        "cards": sum(result.decisions.values()),
        "conflicts": result.decisions.get("discarded:conflict", 0),
        "seconds": result.wallclock,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rewards", nargs="+", choices=CALLS, default=[*CALLS])
    parser.add_argument("--tasks", nargs="+", type=int, default=[20, 60])
    add_common(parser, repeat=20)
    asked = parser.parse_args()
    table = Table(
        rewards="13s", tasks="d", mode="5s", conflict="12s", solved="5.3f", rollouts="4.0f",
        cards="4.0f", conflicts="4.0f", seconds="4.0f",
    )  # fmt: skip
    results, means = [], {"better-delta": [], "shared-tasks": []}
    with ProcessPoolExecutor() as pool:
        for rewards, tasks, mode in product(asked.rewards, asked.tasks, ("sync", "async")):
            for conflict, found in means.items():
                cases = [(rewards, tasks, mode, conflict, seed) for seed in range(asked.repeat)]
                runs = list(pool.map(searched, cases))
                shown = {"rewards": rewards, "tasks": tasks, "mode": mode, "conflict": conflict}
                results += [{**shown, "seed": seed, **run} for seed, run in enumerate(runs)]
                found.append(fmean(run["solved"] for run in runs))
                rest = {name: mid(runs, name) for name in runs[0] if name != "solved"}
                table.row(**shown, solved=found[-1], **rest, missed=[])
    plain, shared = map(fmean, means.values())
    print(f"solved on the mean of the rows: {plain:.3f} by deltas, {shared:.3f} on shared tasks")
    if shared < plain + LEAST_MORE:
        table.missed.append(f"only {shared - plain:.3f} more are solved")
    end(asked, table, results)


if __name__ == "__main__":
    main()
