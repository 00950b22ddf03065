"""
The optimizer: MAP-Elites on islands.

After J.-B. Mouret and J. Clune, "Illuminating search spaces by mapping elites", 2015
(arXiv:1504.04909): a grid over what kind of solution something is, with the best of each kind in its
cell.  Several grids that exchange their best now and then: R. Tanese, "Distributed Genetic
Algorithms", 1989.  The two together are how OpenEvolve (A. Sharma, 2025) keeps programs.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping, Sequence
from math import fsum
from typing import Any, ClassVar

import attrs
from attrs.validators import ge, instance_of, le

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
from headway_islands._grid import Elite, cell_of, chosen
from headway_islands._memory import Memory

_COUNT: Any = [instance_of(int), ge(1)]


@attrs.define(eq=False, kw_only=True)
class Islands:
    """
    Keeps a grid of different solutions on each of several islands; each rollout works on one of them.

    What kind of solution an artifact is, the domain's ``describe`` says; of a domain without, its size
    counts.  A ticket belongs to the island of its number, and so does what comes of it.  The head is
    the best elite of all.

    Its memory holds the elites of all islands with their scores.

    Args:
        batch_size: How many new cards make a step worth while; the attribute is ``batch``.
        islands: How many islands there are.
        bins: Into how many parts the range of each descriptor is cut.
        migrate_every: Admissions after which the best of each island is sent to the next one.
        explore: The chance that a rollout works on any elite of its island instead of the best.
        draws: Draws of each held-out task when rewards are not deterministic.

    Raises:
        TypeError: an option is of another type.
        ValueError: it is out of its range.
    """

    # Eta counts from the head alone, and a child that is worse may still be the best of its kind.
    defaults: ClassVar[Mapping[str, Json]] = {"policy": "full", "self_verify": False}

    batch: int = attrs.field(default=1, alias="batch_size", validator=_COUNT)
    islands: int = attrs.field(default=3, validator=_COUNT)
    bins: int = attrs.field(default=6, validator=_COUNT)
    migrate_every: int = attrs.field(default=20, validator=_COUNT)
    explore: float = attrs.field(default=0.3, validator=[instance_of((int, float)), ge(0), le(1)])
    draws: int = attrs.field(default=4, validator=_COUNT)

    def select(self, ticket: Ticket, head: Snapshot, memory: Json, rng: random.Random) -> Work:
        """
        An elite of the ticket's island: the best, or with the chance ``explore`` any.
        """
        if memory is None:
            return Work()
        islands = memory["islands"]
        island = islands[ticket.number % len(islands)]
        cell = chosen(list(island["cells"]), island["best"], self.explore, rng)
        return Work(parent=island["cells"][cell][0])

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Measure the children, and let each in that is the best of its kind on its island.
        """
        memory = begun = Memory.read(context.memory, self.islands)
        children = [context.apply(card.diff, onto=card.parent) for card in cards]
        news = [] if memory.head == context.head.digest else [context.head.artifact]
        elites = yield from self._scored([*news, *children], context)
        for elite in elites[: len(news)]:  # the first head, or what somebody else has committed
            memory = memory.settled(self._cell(elite, context), elite)
        admitted: list[Card] = []
        dropped: list[Card] = []
        for card, elite in zip(cards, elites[len(news) :], strict=True):
            island = card.tickets[0] % len(memory.islands)
            after = memory.admitting(island, self._cell(elite, context), elite, self.migrate_every)
            (dropped if after is None else admitted).append(card)
            memory = after or memory
        if dropped:
            yield Consume(dropped)
        best = memory.best.artifact
        memory = attrs.evolve(memory, head=best.digest)
        if admitted or best != context.head.artifact:
            yield Commit(best, admitted, memory=memory.to_json())
            return None
        return None if memory == begun else memory.to_json()

    def _scored(
        self, artifacts: Sequence[Artifact], context: StepContext
    ) -> Generator[Request, Any, list[Elite]]:
        if not artifacts:
            return []
        draws = 1 if context.deterministic else self.draws
        rows = yield Measure(artifacts, context.held_out, draws)
        return [
            Elite(artifact=artifact, score=fsum(row) / len(row))
            for artifact, row in zip(artifacts, rows, strict=True)
        ]

    def _cell(self, elite: Elite, context: StepContext) -> str:
        return cell_of(elite.artifact, context.describe(elite.artifact), self.bins)
