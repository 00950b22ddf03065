"""
The router domain for the peer ``agentdescent``, by its documented interface.

It gets the same messages, clusters and held-out chunks, the same chance of a wrong label, and the
durations that Headway's rollouts get: each run on a training task waits once, scoring held-out tasks
takes no time.  What is not set here has the peer's own default.
"""

from __future__ import annotations

import random
from itertools import count
from time import perf_counter

from agentdescent import Task, async_evolve, evolve, get_policy
from agentdescent.domains.router import RouterStrategy, parse_table

from harness.durations import Waits

MOST = 4
"""Keywords a proposal, as in the domain."""


def engine_tasks(chunks, side):
    return [
        Task(id=f"{side}-{n}", prompt=f"{side} {n}", meta={"items": items})
        for n, items in enumerate(chunks)
    ]


def keyword(text):
    return text.split()[1]


def wrong_ones(rendered, task):
    """
    The keywords that a table gets wrong on a task, in order and once each, with their right labels.
    """
    table = parse_table(rendered)
    items = task.meta["items"]
    return {keyword(text): label for text, label in items if table.get(keyword(text)) != label}


def searched(
    train, held_out, labels, mode, policy, noise, ratio, workers, reach, seconds, planned, seed
):
    """
    One search by the peer; everything is JSON.

    Args:
        train: Clusters of messages, each a text and its label.
        held_out: Chunks of them.
        labels: All labels.
        mode: ``sync`` or ``async``.
        policy: The staleness policy's name.
        noise: The chance that a proposed label is wrong.
        ratio: The lag budget.
        workers: Rollouts at once.
        reach: The held-out reward that ends the search.
        seconds: The limit in seconds.
        planned: How long the rollouts take, in their order, in seconds; empty for no time.
        seed: Of the search and of the proposals.
    """
    waits = Waits(planned) if planned else None
    attempts = count()

    def run(rendered, task):
        if waits is not None and task.id.startswith("train"):
            waits.wait()
        items, table = task.meta["items"], parse_table(rendered)
        right = sum(table.get(keyword(text)) == label for text, label in items)
        return str(right / len(items))

    def propose(rendered, task, output, reward):
        rng = random.Random(f"{seed} {next(attempts)}")
        wrong = wrong_ones(rendered, task)
        picked = rng.sample(sorted(wrong), min(MOST, len(wrong)))
        told = {key: label_for(wrong[key], rng) for key in picked}
        return "\n".join(f"{key}: {label}" for key, label in told.items()) or None

    def label_for(right, rng):
        others = [label for label in labels if label != right]
        return rng.choice(others) if rng.random() < noise else right

    common = {
        "run": run,
        "propose": propose,
        "strategy": RouterStrategy(),
        "n_workers": workers,
        "target_reward": reach,
        "max_seconds": seconds,
        "held_out_frac": len(held_out) / (len(train) + len(held_out)),
        "staleness_policy": get_policy(policy),
        "seed": seed,
    }
    tasks = [*engine_tasks(train, "train"), *engine_tasks(held_out, "held")]
    began = perf_counter()
    if mode == "sync":
        rounds = {"rounds": 10_000, "max_concurrency": workers}
        result = evolve(tasks, lambda task, output: float(output), **rounds, **common)
    else:
        result = async_evolve(
            tasks, lambda task, output: float(output), async_ratio=ratio, **common
        )
    return {
        "wall": perf_counter() - began,
        "rollouts": result.rollouts,
        "waits": len(waits.taken) if waits is not None else 0,
        "reward": result.final_reward,
        "stop": result.stop_reason,
    }
