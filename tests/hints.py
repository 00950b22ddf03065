"""
A toy agent for the tests of ``evolve``: a task is solved once its hint is among the rules.
"""

from __future__ import annotations

from headway import AppendRules, Task

HINTS = ("alpha", "beta", "gamma", "delta")
TASKS = [Task(id=f"t{n}", data=HINTS[n % 4]) for n in range(20)]


def reward(task, output):
    return output == "right"


def run(rendered, task):
    return "right" if task.data in rendered else "wrong"


def propose(rendered, task, output, reward):
    return f"say {task.data}"


async def run_awaited(rendered, task):
    return run(rendered, task)


async def propose_awaited(rendered, task, output, reward):
    return propose(rendered, task, output, reward)


async def reward_awaited(task, output):
    return reward(task, output)


def parts(**more):
    """
    What ``evolve`` needs beside tasks and reward.
    """
    return {"run": run, "propose": propose, "strategy": AppendRules(), **more}
