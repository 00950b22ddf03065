"""
How much of the time that its rollouts need a search takes, by engine, driver and number of workers.

    python benchmarks/overlap.py --repeat 3 --check

An efficiency is the bound (greedy list scheduling of the durations that the rollouts really took)
divided by the seconds of the whole run.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

from harness.case import Case, scaled_ratio
from harness.durations import LAWS
from harness.engines import ENGINES
from harness.fresh import call
from harness.peers import FOLDER, interpreter
from harness.tables import Table, add_common, bar, counts, end, mid

SIZES = ("4:20", "8:20", "32:20", "128:20", "512:200", "512:20")
"""Workers, and milliseconds of a mean rollout."""

FEW_WORKERS = 4
"""The final reward at any size is held against that at this one."""


def least_efficiency(case):
    """
    The efficiency that Headway must reach; None where it is only reported.
    """
    if case.engine != "headway" or case.each < 150:
        return None
    if case.share == 0.5:
        return 0.85 if (case.driver, case.workers) == ("threads", 128) else None
    by_size = {(n, 0.02): 0.97 for n in (4, 8, 32)} | {(128, 0.02): 0.94, (512, 0.2): 0.95}
    return by_size.get((case.workers, case.mean))


def cases(asked):
    """
    Every combination that was asked for, the sizes of one setting after the other.
    """
    for law, share, engine, driver in product(
        asked.laws, asked.shares, asked.engines, asked.drivers
    ):
        if driver not in ENGINES[engine].drivers:
            continue
        for size, ratio in product(asked.sizes, asked.ratios):
            workers, mean = size
            yield Case(
                engine=engine,
                driver=driver,
                workers=workers,
                mean=mean,
                law=law,
                share=share,
                each=asked.each,
                async_ratio=scaled_ratio(workers) if ratio == "scaled" else int(ratio),
            )


def repeated(case, asked):
    peer = ENGINES[case.engine].peer
    python = str(interpreter(asked.peers)) if peer else sys.executable
    return [
        call("harness.case:measured", python, **{**vars(case), "seed": seed})
        for seed in range(asked.repeat)
    ]


def missed(case, efficiency, reward, few_reward):
    least = least_efficiency(case)
    if least is not None and efficiency < least:
        yield f"{efficiency:.3f} < {least}"
    if case.engine == "headway" and few_reward is not None and reward < few_reward:
        yield f"reward below {few_reward:.2f}"


def show(table, case, runs, few_rewards):
    efficiency = mid(runs, "efficiency")
    reward = mid(runs, lambda run: run["final_reward"]) if "final_reward" in runs[0] else None
    setting = (case.law, case.share, case.engine, case.driver)
    if case.workers == FEW_WORKERS:
        few_rewards[setting] = reward
    table.row(
        engine=case.engine,
        driver=case.driver,
        law=case.law,
        share=case.share,
        workers=case.workers,
        mean_ms=case.mean * 1000,
        ratio=case.async_ratio,
        efficiency=efficiency,
        floor=mid(runs, lambda run: run["floors"][0]["efficiency"]),
        bar=bar(efficiency),
        wall=mid(runs, "wall"),
        floor_wall=mid(runs, lambda run: run["floors"][0]["wall"]),
        reward=reward,
        rollouts=mid(runs, "rollouts"),
        cards=counts(runs[-1].get("decisions", {})),
        missed=list(missed(case, efficiency, reward, few_rewards.get(setting))),
    )


def size(text):
    workers, mean = text.split(":")
    return int(workers), float(mean) / 1000


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--sizes", type=size, nargs="+", default=[*map(size, SIZES)], metavar="N:MS"
    )
    parser.add_argument("--each", type=int, default=150, help="rollouts a worker")
    parser.add_argument("--laws", nargs="+", choices=LAWS, default=["lognormal", "pareto"])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.1, 0.5], metavar="P")
    parser.add_argument("--drivers", nargs="+", choices=("threads", "asyncio"))
    parser.add_argument("--engines", nargs="+", choices=ENGINES)
    parser.add_argument("--ratios", nargs="+", default=["scaled"], help="scaled, or numbers")
    parser.add_argument("--peers", type=Path, default=FOLDER, help="the peers' environment")
    add_common(parser)
    asked = parser.parse_args()
    asked.drivers = asked.drivers or ["threads", "asyncio"]
    asked.engines = asked.engines or without_peers(asked.peers)
    needed = [name for name in asked.engines if ENGINES[name].peer]
    if needed and not interpreter(asked.peers).exists():
        parser.error(f"{needed[0]} needs the peers' environment: python benchmarks/make_peers.py")
    return asked


def without_peers(folder):
    """
    All engines but the bare loop, which every row shows, and but peers that are not installed.
    """
    if interpreter(folder).exists():
        return ["headway", "agentdescent"]
    print("Without peers; python benchmarks/make_peers.py makes their environment.")
    return ["headway"]


def main():
    asked = arguments()
    table = Table(
        engine="12s",
        driver="7s",
        law="9s",
        share="5.1f",
        workers="d",
        mean_ms="4.0f",
        ratio="3d",
        efficiency="6.3f",
        floor="6.3f",
        bar="20s",
        wall="7.2f",
        floor_wall="7.2f",
        reward="6.3f",
        rollouts="8.0f",
        cards="s",
    )
    results, few_rewards = [], {}
    for case in cases(asked):
        runs = repeated(case, asked)
        show(table, case, runs, few_rewards)
        results += runs
    end(asked, table, results)


if __name__ == "__main__":
    main()
