"""
Many small gains under noise: what a run finds that tries cards together first, and one that doesn't.

    python benchmarks/small_gains.py --check

Each of six rules lifts the chance to solve one task in six from 0.2 to 0.9, which is a gain of 0.117
on the 19 held-out tasks; a share of the proposals is a rule that does nothing.  160 rollouts by 8
workers, default options, simulated with log-normal durations.
"""

from __future__ import annotations

import argparse
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product

from harness.tables import Table, add_common, end, mid
from headway import AppendRules, async_evolve, evolve
from headway.durations import LogNormal

KINDS = 6
TASKS = 48
RULES = [f"mind matter {kind}" for kind in range(KINDS)]
WITHOUT, WITH = 0.2, 0.9
LEAST_FOUND = 4
"""Rules of the six, in the median run, while most proposals are useful."""


class Alone:
    """
    Tries every card alone.
    """

    def groups(self, cards, chance):
        return tuple((card,) for card in cards)


FUSIONS = {"union": lambda: "union", "alone": Alone}


def searched(case):
    mode, fusion, useless, seed = case

    def run(prompt, task, rng):
        chance = WITH if RULES[task["kind"]] in prompt else WITHOUT
        return rng.random() < chance

    def propose(prompt, task, output, reward, rng):
        if rng.random() < useless:
            return f"be nice {rng.randrange(1000)}"
        return RULES[task["kind"]]

    limits = {"rounds": 1000} if mode == "sync" else {"max_seconds": float("inf")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = (evolve if mode == "sync" else async_evolve)(
            [{"id": f"task-{n}", "kind": n % KINDS} for n in range(TASKS)],
            lambda task, output: float(output),
            run=run,
            propose=propose,
            strategy=AppendRules(),
            deterministic=False,
            n_workers=8,
            max_rollouts=160,
            fusion=FUSIONS[fusion](),
            driver="simulated",
            durations={kind: LogNormal(1, 1) for kind in ("rollout", "propose", "measure")},
            seed=seed,
            **limits,
        )
    found = sum(rule in result.rendered for rule in RULES)
    return {
        "reward": result.final_reward,
        "found": found,
        "riders": result.rendered.count("be nice"),
        "calls": sum(result.calls.values()),
        "seconds": result.wallclock,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--useless", nargs="+", type=float, default=[0.3, 0.8], metavar="SHARE")
    add_common(parser, repeat=10)
    asked = parser.parse_args()
    table = Table(
        useless="4.1f", mode="5s", fusion="6s", reward="5.3f", found="4.1f", nothing="d",
        riders="4.1f", calls="6.0f", seconds="6.0f",
    )  # fmt: skip
    results = []
    with ProcessPoolExecutor() as pool:
        for useless, mode, fusion in product(asked.useless, ("sync", "async"), FUSIONS):
            cases = [(mode, fusion, useless, seed) for seed in range(asked.repeat)]
            runs = list(pool.map(searched, cases))
            shown = {"useless": useless, "mode": mode, "fusion": fusion}
            results += [{**shown, "seed": seed, **run} for seed, run in enumerate(runs)]
            few = fusion == "union" and useless < 0.5 and mid(runs, "found") < LEAST_FOUND
            table.row(
                **shown,
                nothing=sum(run["found"] == 0 for run in runs),
                **{
                    key: mid(runs, key) for key in ("reward", "found", "riders", "calls", "seconds")
                },
                missed=["rules found"] if few else [],
            )
    end(asked, table, results)


if __name__ == "__main__":
    main()
