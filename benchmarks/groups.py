"""
What scheduling groups costs: CPU per event, and memory, where neither rollouts nor training take any.

    python benchmarks/groups.py --check

``machine`` is the machine under a bare virtual clock that answers its calls; ``run`` is a whole run under
the driver ``simulated``.  A rollout is one event, an update four.
"""

from __future__ import annotations

import argparse
import json
from heapq import heappop, heappush
from random import Random
from time import process_time

import headway
from harness.fresh import call
from harness.tables import Table, add_common, end, mid
from headway.backpressure import Backpressure
from headway.contracts import Artifact, Commit, Committed, Outcome, Snapshot, Work
from headway.durations import parse_law
from headway.gate import Reservations
from headway.machine import (
    Done,
    Machine,
    MachineConfig,
    Resume,
    Returned,
    Run,
    Started,
    Yielded,
)

WORKERS = 64
BATCH = 8
MILLION = 1_000_000
SECONDS = 60.0
"""For a million groups of one member."""

MICROSECONDS = 15.0
"""For an event, with groups of eight members."""

STEADY = 1.3
"""A checkpoint after all groups beside one after a tenth of them."""


class Alone:
    """
    Look-ups of nobody: no plug-in costs anything.
    """

    def __init__(self, train):
        self.answers, self.train, self.picked, self.work = [], train, 0, Work()

    def select(self, ticket, head, memory):
        return self.work

    def pick(self, book):
        self.picked += 1
        return self.train[self.picked % len(self.train)]

    def decide(self, eta, alpha, contract_breaking):
        return "accept"

    def estimate(self):
        return None

    def observe(self, seconds):
        pass


class Clock:
    """
    A machine of groups, driven by a bare virtual clock.
    """

    def __init__(self, size, groups):
        train = ("a", "b", "c", "d")
        config = MachineConfig(
            seed=0,
            train=train,
            held_out=("x", "y"),
            deterministic=False,
            n_workers=WORKERS,
            slots=WORKERS,
            learns_from="outcomes",
            group_size=size,
        )
        self.machine = Machine(
            config,
            gate=Reservations(groups_per_step=BATCH, groups=groups),
            alpha=2,
            backpressure=Backpressure(),
            lookups=Alone(train),
        )
        self.now, self.events, self.updates, self.checkpoints = 0.0, 0, 0, []
        self.due, self.rng, self.outcome = [], Random(1), Outcome(reward=0.0)
        self.head = Snapshot(0, Artifact(0))
        self.tenth = groups // BATCH // 10
        self.play(Started(0.0, self.head))

    def play(self, event):
        todo = [event]
        while todo:
            self.events += 1
            for said in self.machine.handle(todo.pop()):
                if isinstance(said, Run):
                    if said.call.kind == "commit":
                        self.updates += 1
                        committed = Committed(said.call.expected + 1)
                        todo.append(Done(self.now, said.call.id, committed))
                    else:
                        self.begin(said.call)
                elif isinstance(said, Resume):
                    if said.n:
                        todo.append(Returned(self.now, said.step, 2, None, 0.0))
                        self.weigh()
                    else:
                        self.head = said.value.head
                        request = Commit(Artifact(self.head.version + 1), said.value.cards)
                        todo.append(Yielded(self.now, said.step, 1, request, 0.0))

    def begin(self, call):
        seconds = self.rng.lognormvariate(0, 1) if call.kind == "rollout" else 0.0
        heappush(self.due, (self.now + seconds, call.id, call.kind))

    def weigh(self):
        if self.updates in (self.tenth, 9 * self.tenth):
            self.checkpoints.append(None)

    def run(self):
        while self.due:
            self.now, number, kind = heappop(self.due)
            value = self.outcome if kind == "rollout" else 0.0
            self.play(Done(self.now, number, value))
            waits = bool(self.checkpoints) and self.checkpoints[-1] is None
            if waits and self.machine.can_checkpoint:
                self.checkpoints[-1] = len(json.dumps(self.machine.checkpoint()))


def machine(size, groups):
    """
    The machine alone: CPU seconds, events, and how large its checkpoints are.
    """
    Clock(size, 10 * BATCH).run()  # imports are paid once
    began = process_time()
    clock = Clock(size, groups)
    clock.run()
    seconds = process_time() - began
    counts = clock.machine.statistics()
    assert counts.decisions["committed"] == groups
    early, late = clock.checkpoints[0], clock.checkpoints[-1]
    return {"cpu": seconds, "events": clock.events, "early": early, "late": late}


def run(size, groups):
    """
    A whole simulated run: CPU seconds, and events as above.
    """

    class Still(headway.Domain):
        name = "still"
        deterministic = False

        def tasks(self):
            names = ("train", "held_out")
            sides = {n: [headway.Task(id=f"{n}-{i}") for i in range(64)] for n in names}
            return headway.Splits(**sides)

        def initial(self):
            return 0

        def rollout(self, state, task):
            return headway.Outcome(reward=0.0)

    class Counting:
        learns_from = "outcomes"
        batch, group_size = BATCH, size

        def step(self, cards, context):
            yield Commit(Artifact(context.head.version + 1), cards)

    options = {
        "driver": "simulated",
        "durations": {"rollout": parse_law("lognormal:1.65,1")},
        "n_workers": WORKERS,
        "policy": "wait",
        "final_draws": 1,
    }
    headway.run(Still(), aggregator=Counting(), updates=10, **options)  # imports are paid once
    began = process_time()
    result = headway.run(Still(), aggregator=Counting(), max_rollouts=groups * size, **options)
    seconds = process_time() - began
    assert result.decisions["committed"] == groups
    return {"cpu": seconds, "events": groups * size + 4 * result.version}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--groups", type=int, default=MILLION, help="groups of one member")
    add_common(parser)
    asked = parser.parse_args()
    table = Table(
        what="9s", members="7d", groups="9d", seconds="8.1f", per_event="9.1f", limit="8s"
    )
    results = []
    for target, size in (("machine", 1), ("machine", 8), ("run", 1), ("run", 8)):
        groups = asked.groups if size == 1 else asked.groups // 20
        case = {"size": size, "groups": groups}
        found = [call(f"groups:{target}", **case) for _ in range(asked.repeat)]
        results += [{"target": target, **case, **one} for one in found]
        seconds = mid(found, "cpu")
        each = mid(found, lambda one: one["cpu"] / one["events"] * 1e6)
        whole = seconds * MILLION / groups
        missed, limit = [], f"{MICROSECONDS:.0f} us"
        if size == 1:
            limit = f"{SECONDS:.0f} s"
            missed += [f"{whole:.0f} s for a million"] if whole > SECONDS else []
        elif each > MICROSECONDS:
            missed.append(f"{each:.1f} > {MICROSECONDS} us")
        if target == "machine" and mid(found, lambda one: one["late"] / one["early"]) > STEADY:
            missed.append("its memory grows")
        table.row(
            what=target, members=size, groups=groups, seconds=seconds, per_event=each, limit=limit,
            missed=missed,
        )  # fmt: skip
    end(asked, table, results)


if __name__ == "__main__":
    main()
