"""
The peer ``agentdescent`` on the hidden hints, by its documented interface.

What is not set here has the peer's own default.
"""

from __future__ import annotations

from agentdescent import AppendRules, Task, async_evolve, evolve

from harness.hints import HELD_OUT, HINTS, TASKS, hint_of

DAY = 86_400.0
"""Seconds that no run takes: the peer needs a limit."""

ROUNDS = 250
"""More than it ever takes."""


def search(watched, train, held, *, mode, driver, workers, slots, seed, law):
    def known(rendered):
        return [hint for hint in HINTS if hint in rendered]

    def run(rendered, task):
        watched.wait()
        number, hints = task.meta["number"], known(rendered)
        watched.scored(number, hints)
        return "1.0" if hint_of(number) in hints else "0.0"

    def propose(rendered, task, output, reward):
        watched.wait()
        return hint_of(task.meta["number"])

    tasks = [  # the peer holds out the last ones
        Task(id=f"task-{n}", prompt=f"task {n}", meta={"number": n}) for n in (*train, *held)
    ]
    common = {
        "run": run,
        "propose": propose,
        "strategy": AppendRules(),
        "n_workers": workers,
        "eval_concurrency": slots - workers,
        "held_out_frac": HELD_OUT / TASKS,
        "target_reward": 1.0,
        "seed": seed,
    }

    def reward(task, output):
        return float(output)

    if mode == "sync":
        result = evolve(tasks, reward, rounds=ROUNDS, max_concurrency=workers, **common)
    else:
        result = async_evolve(tasks, reward, max_seconds=DAY, max_iters=ROUNDS * workers, **common)
    return {
        "stop": result.stop_reason,
        "final": result.final_reward,
        "sweeps": result.outcomes(),
    }
