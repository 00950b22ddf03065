"""
An optimizer that drives somebody else's: whatever asks for candidates and is told their scores.

Such an optimizer changes as it is told, so it is kept as a pickle in the memory, together with the
candidates that it has asked for: a step loads it, tells it the batch in the order of the jobs, asks for the
next candidates, and commits it together with the centre.  A pickle can run code when it is loaded: go on with
run directories of your own alone.

A job on version v takes a candidate that was asked for at version v.  With a bound of K there are ``1 + K``
times as many as pairs in a batch, so that no two jobs share one.
"""

from __future__ import annotations

import base64
import pickle
import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Protocol

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
)
from headway.errors import OptionError
from headway_es._arrays import encoded, state_of, theta_of
from headway_es._kernels import Array

_COUNT: Any = [instance_of(int), ge(1)]
_SIZE: Any = [instance_of((int, float)), gt(0), lt(float("inf"))]


class Driven(Protocol):
    """
    Somebody else's optimizer; it minimises.

    What ``start`` gives, and what ``ask`` gives, must pickle, and draw from no random numbers but its own.
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
        What the candidates have cost; lower is better.
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
        All at once, as it wants it.
        """
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

    It keeps all that it was told, so that what is kept of it grows with the run.

    Args:
        name: A key of ``nevergrad.optimizers.registry``.
        max_lag: The largest ``max_staleness`` that is let through.
    """

    name: str = "DE"
    max_lag: int = attrs.field(default=0, validator=[instance_of(int), ge(0)])

    def start(self, theta: Array, *, population: int, seed: int) -> Any:
        """
        A new one, with random numbers of its own.
        """
        nevergrad = _imported("nevergrad")
        shape = nevergrad.p.Array(init=np.array(theta, dtype=np.float64))
        shape.random_state = np.random.RandomState(seed % 2**32)
        registry = nevergrad.optimizers.registry
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
    _first: dict[tuple[str, int], str] = attrs.field(factory=dict[tuple[str, int], str], init=False)
    """What ``_begun`` has made last: a memo, of what is the same wherever it is made."""

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
        text = self._begun(head, ticket.seed) if memory is None else memory["optimizer"]
        asked = _loaded(text)[1][head.version]
        chosen = asked[ticket.group % len(asked)]
        batch = ticket.group // self.population
        payload = {"job": ticket.group, "batch": batch, "seed": ticket.seed}
        return Work(payload={**payload, "theta": encoded(self.driven.value(chosen))})

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Tell a batch, and ask for the next candidates.
        """
        if not cards:
            return
        members = [card.members[0] for card in sorted(cards, key=lambda card: card.number)]
        head, memory = context.head, context.memory
        seed = int(members[0].payload["seed"])
        text = self._begun(head, seed) if memory is None else memory["optimizer"]
        optimizer, asked = pickle.loads(base64.b64decode(text))  # noqa: S301 - a copy of its own, of the run's memory
        told = [asked[m.base][m.payload["job"] % len(asked[m.base])] for m in members]
        self.driven.tell(optimizer, told, [-m.reward for m in members])
        version = head.version + 1
        kept = {v: c for v, c in asked.items() if version - v <= self.max_lag}
        kept[version] = self.driven.ask(optimizer, self._ahead)
        centre = self.driven.centre(optimizer)
        # A centre that did not move would be no new version, and the new candidates belong to one.
        state = {**head.artifact.value, **state_of(centre), "generation": version}
        yield Commit(Artifact(state), cards, memory={"optimizer": _saved(optimizer, kept)})

    @property
    def _ahead(self) -> int:
        return (1 + self.max_lag) * self.population

    def _begun(self, head: Snapshot, seed: int) -> str:
        """
        The optimizer before its first step; the same wherever it is made.
        """
        key = (head.digest, seed)
        if key not in self._first:
            self._first = {key: self._new(head, seed)}
        return self._first[key]

    def _new(self, head: Snapshot, seed: int) -> str:
        optimizer = self.driven.start(
            theta_of(head.artifact.value), population=self.population, seed=seed
        )
        return _saved(optimizer, {head.version: self.driven.ask(optimizer, self._ahead)})


def _saved(optimizer: Any, asked: dict[int, list[Any]]) -> str:
    return base64.b64encode(pickle.dumps((optimizer, asked))).decode()


@lru_cache(maxsize=4)
def _loaded(text: str) -> Any:
    """
    An optimizer to look at; nobody changes it.
    """
    return pickle.loads(base64.b64decode(text))  # noqa: S301 - what this module has written


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
