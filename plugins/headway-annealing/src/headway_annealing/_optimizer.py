"""
The optimizer: simulated annealing.

After S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by Simulated Annealing", 1983, with the
rule of N. Metropolis and others, "Equation of State Calculations by Fast Computing Machines", 1953.
"""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Mapping, Sequence
from typing import Any, ClassVar

import attrs
from attrs.validators import ge, instance_of, lt

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
from headway_annealing._cooling import Cooling, accepts

_COUNT: Any = [instance_of(int), ge(1)]


@attrs.frozen(kw_only=True)
class Place:
    """
    A state and its mean score.
    """

    artifact: Artifact
    score: float


@attrs.define(eq=False, kw_only=True)
class Annealing:
    """
    Walks from state to state, also to worse ones while it is hot; the head is the best one so far.

    All rollouts work on the state that the walker stands on when they begin.  A change that was found
    on an earlier state is tried on the present one; where the domain cannot apply it there, what is
    tried is the state that it was found on, changed.

    The temperature falls with the number of the rollout that a change comes from, so a run that is
    gone on with is as cool as it was.

    Its memory holds the state that the walker stands on, unless that is the head, and its score and the head's.

    Args:
        batch_size: How many new cards make a step worth while; the attribute is ``batch``.
        start: The temperature before the first rollout, in units of the reward range: a move that is
            worse by this much is made with the chance 0.37.
        half_life: Rollouts after which the temperature is half of what it was.
        draws: Draws of each held-out task when rewards are not deterministic.

    Raises:
        TypeError: an option is of another type.
        ValueError: it is out of its range.
    """

    # Eta counts from the head, which is not where the walker stands; and a change that does not help
    # its own task is a move like any other.
    defaults: ClassVar[Mapping[str, Json]] = {"policy": "full", "self_verify": False}

    batch: int = attrs.field(default=1, alias="batch_size", validator=_COUNT)
    start: float = attrs.field(
        default=0.01, validator=[instance_of((int, float)), ge(0), lt(math.inf)]
    )
    half_life: int = attrs.field(default=100, validator=_COUNT)
    draws: int = attrs.field(default=4, validator=_COUNT)

    def select(self, ticket: Ticket, head: Snapshot, memory: Json, rng: random.Random) -> Work:
        """
        The state that the walker stands on.
        """
        if memory is None or memory["walker"] is None:
            return Work()
        return Work(parent=memory["walker"])

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Try the changes one after the other, each on the state that the ones before have led to.
        """
        here, best = yield from self._places(context)
        cooling = Cooling(start=self.start, half_life=self.half_life)
        low, high = context.reward_range
        width = high - low if math.isfinite(high - low) else 1.0
        moved: list[Card] = []
        for card in cards:
            there = yield from self._scored(_changed(card, here.artifact, context), context)
            gain = (there.score - here.score) / width
            if accepts(gain, cooling.at(card.tickets[0]), context.rng):
                moved.append(card)
                here = there
                best = max(best, there, key=lambda place: place.score)
            else:
                yield Consume([card])
        if moved:
            yield Commit(best.artifact, moved, memory=_memory(here, best))

    def _places(self, context: StepContext) -> Generator[Request, Any, tuple[Place, Place]]:
        """
        Where the walker stands, and the best place that it has stood on, which is the head.

        On a head that somebody else has committed the walk begins anew.
        """
        held: Any = context.memory
        if held is None or held["head"] != context.head.digest:
            head = yield from self._scored(context.head.artifact, context)
            return head, head
        best = Place(artifact=context.head.artifact, score=held["best"])
        if held["walker"] is None:
            return best, best
        return Place(artifact=held["walker"], score=held["score"]), best

    def _scored(self, artifact: Artifact, context: StepContext) -> Generator[Request, Any, Place]:
        draws = 1 if context.deterministic else self.draws
        (row,) = yield Measure([artifact], context.held_out, draws)
        return Place(artifact=artifact, score=math.fsum(row) / len(row))


def _changed(card: Card, here: Artifact, context: StepContext) -> Artifact:
    if card.parent is None or card.parent == here:
        return context.apply(card.diff, onto=here)
    try:
        return context.apply(card.diff, onto=here)
    except Exception:  # noqa: BLE001 - whatever a domain raises, this is how it says that it does not fit
        return context.apply(card.diff, onto=card.parent)


def _memory(here: Place, best: Place) -> Json:
    at_best = here.artifact == best.artifact
    return {
        "head": best.artifact.digest,
        "best": best.score,
        "walker": None if at_best else here.artifact,
        "score": here.score,
    }
