"""
What a parameter vector is scored by: higher is better.

The four functions are the usual ones, negated, so that their best value is 0.  A function of one's own
takes ``theta`` and, where it names them, ``task`` (the data of the task), ``rng`` (a ``random.Random``, the
same for both halves of a pair) and ``episodes``.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import attrs
import numpy as np

from headway.contracts import Json, Splits, Structural, Task
from headway.errors import OptionError
from headway_es._kernels import Array, Float64

_NAMES = ("task", "rng", "episodes")


class Objective(Protocol):
    """
    A thing to be maximised.  Used by several threads at once; it keeps nothing between calls.

    Attributes:
        deterministic: Whether one theta always scores the same on one task.
    """

    @property
    def deterministic(self) -> bool:
        """
        See the class.
        """
        ...

    def initial(self) -> Array:
        """
        Where a run starts: float32 or float64, of shape (dim,).
        """
        ...

    def splits(self) -> Splits:
        """
        The task batches, by what they are for.
        """
        ...

    def score(self, theta: Array, task: Json, rng: random.Random) -> float:
        """
        The fitness of theta on a task batch.

        Args:
            theta: What is scored, of shape (dim,).
            task: The task's data; in training ``batch`` in it is the number of the batch that the job
                was begun for, the same for all its jobs.
            rng: Keyed by the job, and the same for both halves of a pair.
        """
        ...

    def measure(self, theta: Array, task: Json, rng: random.Random) -> float:
        """
        The score of theta on a held-out task batch, which may be of another kind.
        """
        ...


@runtime_checkable
class Together(Protocol, metaclass=Structural):
    """
    The optional half of a deterministic objective: scores the halves of a pair together, where that is
    quicker.
    """

    def scores(self, thetas: Sequence[Array], task: Json, rng: random.Random) -> list[float]:
        """
        The fitness of each, as ``score`` would have it.
        """
        ...


def batches(train: int = 8, held_out: int = 8, test: int = 0) -> Splits:
    """
    Task batches that are told apart by a number, ``{"seed": k}``, and by nothing else.
    """
    names = {"train": train, "held_out": held_out, "test": test}
    made = {
        split: [Task(id=f"{split}-{i}", data={"split": split, "seed": i}) for i in range(count)]
        for split, count in names.items()
    }
    return Splits(**made)


def sphere(theta: Array) -> float:
    """
    Minus the sum of squares.
    """
    return -float(np.add.reduce(theta * theta))


def ellipsoid(theta: Array) -> float:
    """
    Minus a sum of squares whose weights rise from 1 to a million.
    """
    return -float(np.add.reduce(_conditions(len(theta)) * theta * theta))


def rosenbrock(theta: Array) -> float:
    """
    Minus the function of H. H. Rosenbrock, 1960: a curved valley that leads to (1, ..., 1).
    """
    here, following = theta[:-1], theta[1:]
    valley, along = following - here * here, 1 - here
    return -float(np.add.reduce(100 * valley * valley + along * along))


def rastrigin(theta: Array) -> float:
    """
    Minus the function of L. A. Rastrigin, 1974: a sphere with an egg box on it.
    """
    return -float(np.add.reduce(theta * theta - 10 * np.cos(2 * np.pi * theta) + 10))


def _conditions(dim: int) -> Float64:
    return np.power(10.0, 6 * np.arange(dim) / max(1, dim - 1))


FUNCTIONS: Mapping[str, tuple[Callable[[Array], float], float]] = MappingProxyType(
    {
        "sphere": (sphere, 1.0),
        "ellipsoid": (ellipsoid, 1.0),
        "rosenbrock": (rosenbrock, 0.0),
        "rastrigin": (rastrigin, 2.2),
    }
)
"""Each function by its name, with what every parameter is at the start."""


@attrs.frozen(kw_only=True)
class Function:
    """
    One of the four functions in some dimension.

    Args:
        name: ``sphere``, ``ellipsoid``, ``rosenbrock`` or ``rastrigin``.
        dim: The number of parameters, at least 2.
    """

    name: str
    dim: int = 100
    deterministic: bool = attrs.field(default=True, init=False)

    def initial(self) -> Array:
        """
        The usual starting point.
        """
        return np.full(self.dim, FUNCTIONS[self.name][1])

    def splits(self) -> Splits:
        """
        A few batches without anything in them.
        """
        return batches()

    def score(self, theta: Array, task: Json, rng: random.Random) -> float:
        """
        The function's value.
        """
        return FUNCTIONS[self.name][0](theta)

    def measure(self, theta: Array, task: Json, rng: random.Random) -> float:
        """
        The same.
        """
        return self.score(theta, task, rng)


@attrs.frozen(kw_only=True)
class Own:
    """
    A function of one's own.

    Args:
        function: Takes theta, a float array of shape (dim,) that it may not write to, and where it
            names them ``task``, ``rng`` and ``episodes``; returns the fitness, a number.
        start: The first theta.
        episodes: What a function that names ``episodes`` is given.
        tasks: The task batches; by default a few that hold nothing but a number, ``{"seed": k}``.
        deterministic: Whether one theta always scores the same on one task.

    Raises:
        OptionError: the function asks for something else.
    """

    function: Callable[..., float]
    start: Array
    episodes: int = 1
    tasks: Splits = attrs.field(factory=batches)
    deterministic: bool = False
    _wanted: tuple[str, ...] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_wanted", _wanted(self.function))

    def initial(self) -> Array:
        """
        The first theta.
        """
        return self.start

    def splits(self) -> Splits:
        """
        The task batches.
        """
        return self.tasks

    def score(self, theta: Array, task: Json, rng: random.Random) -> float:
        """
        What the function says.
        """
        known = {"task": task, "rng": rng, "episodes": self.episodes}
        return float(self.function(theta, **{name: known[name] for name in self._wanted}))

    def measure(self, theta: Array, task: Json, rng: random.Random) -> float:
        """
        The same.
        """
        return self.score(theta, task, rng)


def _wanted(function: Callable[..., float]) -> tuple[str, ...]:
    parameters = list(inspect.signature(function).parameters.values())[1:]
    free = inspect.Parameter.empty
    unknown = [p.name for p in parameters if p.name not in _NAMES and p.default is free]
    if unknown:
        remedy = f"Beside theta it may ask for {', '.join(_NAMES)}, and not for {unknown[0]!r}."
        raise OptionError("objective", getattr(function, "__name__", function), remedy)
    return tuple(p.name for p in parameters if p.name in _NAMES)


def objective_of(given: Any, *, dim: int, start: Array | None, episodes: int | None) -> Objective:
    """
    The objective that a name, a function or an object stands for.

    Raises:
        OptionError: there is none of that name, or a function came without ``start``.
    """
    if isinstance(given, str):
        if given == "miniterm":
            from headway_es._miniterm import MiniTerm

            return MiniTerm(**({} if episodes is None else {"episodes": episodes}))
        if given not in FUNCTIONS:
            remedy = (
                f"Give one of {', '.join(FUNCTIONS)}, miniterm, or pass a function from Python."
            )
            raise OptionError("objective", given, remedy)
        return Function(name=given, dim=dim)
    if hasattr(given, "score"):
        made: Objective = given
        return made
    if start is None:
        remedy = "A function of your own needs the theta that it starts from: give start."
        raise OptionError("objective", getattr(given, "__name__", given), remedy)
    first = np.asarray(start)
    first = first if first.dtype == np.float32 else first.astype(np.float64)
    return Own(function=given, start=first, episodes=episodes or 1)
