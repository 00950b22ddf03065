"""
A parameter vector to be improved, and what it is scored by.

A rollout draws the perturbation that its payload names, and scores both halves of the pair.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import attrs
import numpy as np

from headway.contracts import Domain, Json, Outcome, Splits, Task
from headway.errors import ContractError, OptionError, shown
from headway.keyed import keyed_rng
from headway_es._arrays import decoded, encoded, state_of, theta_of
from headway_es._delay import Delay
from headway_es._kernels import Array, candidates
from headway_es._noise import source_of
from headway_es._objectives import Objective, Together, objective_of
from headway_es._optimizer import ES
from headway_es._schedules import schedule

_UPDATES = 200
"""Updates of a run that is not told how long it is to last."""


_NUMBERS: Mapping[str, type] = MappingProxyType(
    {"dim": int, "episodes": int, "population": int, "sigma": float, "lr": float}
)
"""The options that a command line gives as text, and what they stand for."""

_WORDS = {int: "a whole number", float: "a number"}


def _number(name: str, value: Any) -> Any:
    kind = _NUMBERS[name]
    try:
        return None if value is None else kind(value)
    except (TypeError, ValueError):
        raise OptionError(name, value, f"Give {_WORDS[kind]}.") from None


@attrs.define(eq=False, kw_only=True)
class ESDomain(Domain):
    """
    Maximises a function of a parameter vector; the state is ``{"theta": array}``.

    Its options are also those of the optimizer that it brings, ``ES``, so that a command line has them
    all.  Any number of threads may share one object.

    Args:
        objective: ``sphere``, ``ellipsoid``, ``rosenbrock``, ``rastrigin``, ``miniterm`` (which needs
            headway-envs), a function of one's own, or an ``Objective``.
        dim: The number of parameters of a function that has a name.
        start: The first theta of a function of one's own.
        episodes: Episodes of each half of a pair, where the objective has any: of ``miniterm``, 64 by
            default, or of a function of one's own that names ``episodes``.
        population: See ``ES``.
        sigma: See ``ES``.
        lr: See ``ES``.
        optimizer: See ``ES``.
        shaping: See ``ES``.
        corrections: See ``ES``.
        noise: See ``ES``.
        delay: See ``ES``; as a text ``SHARE,BY``.
        cosine: See ``ES``; as a text ``true`` or ``false``.
        schedule: ``sync``, ``wait-K``, ``admit-K``, ``pipeline-K`` or ``drop-K``; None leaves it to the
            options of the run.

    Raises:
        OptionError: an option can't be used.
    """

    name: ClassVar[str] = "es"
    reward_range: tuple[float, float] = attrs.field(default=(-np.inf, np.inf), init=False)
    measure_price: float | None = attrs.field(default=0.0, init=False)
    solved: float = attrs.field(default=np.inf, init=False)
    pure: bool = attrs.field(default=True, init=False)
    deterministic: bool | None = attrs.field(init=False)
    defaults: Mapping[str, Json] = attrs.field(init=False)  # type: ignore[misc]  # one of its own
    options: ClassVar[Mapping[str, str]] = {
        "objective": "sphere, ellipsoid, rosenbrock, rastrigin or miniterm; sphere by default",
        "dim": "parameters of the objective, 100 by default",
        "episodes": "episodes of each half of a pair, where the objective has any",
        "population": "mirrored pairs in a batch, 32 by default",
        "sigma": "size of a perturbation, 0.05 by default",
        "lr": "learning rate, 0.02 by default",
        "optimizer": "adam, sgd or momentum; adam by default",
        "shaping": "ranks, pair-z, signed-ranks or raw; ranks by default",
        "corrections": "some of recentre, decay, rate, importance, with commas; none by default",
        "noise": "zig32-v1, sign32-v1 or table32-v1/K; zig32-v1 by default",
        "delay": "SHARE,BY: a share of each batch is used so many updates later; none by default",
        "cosine": "true: the report compares the gradients of fresh and of stale pairs; false by default",
        "schedule": "sync, wait-K, admit-K, pipeline-K or drop-K; by default as the run's options say",
    }

    objective: Objective = attrs.field(init=False)
    _together: Together | None = attrs.field(init=False)
    _objective: Any = attrs.field(default="sphere", alias="objective")
    dim: int = 100
    start: Any = None
    episodes: int | None = None
    population: int = 32
    sigma: float = 0.05
    lr: float | None = None
    optimizer: Any = "adam"
    shaping: str = "ranks"
    corrections: Any = ()
    noise: str = "zig32-v1"
    delay: Any = None
    cosine: Any = False
    schedule: str | None = None

    def __attrs_post_init__(self) -> None:
        for name in _NUMBERS:
            setattr(self, name, _number(name, getattr(self, name)))
        if self.dim < 2:  # noqa: PLR2004 - Rosenbrock's function is of neighbours
            raise OptionError("dim", self.dim, "Give at least 2.")
        self.objective = objective_of(
            self._objective, dim=self.dim, start=self.start, episodes=self.episodes
        )
        self.deterministic = self.objective.deterministic
        self._together = self.objective if isinstance(self.objective, Together) else None
        named = {"policy": "wait"} if self.schedule is None else schedule(self.schedule)
        self.defaults = {  # pyright: ignore[reportIncompatibleVariableOverride]  # one of its own
            "aggregator": self._optimizer(),
            "updates": _UPDATES,
            **named,
        }

    def _optimizer(self) -> ES:
        names = ("population", "sigma", "lr", "optimizer", "shaping", "corrections", "noise")
        given = {name: getattr(self, name) for name in names}
        return ES(**given, delay=_delay(self.delay), cosine=_flag("cosine", self.cosine))

    def tasks(self) -> Splits:
        """
        The objective's task batches.
        """
        return self.objective.splits()

    def initial(self) -> Json:
        """
        The objective's first theta.
        """
        return state_of(self.objective.initial())

    def rollout(
        self, state: Json, task: Task, *, payload: Json = None, rng: random.Random
    ) -> Outcome:
        """
        Score the two halves of the pair that the payload names, or the parameters that it brings;
        without a payload, theta itself.

        The output holds ``f_plus``, ``f_minus`` (not for a single sample) and ``n_episodes``; the reward
        is the mean.  What the objective may draw is keyed by the job, so that both halves see the same,
        and so does a job that is tried again.
        """
        theta = theta_of(state)
        if payload is None:
            return Outcome(reward=self.objective.score(theta, task.data, rng))
        job, seed = payload["job"], payload["seed"]
        data = _with_batch(task.data, payload["batch"])
        if "theta" in payload:
            halves = [decoded(payload["theta"])]
        else:
            source = source_of(payload["noise"], seed, len(theta))
            halves = list(candidates(source, job, theta, payload["sigma"]))
            halves = halves if payload["mirrored"] else halves[:1]
        found = self._scores(halves, data, rng, (seed, "es", job))
        output = dict(zip(("f_plus", "f_minus"), found, strict=False))
        episodes = len(found) * (self.episodes or 1)
        return Outcome(reward=sum(found) / len(found), output={**output, "n_episodes": episodes})

    def _scores(
        self, halves: list[Array], data: Json, rng: random.Random, key: tuple[object, ...]
    ) -> list[float]:
        """
        The fitness of each; where chance is in it, all of them meet the same.
        """
        if self._together is not None:
            return self._together.scores(halves, data, rng)
        score, fixed = self.objective.score, self.objective.deterministic
        return [score(half, data, rng if fixed else keyed_rng(*key)) for half in halves]

    def measure(self, state: Json, task: Task, *, rng: random.Random) -> float:
        """
        The objective at theta itself, as it measures held-out tasks.
        """
        return self.objective.measure(theta_of(state), task.data, rng)

    def propose(
        self, state: Json, task: Task, outcome: Outcome, *, rng: random.Random
    ) -> Json | None:
        """
        A random move of the size of a perturbation, for optimizers that learn from proposals.
        """
        kind = theta_of(state).dtype
        steps = [self.sigma * rng.gauss(0.0, 1.0) for _ in range(len(theta_of(state)))]
        return {"move": encoded(np.array(steps, dtype=kind))}

    def apply(self, state: Json, diff: Json) -> Json:
        """
        A state whose theta is moved: the change is ``{"move": array}``.

        Raises:
            ContractError: the change is another, or its array of another length.
        """
        theta, move = theta_of(state), _move_of(diff)
        if move.shape != theta.shape:
            raise ContractError(f"a move of shape {move.shape} does not fit theta of {theta.shape}")
        return {**state, **state_of(theta + move)}


def _move_of(diff: Json) -> Array:
    try:
        held = diff["move"]
    except (TypeError, KeyError) as error:
        raise ContractError(
            f"{shown(diff)} is no change of theta: give {{'move': array}}"
        ) from error
    return decoded(held)


def _flag(name: str, given: Any) -> bool:
    held = {"true": True, "false": False}.get(str(given).lower())
    if held is None:
        raise OptionError(name, given, "Give true or false.")
    return held


def _delay(given: Any) -> Delay | None:
    if not isinstance(given, str):
        held: Delay | None = given
        return held
    share, _, by = given.partition(",")
    try:
        return Delay(share=float(share), by=int(by))
    except ValueError:
        remedy = "Give SHARE,BY such as 0.1,4: a share below 1, and whole updates of at least 1."
        raise OptionError("delay", given, remedy) from None


def _with_batch(data: Json, batch: int) -> Json:
    """
    A task's data, with the number of the batch that a job was begun for.
    """
    given: Any = data
    return {**given, "batch": batch} if isinstance(data, Mapping) else data
