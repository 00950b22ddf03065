"""
A small domain and an optimizer that learns from outcomes, for the tests of groups.
"""

import threading

from headway import Artifact, Commit, Domain, Outcome, Splits, Task
from headway.contracts import Gather, Work

FREE = {"n_workers": 16, "policy": "wait", "final_draws": 1, "validate": True}


def options(**more):
    """Options of a run that ends after ten updates."""
    return {"updates": 10, **FREE, **more}


class Slope(Domain):
    """The nearer a number is to 3, the better; ``fail(ticket)`` may raise or block before."""

    name = "slope"
    deterministic = False
    reward_range = (-1e6, 0.0)

    def __init__(self, fail=lambda ticket: None):
        self.fail = fail

    def tasks(self):
        train, held_out = (
            [Task(id=f"{side}-{number}") for number in range(8)] for side in ("train", "held")
        )
        return Splits(train=train, held_out=held_out)

    def initial(self):
        return 0.0

    def rollout(self, state, task, *, payload, ticket, rng):
        if ticket is None:  # a measurement
            return Outcome(reward=-abs(state - 3))
        self.fail(ticket)
        tried = state + payload
        return Outcome(reward=-abs(tried - 3) - rng.random() / 100, output=payload)


class Better:
    """Moves towards the better half of what its members tried; notes what it was given."""

    learns_from = "outcomes"

    def __init__(self, batch=4, group_size=2, gathers=False, updates_per_step=1):
        self.batch, self.group_size, self.gathers = batch, group_size, gathers
        self.updates_per_step = updates_per_step
        self.batches, self.parts = [], []
        self.lock = threading.Lock()

    def select(self, ticket, head, memory, rng):
        return Work(payload=rng.gauss(0, 1))

    def step(self, cards, context):
        held, parts = list(cards), [len(cards)]
        while self.gathers and (more := (yield Gather())):
            held += more
            parts.append(len(more))
        held.sort(key=lambda card: card.number)
        members = sorted((m for card in held for m in card.members), key=lambda m: m.reward)
        best = members[-(len(members) + 1) // 2 :]
        state = context.head.artifact.value + 0.3 * sum(m.payload for m in best) / len(best)
        count = (context.memory or {"count": 0})["count"] + 1
        yield Commit(Artifact(state), held, memory={"count": count})
        self.batches.append(held)
        self.parts.append(parts)


def used(aggregator):
    """The numbers of the groups in each batch."""
    return [[card.number for card in batch] for batch in aggregator.batches]
