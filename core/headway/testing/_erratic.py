"""
An aggregator that uses every part of its contract, by the toss of keyed coins.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import attrs

from headway.contracts import (
    Artifact,
    Card,
    Carry,
    Commit,
    Compare,
    Consume,
    Json,
    Measure,
    MeasureAll,
    Promote,
    Snapshot,
    Step,
    StepContext,
    Ticket,
    Train,
    Work,
)


@attrs.define(eq=False, kw_only=True)
class Erratic:
    """
    Commits, promotes, carries, consumes, trains, returns and raises; sometimes works on a parent of its
    own.

    Args:
        batch: How many new cards make a step worth while.
        max_steps: How many steps may be open at once.
        parents: The share of tickets that work on the last archived state instead of the head.
        faulty: The share of steps that raise.
        training: How likely a step has the domain train before anything else, and again before it ends.
    """

    batch: int = 1
    max_steps: int = 1
    parents: float = 0.2
    faulty: float = 0.02
    training: float = 0.0

    def select(self, ticket: Ticket, head: Snapshot, memory: Json, rng: random.Random) -> Work:
        """
        The head, or now and then the archived state.
        """
        del head
        if memory is None or rng.random() >= self.parents:
            return Work()
        return Work(parent=Artifact(memory["state"]), payload=ticket.number)

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Do something that the contract allows, or raise.
        """
        toss = context.rng.random
        count = 0 if context.memory is None else context.memory["count"]
        if toss() < self.faulty:
            raise RuntimeError("erratic")
        if not context.quiet and toss() < 0.1:
            return None
        card, rest = cards[0], cards[1:]
        yield from self._train(cards, context, 0)
        carried = [c for c in rest if toss() < 0.3 and not context.quiet]
        if carried:
            yield Carry(carried)
        consumed = [c for c in rest if c not in carried and toss() < 0.3]
        if consumed:
            yield Consume(consumed, "vetoed")
        child = context.apply(card.diff, onto=card.parent)
        way = toss()
        if way < 0.4:
            found = yield Compare(context.head, (child,), context.held_out)
            good = found.best is not None
        elif way < 0.7:
            one, others = context.held_out[:1], context.held_out[1:] or context.held_out
            pair = (context.head, child)
            found = yield MeasureAll([Measure(pair, one), Measure(pair[::-1], others, 2)])
            (before, after), (after_others, before_others) = found
            good = sum(after + after_others) >= sum(before + before_others)
        else:
            draws = 1 if context.deterministic else 2
            before, after = yield Measure((context.head, child), context.held_out, draws)
            good = sum(after) >= sum(before)
        memory = {"state": child.value, "count": count + 1}
        if good:
            head = yield Commit(child, [card], memory=memory)
            assert head.artifact == child
            if toss() < 0.3:
                yield Promote(head.version)
            if toss() < 0.3 and rest and rest[0] not in (*carried, *consumed):
                union = context.apply(rest[0].diff, onto=head.artifact)
                yield Commit(union, [rest[0]])
        yield from self._train(carried if good else [card], context, 1)
        return memory

    def _train(self, cards: Sequence[Card], context: StepContext, part: int) -> Step:
        if self.training and context.rng.random() < self.training:
            found = yield Train(cards, [context.step, part])
            found.clear()  # it is the step's own, to be changed at will
