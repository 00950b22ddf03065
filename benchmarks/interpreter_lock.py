"""
How many times as fast several workers are as one, by what a rollout does: Python code that computes
holds the interpreter's lock, and what waits does not.

    python benchmarks/interpreter_lock.py
"""

from __future__ import annotations

import argparse
import hashlib
import time

from harness.fresh import call
from harness.tables import Table, add_common, end, mid
from headway import run
from headway.contracts import Domain, Outcome, Splits, Task, TicketEnded

SECONDS = 0.05
"""Of a rollout, when nothing else runs."""

LEAST_WAITING = 0.8
"""Of the number of workers: how many times as fast they must be where rollouts wait."""

BLOCK = b"x" * 4096


def spin(rounds):
    """
    Python code, which holds the lock; returns how long it took.
    """
    start = time.perf_counter()
    total = 0
    for number in range(rounds):
        total += number * number % 7
    return time.perf_counter() - start


def stretch(rounds):
    """
    Library code that lets the lock go while it computes, as numpy does for large arrays.
    """
    start = time.perf_counter()
    hashlib.pbkdf2_hmac("sha256", BLOCK, BLOCK, rounds)
    return time.perf_counter() - start


def rounds_for(work):
    """
    How many rounds of it take about as long as a rollout is to take.
    """
    return round(1000 * SECONDS / min(work(1000) for _ in range(20)))


def wait(rounds):
    """
    As for a model, a simulator or a subprocess.
    """
    time.sleep(SECONDS)


KINDS = {
    "waits": (wait, None, "thread"),
    "computes in Python": (spin, spin, "thread"),
    "computes without the lock": (stretch, stretch, "thread"),
    "computes in processes": (spin, spin, "process"),
}
"""What a rollout does, what its length is found with, and the executor."""


class Work(Domain):
    """
    Rollouts that do one kind of work and propose nothing.
    """

    name = "work"
    deterministic = True

    def __init__(self, rollouts, do, rounds):
        self.rollouts, self.do, self.rounds = rollouts, do, rounds

    def tasks(self):
        train = [Task(id=f"t{number}") for number in range(self.rollouts)]
        return Splits(train=train, held_out=[Task(id="h1"), Task(id="h2")])

    def initial(self):
        return {}

    def rollout(self, state, task):
        self.do(self.rounds)
        return Outcome(reward=0.5)

    def measure(self, state, task):
        return 0.5

    def propose(self, state, task, outcome):
        return None

    def apply(self, state, diff):
        return state


def measured(kind, workers, rollouts, seed):
    """
    The seconds of one search, had all workers been at it from the beginning.
    """
    do, calibrated, executor = KINDS[kind]
    rounds = rounds_for(calibrated) if calibrated else 0
    ended = []
    run(
        Work(rollouts, do, rounds),
        executor=executor,
        n_workers=workers,
        max_rollouts=rollouts + workers,
        seed=seed,
        self_verify=False,
        observers=[lambda notice: isinstance(notice, TicketEnded) and ended.append(notice.now)],
    )
    first, last = ended[workers - 1], ended[-1]  # processes have started by then
    return {"seconds": last - first, "rollouts": rollouts}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 8])
    parser.add_argument("--rollouts", type=int, default=64)
    add_common(parser)
    return parser.parse_args()


def main():
    asked = arguments()
    table = Table(rollout="26s", workers="7d", wall="6.2f", of_one="6.2f")
    results = []
    for kind in KINDS:
        alone = None
        for workers in asked.workers:
            repeated = [
                call(
                    "interpreter_lock:measured",
                    kind=kind,
                    workers=workers,
                    rollouts=asked.rollouts,
                    seed=seed,
                )
                for seed in range(asked.repeat)
            ]
            wall = mid(repeated, "seconds")
            alone = alone or wall
            least = LEAST_WAITING * workers
            missed = [f"< {least:.1f}"] if kind == "waits" and alone / wall < least else []
            table.row(rollout=kind, workers=workers, wall=wall, of_one=alone / wall, missed=missed)
            results += [{"kind": kind, "workers": workers, **one} for one in repeated]
    end(asked, table, results)


if __name__ == "__main__":
    main()
