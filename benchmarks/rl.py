"""
What staleness costs and what it buys: a policy that learns MiniTerm, synchronous and ahead of itself.

    python benchmarks/rl.py
    python benchmarks/rl.py --driver threads --seeds 2 --mean 0.05

Episodes take log-normal times of sigma 1, training half a mean episode.  Under the simulated driver
seconds are virtual, and the training is as real as under threads.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from statistics import fmean, stdev

import attrs

from harness.tables import Table
from headway import GateView, Reservations
from headway.durations import parse_law
from headway.keyed import keyed_rng
from headway_envs import Slow
from headway_envs.miniterm import MiniTerm, TaskBatch, warm_start
from headway_rl import Adam, AsyncTrainer, Network, NumpyTrainer, Schedule

GROUPS, SIZE, SLOTS = 8, 8, 128
ARMS = {"sync": 0, "S=1": 1, "S=2": 2, "S=4": 4}
HALF = 0.5
"""Training, in mean episodes."""

T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
"""The 97.5 % quantiles of Student's distribution for 1, 2, ... degrees of freedom."""


def slowed(law):
    """
    MiniTerm whose episodes take a while; a new one for each episode.
    """
    return Slow(MiniTerm(), law)


def trainer_of(staleness, seed, mean, driver, rate):
    """
    A fresh trainer of MiniTerm; the seed chooses its tasks.
    """
    tasks, held_out = TaskBatch.draw(seed, 0, 512), TaskBatch.draw(seed, 1, 64)
    law = parse_law(f"lognormal:{mean},1")
    return AsyncTrainer(
        environment=partial(slowed, law) if driver == "threads" else MiniTerm,
        trainer=NumpyTrainer(
            network=Network(features=27, hidden=32, actions=12),
            theta=warm_start(),
            optimizer=Adam(learning_rate=rate),
        ),
        rows=[tasks.task(n) for n in range(len(tasks))],
        held_out=[held_out.task(n) for n in range(len(held_out))],
        max_staleness=staleness,
        groups_per_step=GROUPS,
        group_size=SIZE,
        schedule=Schedule(concurrency=SLOTS, admit_ahead=1),
        forward_backward_batch=None,  # training is one call, so that its length is known
        announce=None,
    )


def play(job):
    """
    One run; returns its figures.
    """
    arm, seed, how, given = job
    warnings.simplefilter("ignore")
    steps = []
    trainer = trainer_of(ARMS[arm], seed, given.mean, given.driver, given.rate)
    first = trainer.domain().initial()
    more = {"updates": given.updates}
    if how[0] == "seconds":
        more = {"max_seconds": how[1], "shutdown_grace": 0.0}
    if given.driver == "simulated":
        laws = {"rollout": f"lognormal:{given.mean},1", "train": f"constant:{HALF * given.mean}"}
        more["durations"] = {kind: parse_law(text) for kind, text in laws.items()}
    result = trainer.run(
        driver=given.driver, seed=seed, final_draws=1, on_step=steps.append, **more
    )
    if result.stop_reason != how[0].replace("seconds", "max_seconds"):
        raise RuntimeError(f"{arm} ended by {result.stop_reason}: {result.error}")
    ages = [age for step in steps for age in step.groups.values()]
    curve, now = [], 0.0
    for step in steps:
        now += step.metrics["train/interval_seconds"]
        curve.append((now, step.metrics["reward/mean"]))
    return {
        "arm": arm,
        "seed": seed,
        "how": how[0],
        "updates": len(steps),
        "seconds": now,
        "baseline": held_out_reward(trainer, first, given.draws),
        "reward": held_out_reward(trainer, result.state, given.draws),
        "age": fmean(ages),
        "most": max(ages),
        "waited": sum(step.metrics["staleness/wait_seconds"] for step in steps),
        "curve": curve,
    }


def held_out_reward(trainer, state, draws):
    """
    The mean reward of a state over all held-out tasks, each so many times with chance of its own.
    """
    domain = attrs.evolve(trainer, environment=MiniTerm).domain()
    return fmean(
        domain.measure(state, task, rng=keyed_rng("held out", task.id, draw))
        for task in domain.tasks().held_out
        for draw in range(draws)
    )


def modelled(staleness, seed, updates, mean):
    """
    The seconds that so many updates take when nothing but the gate, episodes and training takes time.
    """
    gate = Reservations(groups_per_step=GROUPS, max_staleness=staleness, admit_ahead=1)
    rng, place = Random(seed), math.log(mean) - 0.5
    now, head, ends, trains = 0.0, 0, [], False
    while head < updates:
        view = GateView(head=head, sweeping=trains)
        while gate.admit(view):
            longest = max(rng.lognormvariate(place, 1) for _ in range(SIZE))
            heappush(ends, (now + longest, gate.reserve(head)))
        if gate.take(view):
            batch, trains = gate.batch(), True
            heappush(ends, (now + HALF * mean, -1))
        now, ended = heappop(ends)
        if ended < 0:
            gate.trained(batch)
            head, trains = head + 1, False
        else:
            gate.complete(ended)
    return now


def interval(values):
    """
    A mean and half the length of its 95 % interval.
    """
    values = list(values)
    if len(values) < 2:
        return fmean(values), math.inf
    quantile = T95[min(len(values) - 2, len(T95) - 1)]
    return fmean(values), quantile * stdev(values) / math.sqrt(len(values))


def of(results, arm, how):
    return sorted(
        (r for r in results if r["arm"] == arm and r["how"] == how), key=lambda r: r["seed"]
    )


def table(results, how, given):
    """
    A row an arm; the last figures are paired with the synchronous run of the same seed.
    """
    shown = Table(
        arm="6s",
        updates="7.1f",
        seconds="8.1f",
        speed="6.2f",
        limit="6.2f",
        age="5.2f",
        most="4d",
        reward="7.4f",
        within="7.4f",
        against_sync="12.4f",
        within_2="8.4f",
    )
    base = of(results, "sync", how)
    pace = [r["seconds"] / r["updates"] for r in base]
    for arm, staleness in ARMS.items():
        runs = of(results, arm, how)
        speeds = [p * r["updates"] / r["seconds"] for p, r in zip(pace, runs, strict=True)]
        count = round(fmean(r["updates"] for r in runs))
        limit = fmean(
            modelled(0, seed, count, given.mean) / modelled(staleness, seed, count, given.mean)
            for seed in range(40)
        )
        reward, within = interval(r["reward"] for r in runs)
        cost, around = interval(r["reward"] - b["reward"] for r, b in zip(runs, base, strict=True))
        missed = ["the bound"] if max(r["most"] for r in runs) > staleness else []
        if given.driver == "simulated" and not 0.93 < fmean(speeds) / limit < 1.07:
            missed.append("the limit")
        shown.row(
            arm=arm,
            updates=fmean(r["updates"] for r in runs),
            seconds=fmean(r["seconds"] for r in runs),
            speed=fmean(speeds),
            limit=limit,
            age=fmean(r["age"] for r in runs),
            most=max(r["most"] for r in runs),
            reward=reward,
            within=within,
            against_sync=cost,
            within_2=around,
            missed=missed,
        )
    return shown.missed


def draw(results, path):
    """
    Reward of the batches over updates and over seconds, the mean of all seeds and its interval.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for colour, arm in zip(("#000000", "#0072B2", "#009E73", "#D55E00"), ARMS, strict=True):
        for axes, how in ((left, "updates"), (right, "seconds")):
            points = curves(of(results, arm, how), how)
            if points:
                at, mean, low, high = zip(*points, strict=True)
                axes.plot(at, mean, color=colour, label=arm)
                axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
    for axes, name in ((left, "updates"), (right, "seconds")):
        axes.set_xlabel(name)
        axes.grid(visible=True, alpha=0.3)
    left.set_ylabel("reward of a batch, mean of ten")
    left.legend()
    figure.savefig(path)


def curves(runs, how, points=40, window=10):
    """
    Place, mean and ends of the interval, where every run has got.
    """
    smoothed = []
    for run in runs:
        rewards = [reward for _, reward in run["curve"]]
        at = [now for now, _ in run["curve"]] if how == "seconds" else range(1, len(rewards) + 1)
        means = [fmean(rewards[max(0, n - window + 1) : n + 1]) for n in range(len(rewards))]
        smoothed.append(list(zip(at, means, strict=True)))
    end = min(curve[-1][0] for curve in smoothed) if smoothed else 0
    found = []
    for n in range(1, points + 1):
        place = end * n / points
        held = [[mean for at, mean in curve if at <= place] for curve in smoothed]
        if all(held):
            mean, within = interval(values[-1] for values in held)
            found.append((place, mean, mean - within, mean + within))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--driver", choices=("simulated", "threads"), default="simulated")
    parser.add_argument("--seeds", type=int, default=10, help="seeds of each arm")
    parser.add_argument("--updates", type=int, default=150, help="updates of each run")
    parser.add_argument("--mean", type=float, default=1.0, help="seconds of a mean episode")
    parser.add_argument("--rate", type=float, default=0.01, help="the learning rate")
    parser.add_argument("--draws", type=int, default=8, help="draws of each held-out task")
    parser.add_argument("--processes", type=int, default=2, help="runs at once, if simulated")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a figure is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every single result")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw the curves")
    given = parser.parse_args()
    alone = given.driver == "threads"
    with ProcessPoolExecutor(1 if alone else given.processes) as pool:
        seeds = range(given.seeds)
        equal_updates = [(arm, seed, ("updates",), given) for arm in ARMS for seed in seeds]
        results = list(pool.map(play, equal_updates))
        print(f"equal updates: {given.updates} of {GROUPS * SIZE} episodes")
        missed = table(results, "updates", given)
        length = min(fmean(r["seconds"] for r in of(results, arm, "updates")) for arm in ARMS)
        equal_seconds = [(arm, seed, ("seconds", length), given) for arm in ARMS for seed in seeds]
        results += pool.map(play, equal_seconds)
    print(f"\nequal seconds: {length:.1f}, as long as the fastest took")
    missed += table(results, "seconds", given)
    baseline = fmean(result["baseline"] for result in results)
    print(f"\nheld-out reward before training: {baseline:.4f}")
    if given.json is not None:
        given.json.write_text(json.dumps(results))
    if given.figure is not None:
        draw(results, given.figure)
    sys.exit(bool(missed and given.check))


if __name__ == "__main__":
    main()
