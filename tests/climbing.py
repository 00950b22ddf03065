"""
A hill and optimizers that climb it by the outcomes of groups, for several test files.
"""

from __future__ import annotations

from headway.contracts import Artifact, Commit, Domain, Gather, Outcome, Splits, Task, Work
from headway.keyed import keyed_rng


class Hill(Domain):
    """
    A number that is to be 3; a rollout may look a little aside of it.
    """

    name = "hill"
    deterministic = True

    def tasks(self):
        return Splits(
            train=[Task(id="north"), Task(id="south")],
            held_out=[Task(id=f"look-{n}") for n in range(8)],
        )

    def initial(self):
        return 0.0

    def rollout(self, state, task, *, payload):
        return Outcome(reward=max(0.0, 1 - abs(state + (payload or 0.0) - 3) / 4))

    def propose(self, state, task, outcome):
        raise AssertionError("nobody asks for proposals")

    def apply(self, state, diff):
        return diff


class Climber:
    """
    Follows the mean slope of mirrored pairs; remembers how many updates it made.
    """

    learns_from = "outcomes"
    batch = 4
    group_size = 2

    def select(self, ticket, head, memory, rng):
        aside = keyed_rng(ticket.seed, ticket.group).gauss(0, 1)
        return Work(payload=-aside if ticket.member else aside)

    def step(self, cards, context):
        pairs = [card.members for card in cards]
        slopes = [(up.reward - down.reward) * up.payload for up, down in pairs]
        moved = context.head.artifact.value + 0.5 * sum(slopes) / len(slopes)
        yield Commit(Artifact(moved), cards, memory={"updates": self._count(context) + 1})

    def _count(self, context):
        return (context.memory or {"updates": 0})["updates"]


class Gatherer(Climber):
    """
    The same, and begins with the first groups of its batch.
    """

    gathers = True

    def step(self, cards, context):
        held = list(cards)
        while more := (yield Gather()):
            held += more
        yield from super().step(sorted(held, key=lambda card: card.number), context)
