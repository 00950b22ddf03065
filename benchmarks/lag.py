"""
A large lag budget with few tolerated: time to the target, and the longest time without a commit.

    python benchmarks/lag.py --check

Workers keep their snapshots (``resync="lag"``), and policies tolerate a lag of 1 (``alpha=1``).
"""

from __future__ import annotations

import argparse
from itertools import product

from harness.fresh import call
from harness.tables import Table, add_common, end, mid

RATIOS = (0, 2, 4, 8, 64)
REFERENCE, WIDEST = 4, 64
MOST_TIME = 1.3
MOST_GAP = 3.0
MOST_ROLLOUTS = 400
"""Rollouts a worker after which a run that does not reach the target is ended."""


def searched(driver, workers, share, mean, law, policy, bind, async_ratio, seed):
    """
    One run to the target; ``seconds`` to it, and the ``gap`` between commits in rollouts' lengths.
    """
    from harness.durations import Waits, plan
    from harness.rules import DOMAINS
    from harness.search import Search
    from harness.watching import Watch, longest_gap
    from headway import run

    watch, most = Watch(), workers * MOST_ROLLOUTS
    result = run(
        DOMAINS[driver](Waits(plan(law, mean, most, seed)), Search(share, most, seed)),
        driver=driver,
        n_workers=workers,
        async_ratio=async_ratio,
        resync="lag",
        alpha=1,
        policy=policy,
        bind=bind,
        target_reward=1.0,
        max_rollouts=most,
        self_verify=False,  # as everywhere in these benchmarks
        observers=[watch],
        seed=seed,
    )
    return {
        "seconds": result.wallclock,
        "gap": longest_gap(watch.commits) / mean,
        "rollouts": result.rollouts,
        "commits": result.version,
        "stale": result.stale_rate(),
        "refreshes": result.forced_refreshes,
        "stop": result.stop_reason,
    }


def misses(ratio, runs, reference):
    if any(run["stop"] != "target_reward" for run in runs):
        yield "target not reached"
    if ratio == WIDEST and reference is not None and mid(runs, "seconds") > MOST_TIME * reference:
        yield f"{mid(runs, 'seconds') / reference:.2f} x the time at {REFERENCE}"
    if mid(runs, "gap") > MOST_GAP:
        yield f"gap {mid(runs, 'gap'):.1f}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--drivers", nargs="+", default=["threads"])
    parser.add_argument("--policies", nargs="+", default=["full", "guarded", "reflective"])
    parser.add_argument("--ratios", type=int, nargs="+", default=RATIOS)
    parser.add_argument("--means", type=float, nargs="+", default=[20, 200], metavar="MS")
    parser.add_argument("--law", default="constant")
    parser.add_argument("--binds", nargs="+", default=["late"], help="late, early")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--share", type=float, default=0.5, help="of rollouts that propose")
    add_common(parser)
    return parser.parse_args()


def main():
    asked = arguments()
    table = Table(
        driver="7s",
        bind="5s",
        policy="10s",
        mean_ms="4.0f",
        ratio="3d",
        seconds="7.2f",
        gap="5.1f",
        rollouts="6.0f",
        commits="4.0f",
        stale="6.3f",
        refreshes="4.0f",
        stop="s",
    )
    results, references = [], {}
    settings = product(asked.drivers, asked.binds, asked.policies, asked.means)
    for setting, ratio in product(settings, asked.ratios):
        driver, bind, policy, mean = setting
        case = {
            "driver": driver,
            "workers": asked.workers,
            "share": asked.share,
            "mean": mean / 1000,
            "law": asked.law,
            "policy": policy,
            "bind": bind,
            "async_ratio": ratio,
        }
        runs = [call("lag:searched", **case, seed=seed) for seed in range(asked.repeat)]
        results += [{**case, **run} for run in runs]
        if ratio == REFERENCE:
            references[setting] = mid(runs, "seconds")
        table.row(
            driver=driver,
            bind=bind,
            policy=policy,
            mean_ms=mean,
            ratio=ratio,
            **{name: mid(runs, name) for name in ("seconds", "gap", "rollouts", "commits")},
            stale=mid(runs, "stale"),
            refreshes=mid(runs, "refreshes"),
            stop=runs[-1]["stop"],
            missed=list(misses(ratio, runs, references.get(setting))),
        )
    end(asked, table, results)


if __name__ == "__main__":
    main()
