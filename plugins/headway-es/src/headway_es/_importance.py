"""
Importance weights: how much likelier a sample is from the present centre than from its own.

With ``d = (theta_b - theta_v) / sigma`` a half ``s = +1`` or ``-1`` of a pair has the weight
``exp(-s eps.d - |d|**2 / 2)`` and the score ``s eps + d``.  The variance of the exponent is ``|d|**2``, so
the share of the sample that is effective is ``exp(-|d|**2)``: one step of an evolution strategy moves the
centre so far that in more than some dozens of dimensions next to nothing is left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import attrs
import numpy as np

from headway_es._evidence import Evidence, ThetaAt
from headway_es._kernels import Array, Float64
from headway_es._noise import BLOCK, Source
from headway_es._shaping import mean_ranks


@attrs.frozen(kw_only=True)
class Weighed:
    """
    A batch under importance weights.

    Args:
        cards: What each card's noise is multiplied by.
        bend: What the scores add for the distance of the centres; float64, of shape (dim,).
        effective: The effective sample size as a share of the sample, from 0 to 1; the smallest of all
            and of each base version.
    """

    cards: list[float]
    bend: Float64
    effective: float


def effective_share(weights: Sequence[float]) -> float:
    """
    The effective sample size of weights as a share of their number: ``(sum w)**2 / (n sum w**2)``.

    >>> effective_share([1.0, 1.0, 0.0, 0.0])
    0.5
    """
    squares = math.fsum(w * w for w in weights)
    return math.fsum(weights) ** 2 / (len(weights) * squares) if squares else 0.0


def _effective(cards: Sequence[Evidence], weights: Sequence[float]) -> float:
    """
    The smallest effective share of all and of each base version alone.

    Of all alone it is not enough: where half of the cards are fresh, weights that drop the other half
    still leave one half.
    """
    halves = len(cards[0].fitness)
    bases = [card.base for card in cards for _ in range(halves)]
    found = [effective_share(weights)]
    for base in set(bases):
        mine = [w for w, b in zip(weights, bases, strict=True) if b == base]
        found.append(effective_share(mine))
    return min(found)


def drift(base: Array, theta: Array, sigma: float) -> Float64:
    """
    How far a card's centre lies from the present one, in units of sigma.
    """
    gone: Float64 = (base.astype(np.float64) - theta) / sigma
    return gone


def weigh(
    cards: Sequence[Evidence], source: Source, theta: Array, theta_at: ThetaAt
) -> Weighed | None:
    """
    The weights of a batch; None when a centre that is needed is not known any more.

    All cards must have one sigma: with several, the ratio of their densities falls with ``dim`` as a
    power, and nothing is left of it.

    Args:
        cards: In the order of their jobs.
        source: What draws eps.
        theta: The present centre.
        theta_at: Earlier ones.
    """
    sigmas = {card.sigma for card in cards}
    drifts: dict[int, Float64] = {}
    for card in cards:
        base = theta if card.lag == 0 else theta_at(card.base)
        if base is None or len(sigmas) > 1:
            return None
        if card.base not in drifts:
            drifts[card.base] = drift(base, theta, card.sigma)
    exponents = [e for card in cards for e in _exponents(card, source, drifts[card.base])]
    top = max(exponents)
    weights = [math.exp(e - top) for e in exponents]
    return _combined(cards, weights, drifts)


def _exponents(card: Evidence, source: Source, gone: Float64) -> list[float]:
    room, along = np.empty(min(len(gone), BLOCK), np.float32), 0.0
    for number, begin in enumerate(range(0, len(gone), BLOCK)):
        piece = gone[begin : begin + BLOCK]
        eps = source.block(card.job, number, room[: len(piece)])
        along += float(np.add.reduce(eps * piece))
    half = 0.5 * float(np.add.reduce(gone * gone))
    return [-along - half, along - half][: len(card.fitness)]


def _combined(
    cards: Sequence[Evidence], weights: list[float], drifts: Mapping[int, Float64]
) -> Weighed:
    utilities = mean_ranks([f for card in cards for f in card.fitness]).tolist()
    utilities = [u / max(1, len(utilities) - 1) for u in utilities]
    total = math.fsum(weights)
    shares = [w / total for w in weights]
    middle = math.fsum(share * u for share, u in zip(shares, utilities, strict=True))
    terms = [share * (u - middle) for share, u in zip(shares, utilities, strict=True)]
    halves = len(cards[0].fitness)
    coefficients = list[float]()
    bend = np.zeros_like(drifts[cards[0].base])
    for i, card in enumerate(cards):
        mine = terms[i * halves : (i + 1) * halves]
        coefficients.append(mine[0] - mine[1] if halves > 1 else mine[0])
        bend += math.fsum(mine) * drifts[card.base]
    return Weighed(cards=coefficients, bend=bend, effective=_effective(cards, weights))
