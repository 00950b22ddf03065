"""
The peer ``agentdescent``, in its own environment, by its documented interface.

It gets the same durations, the same share of proposals and the same rules; a rule that is missing
from its artifact is wrong.  What is not set here has the peer's own default.  Its merger tries
proposals again on their training tasks; that is free here, as it is in Headway.
"""

from __future__ import annotations

import threading
from collections import Counter

from agentdescent import KeyedRules, Task, async_evolve

from harness.search import HELD_OUT, KEYS, TRAIN, watched

RIGHT = "right"

DAY = 86_400.0
"""Seconds that no run takes: the peer needs a limit."""


def tasks():
    sides = (("train", TRAIN), ("held", HELD_OUT))  # the peer holds out the last ones
    return [
        Task(id=f"{side}-{n}", prompt=f"{side} {n}", meta={"rules": watched(n)})
        for side, number in sides
        for n in range(number)
    ]


def is_right(rendered):
    return lambda rule: f"## {rule}\n{RIGHT}" in rendered


def is_rollout(task):
    """
    Whether a call is a worker's rollout, and not a measurement of the merger's.
    """
    return task.id.startswith("train") and "merger" not in threading.current_thread().name


def search(case, waits, search):
    def run(rendered, task):
        if is_rollout(task):
            return "0.5" if search.unsolved(waits.wait()) else "1.0"
        rules = task.meta["rules"]
        return str(sum(map(is_right(rendered), rules)) / len(rules))

    def propose(rendered, task, output, reward):
        rule, wrong = search.change(is_right(rendered))
        return f"{rule}: {f'wrong {wrong}' if wrong else RIGHT}"

    result = async_evolve(
        tasks(),
        lambda task, output: float(output),
        run=run,
        propose=propose,
        strategy=KeyedRules(KEYS),
        n_workers=case.workers,
        async_ratio=case.async_ratio,
        max_iters=case.rollouts,
        max_seconds=DAY,
        held_out_frac=HELD_OUT / (TRAIN + HELD_OUT),
        seed=case.seed,
        self_verify=False,  # as for Headway
    )
    decisions = Counter()
    for sweep in result.history:
        decisions["committed"] += sweep.committed
        decisions.update(sweep.reasons)
    return {
        "final_reward": result.final_reward,
        "decisions": dict(+decisions),
        "stop": result.stop_reason,
    }
