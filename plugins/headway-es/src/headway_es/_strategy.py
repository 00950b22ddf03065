"""
The same evolution strategy without Headway around it: ask for pairs, tell their fitness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
from attrs.validators import ge, gt, instance_of, lt

from headway.errors import OptionError
from headway_es._evidence import Evidence
from headway_es._kernels import Array, candidates
from headway_es._merge import Method
from headway_es._noise import Source, Stored, Zig32, source_of
from headway_es._optimizers import Moments, optimizer_of
from headway_es._shaping import Fitness, shaping_of


@attrs.define(eq=False, kw_only=True)
class Strategy:
    """
    A synchronous evolution strategy that is driven by hand, with mirrored pairs.

    It does to a parameter what ``ES`` does in a synchronous run with the same options, to the bit.  Not
    safe to share between threads.

    >>> import numpy as np
    >>> strategy = Strategy(theta=np.ones(3), population=8, sigma=0.1, lr=0.1)
    >>> for _ in range(60):
    ...     pairs = [strategy.ask(i) for i in range(8)]
    ...     strategy.tell([tuple(-float(x @ x) for x in pair) for pair in pairs])
    >>> bool(abs(strategy.theta).max() < 0.2)
    True

    Args:
        theta: The first centre, float32 or float64, of shape (dim,).
        population: Pairs in a generation.
        sigma: The size of a perturbation.
        lr: The learning rate; None is the optimizer's own.
        optimizer: ``adam``, ``sgd``, ``momentum``, or an ``Optimizer``.
        shaping: ``ranks``, ``pair-z``, ``signed-ranks`` or ``raw``.
        noise: ``zig32-v1``, ``sign32-v1`` or ``table32-v1/K``.
        seed: What the noise is keyed by.
        store: Whether the noise of a generation is kept, 4 bytes a number and pair; else it is drawn
            again when the generation is told, and memory is a few times theta.

    Raises:
        OptionError: an option can't be used.
        TypeError: an option is of another type.
        ValueError: it is out of its range.
    """

    theta: Array
    population: int = attrs.field(default=32, validator=[instance_of(int), ge(1)])
    sigma: float = attrs.field(
        default=0.05, validator=[instance_of((int, float)), gt(0), lt(float("inf"))]
    )
    lr: float | None = None
    optimizer: Any = "adam"
    shaping: str = "ranks"
    noise: str = Zig32.spec
    seed: int = 0
    store: bool = True
    generation: int = attrs.field(default=0, init=False)
    """How many generations have been told."""
    _source: Source = attrs.field(init=False)
    _method: Method = attrs.field(init=False)
    _moments: Moments | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        source = source_of(self.noise, self.seed, len(self.theta))
        self._source = Stored(source, len(self.theta), self.population) if self.store else source
        self._method = Method(
            shaping=shaping_of(self.shaping), optimizer=optimizer_of(self.optimizer, self.lr)
        )

    def ask(self, pair: int, out: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
        """
        The two halves of a pair of this generation.

        Args:
            pair: Which one, from 0 to ``population - 1``.
            out: Two arrays like theta that they are written to; by default new ones.

        Raises:
            OptionError: there is no such pair.
        """
        if not 0 <= pair < self.population:
            raise OptionError("pair", pair, f"Give one from 0 to {self.population - 1}.")
        return candidates(self._source, self._job(pair), self.theta, self.sigma, out)

    def tell(self, fitness: Sequence[Fitness]) -> None:
        """
        Move the centre by what the generation has shown.

        Args:
            fitness: ``(f_plus, f_minus)`` of each pair in order, higher is better.

        Raises:
            OptionError: there are not as many as pairs.
        """
        if len(fitness) != self.population:
            raise OptionError("fitness", len(fitness), f"Give one for each of {self.population}.")
        cards = [
            Evidence(job=self._job(i), fitness=tuple(f), sigma=self.sigma, base=self.generation)
            for i, f in enumerate(fitness)
        ]
        estimate = self._method.estimate(cards, self._source, self.theta)
        self.theta, self._moments = self._method.move(cards, estimate, self.theta, self._moments)
        self.generation += 1

    def _job(self, pair: int) -> int:
        return self.generation * self.population + pair
