"""
The optimizer: Pareto-based selection of candidates, with merges.

After L. A. Agrawal and others, "GEPA: Reflective Prompt Evolution Can Outperform Reinforcement
Learning", 2025 (arXiv:2507.19457): candidates are kept that are the best on at least one instance, a
parent is drawn in proportion to the number of instances on which it leads, a child that does not help
the tasks that it was made for is not measured any further, and complementary candidates are merged.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping, Sequence
from math import fsum
from typing import Any, ClassVar

import attrs
from attrs.validators import ge, instance_of

from headway.contracts import (
    Artifact,
    Card,
    Commit,
    Consume,
    Json,
    Measure,
    Request,
    Snapshot,
    Step,
    StepContext,
    Ticket,
    Work,
)
from headway_pareto._front import Member, best_of, chosen
from headway_pareto._memory import Memory
from headway_pareto._merging import most_promising

_COUNT: Any = [instance_of(int), ge(1)]


@attrs.define(eq=False, kw_only=True)
class ParetoFront:
    """
    Keeps every candidate that is the best on some instance; each rollout works on one of them.

    An instance is a held-out task.  The head is the candidate with the best mean.  Each step measures
    the children that came in, on every instance, and after one was let in also the merge of the two
    members that promise most together.  A child whose card says that it does not help its own task is
    not measured.

    Its memory holds the front with its scores and the changes that made it.

    Args:
        batch_size: How many new cards make a step worth while; the attribute is ``batch``.
        size: How many candidates are kept at most.
        draws: Draws of each instance when rewards are not deterministic.
        merge: Whether complementary members are merged.

    Raises:
        TypeError: an option is of another type.
        ValueError: it is out of its range.
    """

    defaults: ClassVar[Mapping[str, Json]] = {"policy": "full"}  # eta counts from the head alone

    batch: int = attrs.field(default=1, alias="batch_size", validator=_COUNT)
    size: int = attrs.field(default=20, validator=_COUNT)
    draws: int = attrs.field(default=4, validator=_COUNT)
    merge: bool = attrs.field(default=True, validator=instance_of(bool))

    def select(self, ticket: Ticket, head: Snapshot, memory: Json, rng: random.Random) -> Work:
        """
        A member of the front, in proportion to the number of instances on which it leads.
        """
        if memory is None:
            return Work()
        place = chosen(memory["leads"], rng)
        if place == memory["best"] and memory["head"] == head.digest:
            return Work()  # the head itself: its rollouts may bind late
        return Work(parent=memory["members"][place][0])

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Measure the children, let those in that belong to the front, and merge.
        """
        memory = begun = Memory.read(context.memory)
        children = yield from self._worthwhile(cards, memory, context)
        memory, admitted, dropped = yield from self._measured(children, memory, context)
        if dropped:
            yield Consume(dropped)
        if admitted and self.merge:
            memory = yield from self._merged(memory, context)
        best = best_of(memory.members).artifact
        memory = attrs.evolve(memory, head=best.digest)
        if admitted or best != context.head.artifact:
            yield Commit(best, admitted, memory=memory.to_json())
            return None
        return None if memory == begun else memory.to_json()

    def _worthwhile(
        self, cards: Sequence[Card], memory: Memory, context: StepContext
    ) -> Generator[Request, Any, list[tuple[Card, Member]]]:
        """
        The children that are worth measuring on every instance.
        """
        by_artifact = {member.artifact: member for member in memory.members}
        children: dict[Artifact, tuple[Card, Member]] = {}
        idle: list[Card] = []
        again: list[Card] = []
        for card in cards:
            if card.delta is not None and card.delta <= 0:
                idle.append(card)
                continue
            parent = card.parent or context.head.artifact
            artifact = context.apply(card.diff, onto=parent)
            if artifact in by_artifact or artifact in children or artifact == parent:
                again.append(card)
                continue
            before = by_artifact[parent].changes if parent in by_artifact else ()
            made_by = (*before, card.number)
            children[artifact] = card, Member(artifact=artifact, scores=(), changes=made_by)
        if idle:
            yield Consume(idle)
        if again:
            yield Consume(again, "duplicate")
        return list(children.values())

    def _measured(
        self,
        children: Sequence[tuple[Card, Member]],
        memory: Memory,
        context: StepContext,
    ) -> Generator[Request, Any, tuple[Memory, list[Card], list[Card]]]:
        """
        The memory with the children that belong to the front; whose they are, and the others'.
        """
        head = context.head.artifact
        news = [] if memory.head == context.head.digest else [Member(artifact=head, scores=())]
        members = [*news, *(child for _, child in children)]
        scored = yield from self._scored(members, context)
        for member in scored[: len(news)]:  # the first head, or what somebody else has committed
            if not memory.knows(member):
                memory = memory.admitting(member, self.size) or memory
        admitted: list[Card] = []
        dropped: list[Card] = []
        for (card, _), child in zip(children, scored[len(news) :], strict=True):
            after = memory.admitting(child, self.size, card.diff)
            (dropped if after is None else admitted).append(card)
            memory = after or memory
        return memory, admitted, dropped

    def _merged(self, memory: Memory, context: StepContext) -> Generator[Request, Any, Memory]:
        """
        The memory after the merge that promises most was tried, if there is one.
        """
        pair = most_promising(memory.members, memory.tried)
        if pair is None:
            return memory
        memory = attrs.evolve(memory, tried=(*memory.tried, pair.key))
        diffs = (memory.changes[number] for number in pair.missing)
        artifact = context.apply(*diffs, onto=pair.better.artifact)
        merge = Member(artifact=artifact, scores=(), changes=pair.key)
        if memory.knows(merge):
            return memory
        (scored,) = yield from self._scored([merge], context)
        return memory.admitting(scored, self.size) or memory

    def _scored(
        self, members: Sequence[Member], context: StepContext
    ) -> Generator[Request, Any, list[Member]]:
        """
        The members with their mean score on each instance.
        """
        if not members:
            return []
        draws = 1 if context.deterministic else self.draws
        artifacts = [member.artifact for member in members]
        rows = yield Measure(artifacts, context.held_out, draws)
        return [
            attrs.evolve(member, scores=_by_instance(row, draws))
            for member, row in zip(members, rows, strict=True)
        ]


def _by_instance(row: Sequence[float], draws: int) -> tuple[float, ...]:
    return tuple(fsum(row[at : at + draws]) / draws for at in range(0, len(row), draws))
