"""
The router domain to its target: rollouts without latency, time with it, beside the public package.

    python benchmarks/router.py --check

Each row is one mode and one staleness policy on the seeds 0 to 9.  With latency, each run on a
training task, a rollout or a verification, takes 100 ms on average (log-normal, sigma 1), and
everything else takes no time.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from time import perf_counter

from harness.durations import Waits, plan
from harness.fresh import call
from harness.peers import FOLDER, interpreter
from harness.tables import Table, add_common, end, mid

POLICIES = ("full", "guarded", "reflective")
WORKERS, RATIO, NOISE, TARGET, SECONDS = 6, 4, 0.12, 0.95, 15.0
MEAN, SIGMA = 0.1, 1.0
"""Seconds of a mean rollout, and the standard deviation of their logarithms."""

PLANNED = 2_000
"""Durations drawn for one run: more than any of them needs."""

MOST_ROLLOUTS = 150
MOST_TIME = 0.6
MOST_MORE = 2.5


def searched(mode, policy, latency, driver="threads", seed=0):
    """
    One run of Headway.

    Args:
        mode: ``sync`` or ``async``.
        policy: The staleness policy.
        latency: Whether rollouts take time.
        driver: ``simulated`` follows the same law on its own clock.
        seed: Of the run and of the durations.
    """
    from headway import run
    from headway.durations import LogNormal

    slept = latency and driver != "simulated"
    waits = Waits(plan("lognormal", MEAN, PLANNED, seed)) if slept else None
    laws = {"rollout": LogNormal(MEAN, SIGMA)} if latency else {}
    options = {
        "mode": mode,
        "driver": driver,
        "policy": policy,
        "n_workers": WORKERS,
        "async_ratio": RATIO,
        "target_reward": TARGET,
        "max_seconds": SECONDS,
        **({"durations": laws} if driver == "simulated" else {}),
    }
    run(slow_router(None), **options, seed=seed)  # a process imports once
    began = perf_counter()
    result = run(slow_router(waits), **options, seed=seed)
    wall = result.wallclock if driver == "simulated" else perf_counter() - began
    return {
        "wall": wall,
        "rollouts": result.rollouts,
        "runs": result.calls["rollout"] + result.calls["verify"],
        "commits": result.version,
        "reward": result.final_reward,
        "stop": result.stop_reason,
    }


def slow_router(waits):
    """
    The domain whose rollouts wait as planned; None for no waiting.
    """
    from headway_domains.router import Router

    class SlowRouter(Router):
        def rollout(self, state, task, *, rng):
            if waits is not None:
                waits.wait()
            return super().rollout(state, task, rng=rng)

    return SlowRouter(noise=NOISE)


def peer(mode, policy, latency, python, seed):
    """
    The same by the public package, in its own environment.
    """
    from headway_domains.router import make_task_universe

    universe = make_task_universe()
    tasks = universe.splits()
    return call(
        "harness.router_peer:searched",
        python,
        train=[task.data["items"] for task in tasks.train],
        held_out=[task.data["items"] for task in tasks.held_out],
        labels=sorted(set(universe.gold.values())),
        mode=mode,
        policy=policy,
        noise=NOISE,
        ratio=RATIO,
        workers=WORKERS,
        reach=TARGET,
        seconds=SECONDS,
        planned=plan("lognormal", MEAN, PLANNED, seed) if latency else [],
        seed=seed,
    )


def misses(mode, latency, runs, peers):
    """
    What a row of Headway misses.
    """
    unreached = [n for n, run in enumerate(runs) if run["stop"] != "target_reward"]
    if unreached:
        yield f"target, seeds {unreached}"
    if max(run["wall"] for run in runs) > SECONDS:
        yield f"above {SECONDS:g} s"
    most = max(run["rollouts"] for run in runs)
    if not latency and most > MOST_ROLLOUTS:
        yield f"{most} rollouts > {MOST_ROLLOUTS}"
    if latency and mode == "async" and peers:
        time, rollouts = share(runs, peers, "wall"), share(runs, peers, "rollouts")
        if time > MOST_TIME:
            yield f"time {time:.2f} > {MOST_TIME}"
        if rollouts > MOST_MORE:
            yield f"rollouts {rollouts:.2f} > {MOST_MORE}"


def share(runs, peers, name):
    """
    A figure summed over the seeds, as a multiple of the peer's.
    """
    return sum(run[name] for run in runs) / sum(run[name] for run in peers)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--modes", nargs="+", default=["sync", "async"])
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=list(POLICIES))
    parser.add_argument("--latencies", type=int, nargs="+", choices=(0, 100), default=[0, 100])
    parser.add_argument("--peers", type=Path, default=FOLDER, help="the peers' environment")
    add_common(parser, repeat=10)
    return parser.parse_args()


def main():
    asked = arguments()
    python = interpreter(asked.peers)
    with_peer = python.exists()
    if not with_peer:
        print("Without peers; python benchmarks/make_peers.py makes their environment.")
    table = Table(
        engine="12s",
        mode="5s",
        policy="10s",
        latency="d",
        wall="6.2f",
        worst="6.2f",
        of_sync="7.2f",
        simulated="9.2f",
        rollouts="8.0f",
        most="d",
        of_sync_="7.2f",
        reached="d",
    )
    results, seeds = [], range(asked.repeat)
    for latency in asked.latencies:
        sync = []
        for mode in ("sync", "async") if with_peer else ():
            fields = {"mode": mode, "policy": "guarded", "latency": latency}
            runs = [peer(**fields, python=str(python), seed=seed) for seed in seeds]
            sync = sync or runs
            show(table, "agentdescent", fields, runs, sync, [])
            results += [{"engine": "agentdescent", **fields, **run} for run in runs]
        for mode, policy in product(asked.modes, asked.policies):
            fields = {"mode": mode, "policy": policy, "latency": latency}
            runs = [call("router:searched", **fields, seed=seed) for seed in seeds]
            simulated = [
                call("router:searched", **fields, driver="simulated", seed=seed) for seed in seeds
            ]
            show(table, "headway", fields, runs, sync, simulated)
            results += [{"engine": "headway", **fields, **run} for run in runs]
    end(asked, table, results)


def show(table, engine, fields, runs, peers, simulated):
    missed = misses(fields["mode"], fields["latency"], runs, peers) if engine == "headway" else ()
    table.row(
        engine=engine,
        **fields,
        wall=mid(runs, "wall"),
        worst=max(run["wall"] for run in runs),
        of_sync=share(runs, peers, "wall") if peers else None,
        simulated=mid(simulated, "wall") if simulated else None,
        rollouts=mid(runs, "rollouts"),
        most=max(run["rollouts"] for run in runs),
        of_sync_=share(runs, peers, "rollouts") if peers else None,
        reached=sum(run["stop"] == "target_reward" for run in runs),
        missed=list(missed),
    )


if __name__ == "__main__":
    main()
