"""
Episodes of MiniTerm a second: whole populations, one at a time, and beside two floors.

    python benchmarks/episodes.py --check

One floor is random commands, looked up in the tables of the rules, with nothing else.  The other is
the network alone, asked sixteen times an episode with nothing to look up.  Populations do both, on
one thread; seconds are seconds of CPU.
"""

from __future__ import annotations

import argparse
import os
import random
from time import perf_counter, process_time

from harness.fresh import call
from harness.tables import Table, add_common, end, mid

LEAST = 200_000
"""Episodes a second of CPU of a population of 128 that does 64 tasks."""

LEAST_SHARE = 0.2
"""Of the turns a second of the network alone, for that population."""

CASES = (
    ("network", 128, 64),
    ("look-ups", 128, 64),
    ("likeliest", 128, 64),
    ("drawn", 128, 64),
    ("likeliest", 128, 32),
    ("likeliest", 2, 64),
    ("likeliest", 2, 512),
    ("random", 1, 64),
    ("policy", 1, 64),
)
"""What is measured, thetas, tasks.  The last two are the environment itself, an episode at a time."""


def best(work, seconds):
    """
    The least seconds of CPU of a call.
    """
    work()
    ended, times = perf_counter() + seconds, []
    while perf_counter() < ended:
        began = process_time()
        work()
        times.append(process_time() - began)
    return min(times)


def network(count, episodes):
    """
    Sixteen times all logits, in blocks as large as the population's.
    """
    import numpy as np

    from headway_envs.miniterm import TURNS, TaskBatch, warm_start
    from headway_envs.miniterm._policy import Networks
    from headway_envs.miniterm._rollouts import _ROWS

    rows = _ROWS // episodes
    networks = Networks(np.tile(warm_start(), (rows, 1)))
    batch = TaskBatch.draw(0, 0, episodes)
    told = networks.told(np.tile(batch.index, (rows, 1)))
    view = np.random.default_rng(0).integers(160, size=(rows, episodes))

    def work():
        for _ in range(count // rows * TURNS):
            networks.logits(told, view)

    return work, TURNS


def look_ups(count, episodes):
    """
    Sixteen look-ups an episode, in blocks as large as the population's.
    """
    import numpy as np

    from headway_envs.miniterm import TURNS, TaskBatch
    from headway_envs.miniterm._rollouts import _ROWS
    from headway_envs.miniterm._tables import tables

    batch, (codes, views) = TaskBatch.draw(0, 0, episodes), tables()
    blocks = count * episodes // _ROWS
    commands = np.random.default_rng(0).integers(11, size=(TURNS, _ROWS))

    def work():
        for _ in range(blocks):
            code = np.resize(batch.codes, _ROWS)
            for row in commands:
                at = code * 12 + row
                code = codes[at].astype(np.int64)
                views[at]

    return work, TURNS


def population(count, episodes, sample):
    """
    Thetas around the warm start.
    """
    import numpy as np

    from headway_envs.miniterm import DIMENSION, TaskBatch, rollouts, warm_start

    noise = np.random.default_rng(0).normal(size=(count, DIMENSION))
    thetas, batch = warm_start() + 0.05 * noise, TaskBatch.draw(0, 0, episodes)
    turns = rollouts(thetas, batch, sample=sample).turns.mean()
    return lambda: rollouts(thetas, batch, sample=sample), float(turns)


def one_by_one(episodes, act):
    """
    The environment, an episode at a time.
    """
    from headway_envs import play
    from headway_envs.miniterm import MiniTerm, TaskBatch

    batch, world = TaskBatch.draw(0, 0, episodes), MiniTerm()
    tasks = [batch.task(n) for n in range(episodes)]

    def work():
        return [play(world, task, act, random.Random(0)) for task in tasks]

    return work, sum(len(done.actions) for done in work()) / episodes


def measured(kind, count, episodes, seconds):
    """
    Episodes and turns a second of one case.
    """
    from headway_envs.miniterm import Policy, warm_start

    if kind == "network":
        work, turns = network(count, episodes)
    elif kind == "look-ups":
        work, turns = look_ups(count, episodes)
    elif kind == "random":
        work, turns = one_by_one(episodes, lambda seen, rng: rng.randrange(11))
    elif kind == "policy":
        policy = Policy(warm_start())
        work, turns = one_by_one(episodes, lambda seen, rng: policy.command(seen))
    else:
        work, turns = population(count, episodes, sample=kind == "drawn")
    rate = count * episodes / best(work, seconds)
    return {"episodes": rate, "turns": rate * turns}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each is repeated")
    add_common(parser, repeat=3)
    return parser.parse_args()


def main():
    asked = arguments()
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    table = Table(
        kind="10s",
        thetas="6d",
        tasks="5d",
        episodes_a_second="17.0f",
        turns_a_second="14.0f",
        of_the_network="14.3f",
    )
    results = [
        [
            call("episodes:measured", kind=k, count=c, episodes=e, seconds=asked.seconds)
            for k, c, e in CASES
        ]
        for _ in range(asked.repeat)
    ]
    for place, (kind, count, episodes) in enumerate(CASES):
        runs = [result[place] for result in results]
        share = mid(results, lambda result, p=place: result[p]["turns"] / result[0]["turns"])
        rate = mid(runs, "episodes")
        table.row(
            kind=kind,
            thetas=count,
            tasks=episodes,
            episodes_a_second=rate,
            turns_a_second=mid(runs, "turns"),
            of_the_network=share,
            missed=missed((kind, count, episodes), rate, share),
        )
    end(asked, table, results)


def missed(case, rate, share):
    """
    What is not as it must be.
    """
    if case != ("likeliest", 128, 64):
        return []
    told = [f"{rate:.0f} < {LEAST} episodes a second"] if rate < LEAST else []
    return told + (
        [f"{share:.3f} < {LEAST_SHARE} of the network alone"] if share < LEAST_SHARE else []
    )


if __name__ == "__main__":
    main()
