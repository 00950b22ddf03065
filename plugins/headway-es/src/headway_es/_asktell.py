"""
An optimizer that drives somebody else's: whatever asks for candidates and is told their scores.

Such an optimizer changes as it is told.  What is remembered is what it was told, batch by batch; the optimizer
itself is a function of that, of the seed and of the first theta, and is kept at hand as a pickle that no
file ever holds.  In a process that goes on with a run it is told everything anew, once.  Jobs read the
candidates' values, which are kept beside it: some optimizers hold all that they were ever told.

A job takes a candidate of the newest generation, by its number.  With a bound of K a generation has ``1 + K``
times as many as a batch, so that no two jobs share one.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

import attrs
import numpy as np
from attrs.validators import ge, gt, instance_of, lt

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
    content_digest,
)
from headway.errors import OptionError, suggestion
from headway_es._arrays import encoded, state_of, theta_of
from headway_es._kernels import Array

Asked: TypeAlias = dict[int, list[Any]]
"""Candidates in an optimizer's own form, by the generation in which it was asked for them."""

_FEWEST = 3
"""Candidates below which CMA-ES refuses a generation."""

_AT_HAND = 6
"""Optimizers kept at hand: jobs may begin on so many versions in turn."""

_REGISTRY = "nevergrad.optimizers.registry"

_COUNT: Any = [instance_of(int), ge(1)]
_SIZE: Any = [instance_of((int, float)), gt(0), lt(float("inf"))]


class Driven(Protocol):
    """
    Somebody else's optimizer; it minimises.

    What ``start`` and ``ask`` give must pickle, and draw from no random numbers but their own: told the same
    it must ask for the same.
    """

    @property
    def max_lag(self) -> int:
        """
        How many updates old a candidate may be when it is told.
        """
        ...

    def start(self, theta: Array, *, population: int, seed: int) -> Any:
        """
        A new optimizer around theta, to be told ``population`` candidates at once.
        """
        ...

    def ask(self, optimizer: Any, count: int) -> list[Any]:
        """
        So many candidates, in its own form.
        """
        ...

    def value(self, candidate: Any) -> Array:
        """
        A candidate's parameters, of shape (dim,).
        """
        ...

    def tell(self, optimizer: Any, candidates: list[Any], losses: list[float]) -> None:
        """
        What the candidates have cost; lower is better.  A run's last batch may have fewer than others.
        """
        ...

    def centre(self, optimizer: Any) -> Array:
        """
        What it would recommend now, of shape (dim,).
        """
        ...


@attrs.define(eq=False, kw_only=True)
class Cma:
    """
    CMA-ES of the package ``cma``.

    Its step size is adapted to what the last generation has shown, which older candidates mislead.

    Args:
        sigma: The first step size.
        max_lag: The largest ``max_staleness`` that is let through, 0 or 1.
    """

    sigma: float = attrs.field(default=0.3, validator=_SIZE)
    max_lag: int = attrs.field(default=0, validator=[instance_of(int), ge(0), lt(2)])

    def start(self, theta: Array, *, population: int, seed: int) -> Any:
        """
        A new one, with random numbers of its own.

        Raises:
            OptionError: the package is not installed.
        """
        cma = _imported("cma")
        options = {
            "popsize": population,
            "seed": float("nan"),  # its own seeding is of numpy's global numbers
            "randn": np.random.RandomState(seed % 2**32).randn,
            "verbose": -9,
            "verb_log": 0,
        }
        return cma.CMAEvolutionStrategy(theta, self.sigma, options)

    def ask(self, optimizer: Any, count: int) -> list[Any]:
        """
        So many arrays.
        """
        return list(optimizer.ask(count))

    def value(self, candidate: Any) -> Array:
        """
        The array itself.
        """
        return np.asarray(candidate, dtype=np.float64)

    def tell(self, optimizer: Any, candidates: list[Any], losses: list[float]) -> None:
        """
        All at once, as it wants it; a last batch of one or two teaches it nothing.
        """
        if len(candidates) >= _FEWEST:
            optimizer.tell(candidates, losses)

    def centre(self, optimizer: Any) -> Array:
        """
        The mean of its distribution.
        """
        return np.array(optimizer.mean, dtype=np.float64)


@attrs.define(eq=False, kw_only=True)
class Nevergrad:
    """
    An optimizer of the package ``nevergrad``, by its name there.

    Args:
        name: A key of ``nevergrad.optimizers.registry``; another one fails the run as it begins.
        max_lag: The largest ``max_staleness`` that is let through.
    """

    name: str = "DE"
    max_lag: int = attrs.field(default=0, validator=[instance_of(int), ge(0)])

    def start(self, theta: Array, *, population: int, seed: int) -> Any:
        """
        A new one, with random numbers of its own.

        Raises:
            OptionError: the package is not installed, or has no optimizer of that name.
        """
        nevergrad = _imported("nevergrad")
        shape = nevergrad.p.Array(init=np.array(theta, dtype=np.float64))
        shape.random_state = np.random.RandomState(seed % 2**32)
        registry = nevergrad.optimizers.registry
        if self.name not in registry:
            hint = suggestion(self.name, registry)
            raise OptionError("name", self.name, f"Give a key of {_REGISTRY}.{hint}")
        return registry[self.name](shape, budget=None, num_workers=population)

    def ask(self, optimizer: Any, count: int) -> list[Any]:
        """
        So many of its parameters.
        """
        return [optimizer.ask() for _ in range(count)]

    def value(self, candidate: Any) -> Array:
        """
        The parameter's value.
        """
        return np.asarray(candidate.value, dtype=np.float64)

    def tell(self, optimizer: Any, candidates: list[Any], losses: list[float]) -> None:
        """
        One after the other.
        """
        for candidate, loss in zip(candidates, losses, strict=True):
            optimizer.tell(candidate, loss)

    def centre(self, optimizer: Any) -> Array:
        """
        What it recommends.
        """
        return np.array(optimizer.provide_recommendation().value, dtype=np.float64)


@attrs.frozen(kw_only=True, eq=False)
class _Kept:
    """
    An optimizer as it was at one version of the head.

    Args:
        pickled: The optimizer, and its candidates by generation.
        values: The parameters of the candidates of its newest generation.
        centre: What it recommends.
    """

    pickled: bytes
    values: list[Array]
    centre: Array


@attrs.define(eq=False, kw_only=True)
class AskTell:
    """
    Runs an ask-and-tell optimizer on ``ESDomain``'s rollouts, each of which scores one candidate.

    Args:
        driven: ``Cma()``, ``Nevergrad()``, or a ``Driven`` of your own.
        population: Candidates in a batch.

    Raises:
        TypeError: an option is of another type.
        ValueError: it is out of its range.
    """

    learns_from: ClassVar[str] = "outcomes"
    group_size: ClassVar[int] = 1

    driven: Driven = attrs.field(factory=Cma)
    population: int = attrs.field(default=16, validator=_COUNT)
    _kept: dict[str, _Kept] = attrs.field(factory=dict[str, _Kept], init=False)
    """Optimizers that were made last, by what they were told: nothing but a cache."""

    @property
    def batch(self) -> int:
        """
        Candidates in a batch.
        """
        return self.population

    @property
    def max_lag(self) -> int:
        """
        The largest ``max_staleness`` that its optimizer bears.
        """
        return self.driven.max_lag

    def select(self, ticket: Ticket, head: Snapshot, memory: Json, rng: random.Random) -> Work:
        """
        The job's own candidate.
        """
        held = _begun(head, ticket.seed) if memory is None else memory
        generation, place = len(held["told"]), ticket.group % self._ahead
        candidate = self._at_hand(held).values[place]
        payload = {
            "job": ticket.group,
            "batch": ticket.group // self.population,
            "seed": ticket.seed,
            "asked": [generation, place],
            "theta": encoded(candidate),
        }
        return Work(payload=payload)

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Tell a batch, and ask for the next candidates.
        """
        if not cards:
            return
        members = [card.members[0] for card in sorted(cards, key=lambda card: card.number)]
        head, seed = context.head, int(members[0].payload["seed"])
        held = _begun(head, seed) if context.memory is None else context.memory
        batch = Artifact([[*member.payload["asked"], -member.reward] for member in members])
        after = _told(held, batch)
        # A centre that did not move would be no new version, and the new candidates belong to one.
        generation = {"generation": len(after["told"])}
        state = {**head.artifact.value, **state_of(self._at_hand(after).centre), **generation}
        yield Commit(Artifact(state), cards, memory=after)

    @property
    def _ahead(self) -> int:
        return (1 + self.max_lag) * self.population

    def _at_hand(self, memory: Json) -> _Kept:
        """
        The optimizer that was told what is remembered, and what it asks for now.
        """
        key = memory["key"]
        if key not in self._kept:
            self._keep(key, *self._made(memory), len(memory["told"]))
        return self._kept[key]

    def _made(self, memory: Json) -> tuple[Any, Asked]:
        """
        The same, from what is at hand: mostly the optimizer before the last batch.
        """
        if not memory["told"]:
            theta = theta_of(memory["start"].value)
            seed = int(memory["seed"])
            optimizer = self.driven.start(theta, population=self.population, seed=seed)
            return optimizer, {0: self.driven.ask(optimizer, self._ahead)}
        chain = _chain(memory)
        known = [n for n, key in enumerate(chain) if key in self._kept]
        if known:
            first = known[-1]
            held = self._kept[chain[first]].pickled
            optimizer, asked = pickle.loads(held)  # noqa: S301 - pickled by this object
        else:
            first = 0
            optimizer, asked = self._made({**memory, "told": []})
        for number, batch in enumerate(memory["told"][first:], first + 1):
            candidates = [asked[generation][place] for generation, place, _ in batch.value]
            self.driven.tell(optimizer, candidates, [loss for *_, loss in batch.value])
            asked = {g: held for g, held in asked.items() if number - g <= self.max_lag}
            asked[number] = self.driven.ask(optimizer, self._ahead)
        return optimizer, asked

    def _keep(self, key: str, optimizer: Any, asked: Asked, generation: int) -> None:
        self._kept[key] = _Kept(
            pickled=pickle.dumps((optimizer, asked)),
            values=[self.driven.value(candidate) for candidate in asked[generation]],
            centre=self.driven.centre(optimizer),
        )
        while len(self._kept) > _AT_HAND:
            del self._kept[next(iter(self._kept))]


def _begun(head: Snapshot, seed: int) -> Json:
    """
    What is remembered before the first step.
    """
    key = content_digest([head.digest, str(seed)])
    return {"start": head.artifact, "seed": str(seed), "told": [], "key": key}


def _told(memory: Json, batch: Artifact) -> Json:
    key = content_digest([memory["key"], batch.digest])
    return {**memory, "told": [*memory["told"], batch], "key": key}


def _chain(memory: Json) -> list[str]:
    """
    The keys of all that was remembered so far, the first one before anything was told.
    """
    keys = [content_digest([memory["start"].digest, memory["seed"]])]
    for batch in memory["told"]:
        keys.append(content_digest([keys[-1], batch.digest]))
    return keys[:-1]


def _imported(name: str) -> Any:
    """
    A package that is an extra.

    Raises:
        OptionError: it is not installed.
    """
    try:
        return __import__(name)
    except ImportError as error:
        remedy = f"To get {name}: python -m pip install './plugins/headway-es[{name}]'"
        raise OptionError("driven", name, remedy) from error
