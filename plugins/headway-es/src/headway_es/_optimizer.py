"""
The optimizer: an evolution strategy whose cards may be some updates old.

A group is one mirrored pair, its number is the job that keys the noise, and the perturbation is never sent:
whoever needs it draws it again.  A step has its cards in the order of their numbers, so what comes of a
batch does not depend on who evaluated it, when, or in which order.

After I. Rechenberg, "Evolutionsstrategie", 1973, in the form of T. Salimans and others, "Evolution
Strategies as a Scalable Alternative to Reinforcement Learning", 2017.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from attrs.validators import ge, gt, instance_of, lt, optional

from headway.contracts import (
    Artifact,
    Card,
    Commit,
    Json,
    Snapshot,
    Step,
    StepContext,
    Ticket,
    Work,
)
from headway.errors import ContractError, OptionError
from headway_es._arrays import decoded, encoded, state_of, theta_of
from headway_es._corrections import Correction, Importance, correction_of
from headway_es._delay import Delay, held_cards, held_json
from headway_es._diagnostics import reported, step_report
from headway_es._evidence import Evidence, evidence_of, in_order
from headway_es._kernels import Array
from headway_es._merge import Method
from headway_es._noise import Zig32, source_of
from headway_es._optimizers import Moments, optimizer_of
from headway_es._shaping import OF_PAIRS, shaping_of

_COUNT: Any = [instance_of(int), ge(1)]
_SIZE: Any = [instance_of((int, float)), gt(0), lt(float("inf"))]


def _corrections(given: Any) -> tuple[Correction, ...]:
    named = given.split(",") if isinstance(given, str) else given
    return tuple(correction_of(c) for c in named if c != "")


@attrs.define(eq=False, kw_only=True)
class ES:
    """
    Moves a parameter vector along the gradient that pairs of mirrored perturbations show.

    The state is ``{"theta": array}``.  How old a card may be is the gate's affair (``max_staleness``); a
    stale one counts with the noise that was drawn for it, unless a correction is asked for.

    Args:
        population: Pairs in a batch, N; it never depends on how many workers there are.
        sigma: The size of a perturbation.
        lr: The learning rate; None is the optimizer's own, 0.02.
        optimizer: ``adam``, ``sgd``, ``momentum``, or an ``Optimizer``.
        shaping: ``ranks``, ``pair-z``, ``signed-ranks`` or ``raw``.
        corrections: What is done about stale cards: some of ``recentre``, ``decay``, ``rate`` and
            ``importance``, or ``Correction`` objects; as one text, names with commas between them.
        noise: ``zig32-v1``, ``sign32-v1`` or ``table32-v1/K``.
        mirrored: Whether a job is a pair; else it is a single sample.
        delay: Holds a share of each batch back, for experiments.
        max_lag: The largest ``max_staleness`` that it bears; None is any.
        history: How many earlier centres are kept for the report, 0 for none; else also as many more as the
            oldest card needs, unless importance weights have a history of their own.
        cosine: Whether the report compares the gradients of fresh and of stale cards, which takes as
            long as the step again.

    Raises:
        OptionError: a name is unknown, or two options can't be used together.
        TypeError: an option is of another type.
        ValueError: it is out of its range.
    """

    learns_from: ClassVar[str] = "outcomes"
    group_size: ClassVar[int] = 1

    population: int = attrs.field(default=32, validator=_COUNT)
    sigma: float = attrs.field(default=0.05, validator=_SIZE)
    lr: float | None = attrs.field(default=None, validator=optional(_SIZE))
    optimizer: Any = attrs.field(default="adam")
    shaping: str = attrs.field(default="ranks")
    corrections: tuple[Correction, ...] = attrs.field(default=(), converter=_corrections)
    noise: str = attrs.field(default=Zig32.spec)
    mirrored: bool = attrs.field(default=True, validator=instance_of(bool))
    delay: Delay | None = attrs.field(default=None, validator=optional(instance_of(Delay)))
    max_lag: int | None = attrs.field(default=None, validator=optional([instance_of(int), ge(0)]))
    history: int = attrs.field(default=4, validator=[instance_of(int), ge(0)])
    cosine: bool = attrs.field(default=False, validator=instance_of(bool))
    _method: Method = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        source_of(self.noise, 0, 1)
        self._method = Method(
            shaping=shaping_of(self.shaping),
            optimizer=optimizer_of(self.optimizer, self.lr),
            corrections=self.corrections,
        )
        check_together(self.shaping, self.corrections, mirrored=self.mirrored)

    @property
    def batch(self) -> int:
        """
        Pairs in a batch.
        """
        return self.population

    def select(self, ticket: Ticket, head: Snapshot, memory: Json, rng: random.Random) -> Work:
        """
        What a worker needs to draw the perturbation itself.
        """
        payload = {
            "job": ticket.group,
            "batch": ticket.group // self.population,
            "seed": ticket.seed,
            "sigma": self.sigma,
            "noise": self.noise,
            "mirrored": self.mirrored,
        }
        return Work(payload=payload)

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        One update from one batch.
        """
        if not cards:
            return
        memory: Any = context.memory or {"moments": None, "thetas": {}, "held": [], "report": None}
        version, theta = context.head.version, theta_of(context.head.artifact.value)
        seed = int(cards[0].members[0].payload["seed"])
        batch = in_order(evidence_of(card, version) for card in cards)
        held = held_cards(memory["held"])
        if self.delay is not None:
            batch, held = self.delay.split(batch, held, seed=seed, version=version)
        yield self._commit(cards, batch, held, context, memory, theta=theta, seed=seed)

    def _commit(
        self,
        cards: Sequence[Card],
        batch: Sequence[Evidence],
        held: Sequence[Evidence],
        context: StepContext,
        memory: Any,
        *,
        theta: Array,
        seed: int,
    ) -> Commit:
        """
        The commit that a batch leads to; of an empty one, in which all cards are held, the head again.
        """
        head, kept = context.head, self._history(memory, [*batch, *held], context.head)
        after = {**memory, "held": held_json(held), "thetas": kept}
        if not batch:
            return Commit(head, cards, memory=after)
        source = source_of(self.noise, seed, len(theta))

        def theta_at(base: int) -> Array | None:
            found = kept.get(str(base))
            return None if found is None else theta_of(found.value)

        estimate = self._method.estimate(batch, source, theta, theta_at)
        moved, moments = self._method.move(batch, estimate, theta, _unpacked(memory["moments"]))
        _check_finite(moved, head.version)
        told = step_report(
            self._method,
            batch,
            estimate,
            version=head.version,
            source=source,
            theta=theta,
            theta_at=theta_at,
            cosine=self.cosine,
        )
        after["moments"] = _packed(moments)
        after["report"] = reported(memory["report"], batch, told, refused=estimate.refused)
        state = {**head.artifact.value, **state_of(moved)}
        return Commit(Artifact(state), cards, memory=after)

    def _history(
        self, memory: Any, cards: Sequence[Evidence], head: Snapshot
    ) -> dict[str, Artifact]:
        """
        The last centres, the present one among them; for the report also those of cards that are older.
        """
        importance = self._method.importance
        depth = max(self.history, 0 if importance is None else importance.history)
        if not depth:
            return {}
        least = head.version - depth
        if importance is None:  # else the weights of older cards are refused, as they say
            lags = [int(lag) for lag in (memory["report"] or {"lags": ()})["lags"]]
            # The lags of cards that come grow by one a step at first.
            bases = [head.version - lag - 1 for lag in lags] + [card.base for card in cards]
            least = min([least, *bases])
        thetas: Mapping[str, Artifact] = memory["thetas"]
        kept = {v: a for v, a in thetas.items() if least <= int(v) < head.version}
        return {**kept, str(head.version): head.artifact}


def check_together(shaping: str, corrections: Sequence[Correction], *, mirrored: bool) -> None:
    """
    Refuse a shaping that does not go with the rest.

    Raises:
        OptionError: it does not.
    """
    shaping_of(shaping)
    if not mirrored and shaping in OF_PAIRS:
        raise OptionError("shaping", shaping, "It needs mirrored pairs: leave mirrored=True.")
    if shaping != "ranks" and any(isinstance(c, Importance) for c in corrections):
        raise OptionError("shaping", shaping, "Importance weights go with shaping='ranks' alone.")


def _packed(moments: Moments) -> Json:
    """
    Moments as they are remembered: arrays as artifacts, which are never copied.
    """
    return {
        name: held if isinstance(held, float) else Artifact(encoded(held))
        for name, held in moments.items()
    }


def _unpacked(memory: Json) -> Moments | None:
    if memory is None:
        return None
    return {
        name: decoded(held.value) if isinstance(held, Artifact) else held
        for name, held in memory.items()
    }


def _check_finite(theta: Array, version: int) -> None:
    if not np.isfinite(theta).all():
        raise ContractError(
            f"the step at version {version} led to parameters that are not finite;"
            " take a lower learning rate"
        )
