"""
What the domain does when a step has it train: keeps the trainer, the head and the gradient in step.

The trainer stands on some head.  A request for another one - a commit was lost, the process is new - makes it
load that first.  A gradient is used only when it is known to be exactly the batch's; else it is made anew
from the data.  So every request can be made again, though an earlier try went half the way or all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import attrs

from headway.contracts import Card, Json, content_digest
from headway_rl._advantages import WeightedGroup
from headway_rl._aggregator import group_of
from headway_rl._asking import Ask, Asks
from headway_rl._chunks import Accumulation
from headway_rl._trainer import Metrics, Published, Trainer


def head_value(published: Published, state: Json, update: int) -> Json:
    """
    The state that the ledger keeps: where the weights are, and never the weights themselves, unless
    their reference is them.
    """
    return {
        "weights": published.reference,
        "fingerprint": published.fingerprint,
        "trainer": state,
        "update": update,
    }


def published_of(state: Json) -> Published:
    """
    The weights that a state refers to.
    """
    return Published(reference=state["weights"], fingerprint=state["fingerprint"])


@attrs.define(eq=False)
class Training:
    """
    Makes the requests of steps on a trainer; one at a time.

    Args:
        trainer: The trainer.
    """

    trainer: Trainer
    rebuilt: int = attrs.field(default=0, init=False)
    """How often a gradient was made anew at the update, since it was not exactly the batch's."""
    _stands_on: str = attrs.field(default="", init=False)
    _gradient: Accumulation = attrs.field(factory=Accumulation, init=False)
    _made: tuple[str, Json] | None = attrs.field(default=None, init=False)

    def begin(self) -> Asks[Json]:
        """
        The state that a run starts from: the trainer as it is.
        """
        state = yield from self._state(update=0)
        return state

    def request(self, state: Json, groups: Sequence[WeightedGroup], payload: Json) -> Asks[Json]:
        """
        What one ``Train`` of ``GroupTrainer`` asks for.

        Args:
            state: The head that the step is a transaction on.
            groups: The groups that it names; see ``weighted_of``.
            payload: What it says.

        Raises:
            ValueError: the payload is none of its requests.
        """
        if payload["do"] == "chunk":
            return self._chunk(state, groups, payload)
        if payload["do"] == "update":
            return self._update(state, groups, payload)
        message = f"{payload['do']!r} is no training; an update or a chunk is"
        raise ValueError(message)

    def _chunk(self, state: Json, groups: Sequence[WeightedGroup], payload: Json) -> Asks[Json]:
        base = yield from self._stand(state)
        metrics = yield from self._add(base, payload["batch"], groups, reset=payload["reset"])
        return {"added": metrics is not None, "metrics": dict(metrics or {})}

    def _update(self, state: Json, groups: Sequence[WeightedGroup], payload: Json) -> Asks[Json]:
        chunks = payload["chunks"]
        if not chunks:
            return {"state": state, "metrics": {}, "rebuilt": False}
        name = content_digest([content_digest(state), payload["factor"], payload["rows"]])
        numbers = [group.group.number for group in groups]
        step_id = f"{state['update'] + 1}-{content_digest([name, numbers])[:16]}"
        if self._made is not None and self._made[0] == step_id:
            return self._made[1]
        metrics, rebuilt = yield from self._whole(state, groups, payload)
        self._gradient.spoil()
        self._stands_on = ""  # until all of it is done, nobody knows where the trainer stands
        moved = yield Ask(partial(self.trainer.optim_step, step_id, payload["factor"]))
        new = yield from self._state(update=state["update"] + 1)
        told: dict[str, float] = {**metrics, **(moved or {})}
        answer: Json = {"state": new, "metrics": told, "rebuilt": rebuilt}
        self._made = (step_id, answer)
        return answer

    def _whole(
        self, state: Json, groups: Sequence[WeightedGroup], payload: Json
    ) -> Asks[tuple[Metrics, bool]]:
        """
        See to it that the gradient is that of the whole batch.
        """
        base, chunks = (yield from self._stand(state)), payload["chunks"]
        useful = tuple(number for chunk in chunks for number in chunk)
        if self._gradient.holds(base, payload["batch"], useful):
            return {}, False
        by_number = {group.group.number: group for group in groups}
        metrics: dict[str, float] = {}
        for place, chunk in enumerate(chunks):
            some = [by_number[number] for number in chunk]
            told = yield from self._add(base, payload["batch"], some, reset=place == 0)
            metrics.update(told or {})
        self.rebuilt += payload["sent"]
        return metrics, payload["sent"]

    def _add(
        self, base: str, batch: str, groups: Sequence[WeightedGroup], *, reset: bool
    ) -> Asks[Metrics | None]:
        """
        Add the gradient of some groups; None when what is there is in doubt, and nothing was added.
        """
        numbers = tuple(group.group.number for group in groups)
        if not self._gradient.begin(base, batch, numbers, reset=reset):
            return None
        metrics: Metrics | None = yield Ask(partial(self.trainer.forward_backward, groups, reset))
        self._gradient.done()
        return metrics or {}

    def _stand(self, state: Json) -> Asks[str]:
        """
        Have the trainer stand on a head; returns what names that.
        """
        base = content_digest(state)
        if base != self._stands_on:
            self._gradient.spoil()
            self._stands_on = ""
            yield Ask(partial(self.trainer.load, published_of(state), state["trainer"]))
            self._stands_on = base
        return base

    def _state(self, *, update: int) -> Asks[Json]:
        published = yield Ask(self.trainer.publish)
        kept = yield Ask(self.trainer.state_dict)
        state = head_value(published, kept, update)
        self._stands_on = content_digest(state)
        return state


def weighted_of(cards: Sequence[Card], payload: Json) -> tuple[WeightedGroup, ...]:
    """
    The groups that a request of ``GroupTrainer`` names, with the weights that it says.
    """
    rows, oldest = payload.get("rows", ()), payload.get("oldest")
    return tuple(
        WeightedGroup(group=group_of(card), advantages=tuple(row), oldest=oldest)
        for card, row in zip(cards, rows, strict=True)
    )
