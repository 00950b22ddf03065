"""
An aggregator that learns from outcomes and uses every part of that contract, by the toss of keyed coins.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import attrs

from headway.contracts import (
    Artifact,
    Card,
    Commit,
    Consume,
    Gather,
    Json,
    Snapshot,
    Step,
    StepContext,
    Ticket,
    Train,
    Work,
)


@attrs.define(eq=False, kw_only=True)
class ErraticGroups:
    """
    Gathers, trains, commits all or some, changes something or nothing, consumes, returns and raises.

    Args:
        batch: Groups that a step gets.
        group_size: Rollouts that make a group.
        gathers: Whether a step begins before its batch is complete.
        updates_per_step: How often a step may move the head.
        faulty: The share of steps that raise.
        training: How likely a step trains on what it has by then.
    """

    learns_from = "outcomes"

    batch: int = 1
    group_size: int = 1
    gathers: bool = False
    updates_per_step: int = 1
    faulty: float = 0.02
    training: float = 0.0

    def select(self, ticket: Ticket, head: Snapshot, memory: Json, rng: random.Random) -> Work:
        """
        A number that tells members and attempts apart.
        """
        del head
        count = 0 if memory is None else memory["count"]
        return Work(payload=[ticket.group, ticket.member, rng.randrange(10), count])

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Do something that the contract allows, or raise.
        """
        toss = context.rng.random
        count = 0 if context.memory is None else context.memory["count"]
        if toss() < self.faulty:
            raise RuntimeError("erratic")
        if not context.quiet and not self.gathers and toss() < 0.1:
            return None
        held: list[Card] = list(cards)
        yield from self._train(cards, context)
        while self.gathers and (more := (yield Gather())):
            held += more
            yield from self._train(more, context)
        held.sort(key=lambda card: card.number)
        consumed = [card for card in held if toss() < 0.1]
        if consumed:
            yield Consume(consumed, "worse")
        used = [card for card in held if card not in consumed]
        first = used if toss() < 0.7 else used[: len(used) // 2]
        yield Commit(self._candidate(context, held), first, memory={"count": count + 1})
        rest = [card for card in used if card not in first]
        if rest and self.updates_per_step > 1 and toss() < 0.7:
            yield Commit(self._candidate(context, held[1:]), rest)
        return None

    def _candidate(self, context: StepContext, cards: Sequence[Card]) -> Artifact:
        """
        What the groups' outcomes say, or the head as it is.
        """
        state = context.head.artifact.value
        if context.rng.random() < 0.2:
            return context.head.artifact
        key = context.rng.choice(sorted(state))
        drawn = sum(member.payload[2] for card in cards for member in card.members)
        return Artifact({**state, key: drawn % 4})

    def _train(self, cards: Sequence[Card], context: StepContext) -> Step:
        if self.training and context.rng.random() < self.training:
            found = yield Train(cards, [context.step, len(cards)])
            found.clear()  # it is the step's own, to be changed at will
