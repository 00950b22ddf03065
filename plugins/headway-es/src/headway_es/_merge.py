"""
The step itself: from a batch of evidence to the next centre.  Pure in its arguments.

1. The cards stand in the order of their jobs; the order of arrival is nowhere in the arithmetic.
2. Their weights come from raw fitness, after what corrections do to it.
3. ``g = sum_i c_i eps_i / (2 n)`` for mirrored pairs, ``/ n`` for single samples, with the noise that was
   drawn, whatever the centre has done since.
4. The optimizer moves the centre along g.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs

from headway_es._corrections import Correction, Importance
from headway_es._evidence import Evidence, ThetaAt, check_alike, in_order
from headway_es._importance import weigh
from headway_es._kernels import Array, Float64, weighted_sum
from headway_es._noise import Source
from headway_es._optimizers import Moments, Optimizer
from headway_es._shaping import Shaping


def _unknown(version: int) -> Array | None:
    del version
    return None


@attrs.frozen(kw_only=True)
class Estimate:
    """
    The gradient estimate of a batch.

    Args:
        gradient: float64, of shape (dim,); it points uphill.
        weights: What each card's noise was multiplied by, in the order of the jobs.
        effective: The effective share of the sample under importance weights; None without them.
        refused: Whether importance weights were asked for and refused.
    """

    gradient: Float64
    weights: list[float]
    effective: float | None = None
    refused: bool = False


@attrs.frozen(kw_only=True)
class Method:
    """
    What a step does with a batch.

    Args:
        shaping: From fitness to weights.
        optimizer: From a gradient to the next centre.
        corrections: What is done about stale cards, in this order.
    """

    shaping: Shaping
    optimizer: Optimizer
    corrections: tuple[Correction, ...] = ()

    @property
    def importance(self) -> Importance | None:
        """
        The importance weights that are asked for, if any.
        """
        found = [c for c in self.corrections if isinstance(c, Importance)]
        return found[0] if found else None

    def estimate(
        self,
        cards: Sequence[Evidence],
        source: Source,
        theta: Array,
        theta_at: ThetaAt = _unknown,
    ) -> Estimate:
        """
        The gradient estimate of a batch, in whatever order it is given.

        Args:
            cards: At least one.
            source: What draws eps.
            theta: The present centre, of shape (dim,).
            theta_at: Earlier centres; only importance weights ask for them.

        Raises:
            ContractError: pairs and single samples are in one batch.
        """
        cards = in_order(cards)
        check_alike(cards)
        effective, refused = None, False
        if self.importance is not None and any(card.lag for card in cards):
            weighed = weigh(cards, source, theta, theta_at)
            effective = 0.0 if weighed is None else weighed.effective
            refused = effective < self.importance.guard
            if weighed is not None and not refused:
                gradient = weighted_sum(source, _jobs(cards), weighed.cards, len(theta))
                gradient += weighed.bend
                return Estimate(gradient=gradient, weights=weighed.cards, effective=effective)
        weights = self._weights(cards)
        gradient = weighted_sum(source, _jobs(cards), weights, len(theta))
        gradient /= len(cards) * len(cards[0].fitness)
        return Estimate(gradient=gradient, weights=weights, effective=effective, refused=refused)

    def rate(self, cards: Sequence[Evidence]) -> float:
        """
        What the learning rate is multiplied by for a batch.
        """
        return math.prod(correction.rate(cards) for correction in self.corrections)

    def move(
        self,
        cards: Sequence[Evidence],
        estimate: Estimate,
        theta: Array,
        moments: Moments | None,
    ) -> tuple[Array, Moments]:
        """
        The next centre, and what the optimizer remembers.
        """
        return self.optimizer.step(theta, estimate.gradient, moments, self.rate(cards))

    def _weights(self, cards: Sequence[Evidence]) -> list[float]:
        fitness = [card.fitness for card in cards]
        for correction in self.corrections:
            shifted = correction.fitness(
                [attrs.evolve(card, fitness=f) for card, f in zip(cards, fitness, strict=True)]
            )
            fitness = fitness if shifted is None else shifted
        weights = self.shaping(fitness, [card.sigma for card in cards])
        for correction in self.corrections:
            factors = correction.weights(cards)
            if factors is not None:
                weights = [w * f for w, f in zip(weights, factors, strict=True)]
        return weights


def _jobs(cards: Sequence[Evidence]) -> list[int]:
    return [card.job for card in cards]
