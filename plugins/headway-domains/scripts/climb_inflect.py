"""
Plain hill climbing on the inflect domain: what the domain can be expected to give.

Run it where the plug-in is installed; it takes a few seconds a seed::

    python scripts/climb_inflect.py --seeds 10 --rollouts 1000 --batch 1

A round rolls out ``batch`` training tasks, taken in an order that is shuffled anew for each epoch,
and asks for one rule after each rollout that was not solved.  Each rule is scored on the held-out
tasks by itself.  Those that raise the score are added together (of several for one suffix, the
best) when that is no worse than the best of them alone, and else that one is added.  The test split
is scored once, at the end.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from statistics import fmean, median

from headway.contracts import Json, Task
from headway.keyed import keyed_rng
from headway_domains.inflect import Inflect

TARGET = 0.92
DOMAIN = Inflect()


def score(state: Json, tasks: tuple[Task, ...]) -> float:
    """
    The mean reward over some tasks.
    """
    return fmean(DOMAIN.measure(state, task) for task in tasks)


def endless(seed: int) -> Iterator[Task]:
    """
    The training tasks, epoch after epoch, each in an order of its own.
    """
    epoch = 0
    while True:
        order = list(DOMAIN.tasks().train)
        keyed_rng(seed, "order", epoch).shuffle(order)
        yield from order
        epoch += 1


def proposed(state: Json, task: Task, seed: int, number: int) -> Json | None:
    """
    What one rollout suggests; None when it was solved.
    """
    outcome = DOMAIN.rollout(state, task, rng=keyed_rng(seed, "rollout", number))
    return DOMAIN.propose(state, task, outcome, rng=keyed_rng(seed, "propose", number))


def merged(state: Json, diffs: list[Json], best: float) -> tuple[Json, float]:
    """
    The state after one round, and its held-out score.
    """
    held_out = DOMAIN.tasks().held_out
    alone = [(score(DOMAIN.apply(state, diff), held_out), diff) for diff in diffs]
    helpful = sorted((pair for pair in alone if pair[0] > best), key=lambda pair: pair[0])
    if not helpful:
        return state, best
    together = state
    for _, diff in helpful:  # the best comes last, and so wins its suffix
        together = DOMAIN.apply(together, diff)
    together_score = score(together, held_out)
    top_score, top = helpful[-1]
    if together_score >= top_score:
        return together, together_score
    return DOMAIN.apply(state, top), top_score


def climb(seed: int, rollouts: int, batch: int) -> tuple[Json, float, int | None]:
    """
    The final state, its held-out score, and the rollouts that the target took (None: not met).
    """
    state, tasks = DOMAIN.initial(), endless(seed)
    best, reached = score(state, DOMAIN.tasks().held_out), None
    for start in range(0, rollouts, batch):
        found = [proposed(state, next(tasks), seed, start + i) for i in range(batch)]
        state, best = merged(state, [diff for diff in found if diff is not None], best)
        if reached is None and best >= TARGET:
            reached = start + batch
    return state, best, reached


def main() -> None:
    """
    One line a seed, then the median of the test scores.
    """
    parser = argparse.ArgumentParser(description="Plain hill climbing on the inflect domain.")
    parser.add_argument("--seeds", type=int, default=10, help="how many seeds, from 0 on")
    parser.add_argument("--rollouts", type=int, default=1000, help="rollouts a seed")
    parser.add_argument("--batch", type=int, default=1, help="rollouts a round")
    asked = parser.parse_args()
    tests: list[float] = []
    for seed in range(asked.seeds):
        state, best, reached = climb(seed, asked.rollouts, asked.batch)
        tests.append(score(state, DOMAIN.tasks().test))
        print(f"seed {seed}: {TARGET} after {reached}, held-out {best:.4f}, test {tests[-1]:.4f}")
    print(f"median test {median(tests):.4f}")


if __name__ == "__main__":
    main()
