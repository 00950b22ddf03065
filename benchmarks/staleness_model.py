"""
What bounds of staleness cost: training on batches of groups that take very different times.

    python benchmarks/staleness_model.py --check

A model without threads or clocks around the gate of groups: 8 groups in a batch, log-normal
durations with a median of 1 and sigma 1, 0.5 for training, and as much at once as is admitted.
"""

from __future__ import annotations

import argparse
from collections import deque
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from statistics import fmean

import attrs

from harness.tables import Table, end
from headway import GateView, Reservations

SIZE, TRAINING, UPDATES = 8, 0.5, 400
TRAINED = -1
"""What ends when training does; groups have numbers from 0 on."""

MOST_OFF_SPEED, MOST_OFF_AGE = 0.03, 0.02

POLICIES = {
    "synchronous": {"max_staleness": 0, "admit_ahead": 0},
    "wait 1, 1": {"max_staleness": 1, "admit_ahead": 1},
    "wait 2, 1": {"max_staleness": 2, "admit_ahead": 1},
    "wait 2, 2": {"max_staleness": 2, "admit_ahead": 2},
    "wait 4, 2": {"max_staleness": 4, "admit_ahead": 2},
    "wait 4, 4": {"max_staleness": 4, "admit_ahead": 4},
    "slots": {"max_staleness": 2, "admit_ahead": 2, "rule": "none"},
}
DROPPING = "drop and requeue"

EXPECTED = {
    "synchronous": (1.0, 0.0),
    "wait 1, 1": (1.67, 1.0),
    "wait 2, 1": (2.18, 1.0),
    "wait 2, 2": (2.22, 1.99),
    "wait 4, 2": (3.09, 1.99),
    "wait 4, 4": (3.10, 3.98),
    "slots": (6.72, 1.99),
    DROPPING: (2.20, 0.30),
}
"""Speed as a multiple of the synchronous one, and mean age in versions."""


def told(now, ages, dropped=0.0, tries=1):
    return {
        "seconds": now,
        "mean": fmean(ages),
        "most": max(ages),
        "dropped": dropped,
        "tries": tries,
    }


def gated(seed, updates=UPDATES, **options):
    """
    Training under the gate.
    """
    gate, rng = Reservations(groups_per_step=SIZE, **options), Random(seed)
    now, head, open_, ends, ages = 0.0, 0, False, [], []
    while head < updates:
        view = GateView(head=head, sweeping=open_)
        while gate.admit(view):
            heappush(ends, (now + rng.lognormvariate(0, 1), gate.reserve(head)))
        if gate.take(view):
            ages += [head - gate.stamp(group) for group in gate.batch()]
            heappush(ends, (now + TRAINING, TRAINED))
            open_ = True
        now, ended = heappop(ends)
        if ended == TRAINED:
            gate.trained(gate.in_training)
            head, open_ = head + 1, False
        else:
            gate.complete(ended)
        if options.get("rule") is None and not gate.within_bound(GateView(head=head)):
            raise AssertionError("the bound does not hold")
    return told(now, ages)


@attrs.define(eq=False)
class Dropping:
    """
    Training with a queue: whatever is more than ``most`` versions old is dropped, running or not,
    and its task is tried again, with the same duration.
    """

    seed: int
    most: int = 2
    room: int = 24
    head: int = 0
    now: float = 0.0
    ends: list = attrs.field(factory=list)
    again: deque = attrs.field(factory=deque)
    """Duration and tries of each task that waits for another try."""
    held: dict = attrs.field(factory=dict)
    """Stamp, duration and tries of each group, by number."""
    ready: list = attrs.field(factory=list)
    training: list = attrs.field(factory=list)
    started: int = 0
    dropped: int = 0
    tries: int = 1

    def start(self, rng):
        while len(self.held) < self.room:
            duration, tries = self.again.popleft() if self.again else (rng.lognormvariate(0, 1), 0)
            self.held[self.started] = (self.head, duration, tries + 1)
            heappush(self.ends, (self.now + duration, self.started))
            self.started += 1
            self.tries = max(self.tries, tries + 1)

    def drop_old(self):
        for group, (stamp, duration, tries) in list(self.held.items()):
            if self.head - stamp > self.most:
                del self.held[group]
                self.again.append((duration, tries))
                self.dropped += 1
        self.ready = [group for group in self.ready if group in self.held]

    def train(self):
        """
        The ages of the groups of a batch that begins now.
        """
        if self.training or len(self.ready) < SIZE:
            return []
        self.ready.sort()
        self.training, self.ready = self.ready[:SIZE], self.ready[SIZE:]
        heappush(self.ends, (self.now + TRAINING, TRAINED))
        return [self.head - self.held[group][0] for group in self.training]

    def wait(self):
        self.now, ended = heappop(self.ends)
        if ended == TRAINED:
            for group in self.training:
                del self.held[group]
            self.training = []
            self.head += 1
            self.drop_old()
        elif ended in self.held:
            self.ready.append(ended)

    def play(self, updates):
        rng, ages = Random(self.seed), []
        while self.head < updates:
            self.start(rng)
            ages += self.train()
            self.wait()
        return told(self.now, ages, self.dropped / self.started, self.tries)


def played(policy, seed, updates=UPDATES):
    """
    One run: its length, the ages of what it trained, and what it dropped.
    """
    if policy == DROPPING:
        return Dropping(seed).play(updates)
    return gated(seed, updates, **POLICIES[policy])


def summed(runs, synchronous):
    speeds = [base["seconds"] / run["seconds"] for base, run in zip(synchronous, runs, strict=True)]
    return {
        "speed": fmean(speeds),
        "mean": fmean(run["mean"] for run in runs),
        "most": max(run["most"] for run in runs),
        "dropped": fmean(run["dropped"] for run in runs),
        "tries": max(run["tries"] for run in runs),
    }


def misses(policy, found):
    speed, age = EXPECTED[policy]
    if abs(found["speed"] - speed) > MOST_OFF_SPEED * speed:
        yield f"speed {speed}"
    if abs(found["mean"] - age) > MOST_OFF_AGE * age:
        yield f"mean age {age}"
    most = POLICIES.get(policy, {"max_staleness": 2})["max_staleness"]
    if policy != "slots" and found["most"] != most:
        yield f"largest age {most}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="seeds from 0 on; means are shown")
    parser.add_argument("--updates", type=int, default=UPDATES)
    parser.add_argument("--policies", nargs="+", default=list(EXPECTED), choices=list(EXPECTED))
    parser.add_argument("--check", action="store_true", help="exit with 1 when a figure is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every single result")
    return parser.parse_args()


def main():
    asked, results = arguments(), []
    table = Table(policy="16s", speed="5.2f", mean="5.2f", most="4d", dropped="7.1%", tries="5d")
    synchronous = [played("synchronous", seed, asked.updates) for seed in range(asked.seeds)]
    for policy in asked.policies:
        runs = [played(policy, seed, asked.updates) for seed in range(asked.seeds)]
        results += [{"policy": policy, "seed": seed, **run} for seed, run in enumerate(runs)]
        found = summed(runs, synchronous)
        table.row(policy=policy, **found, missed=list(misses(policy, found)))
    end(asked, table, results)


if __name__ == "__main__":
    main()
