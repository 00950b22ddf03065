"""
From fitness to the weight of each perturbation.

Fitness is raw: higher is better, float64.  A mirrored pair has two of them, a single sample one.  Sums are
correctly rounded (``math.fsum``), so no order of theirs shows.

================  ===================================================================================
``ranks``         centred ranks over all fitnesses, ties sharing the mean of theirs; the default
``pair-z``        a pair's difference, divided by the root of the mean square of all differences
``signed-ranks``  the sign of a pair's difference times the rank of its size
``raw``           the fitness itself, divided by sigma: the plain gradient estimate
================  ===================================================================================

``pair-z`` and ``signed-ranks`` see nothing of what shifts both halves of a pair alike, as an older centre
does.  At a fixed learning rate they reach a worse optimum on some functions, so they are options.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from headway.errors import OptionError, suggestion

Fitness: TypeAlias = tuple[float, ...]
"""``(f_plus, f_minus)`` of a mirrored pair, ``(f,)`` of a single sample."""

Shaping: TypeAlias = Callable[[Sequence[Fitness], Sequence[float]], list[float]]
"""From the fitness of each card and its sigma to the weight c of each card, in the same order."""


def mean_ranks(values: Sequence[float]) -> npt.NDArray[np.float64]:
    """
    The rank of each value from 0, equal ones sharing the mean of theirs.

    >>> mean_ranks([3.0, 1.0, 3.0, 2.0]).tolist()
    [2.5, 0.0, 2.5, 1.0]
    """
    _, place, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle: npt.NDArray[np.float64] = last - (counts + 1) / 2
    return middle[place.reshape(-1)]


def ranks(cards: Sequence[Fitness], sigmas: Sequence[float]) -> list[float]:
    """
    The difference of the centred ranks of the two halves, from -1 to 1; of a single sample its rank.

    >>> ranks([(5.0, 1.0), (2.0, 3.0)], [0.1, 0.1])
    [1.0, -0.3333333333333333]
    """
    del sigmas
    values = [fitness for card in cards for fitness in card]
    centred = mean_ranks(values) / max(1, len(values) - 1) - 0.5
    return _differences(centred.reshape(len(cards), -1).tolist())


def pair_z(cards: Sequence[Fitness], sigmas: Sequence[float]) -> list[float]:
    """
    Each pair's difference in units of the root of their mean square.

    >>> [round(c, 6) for c in pair_z([(3.0, 0.0), (1.0, 5.0)], [0.1, 0.1])]
    [0.848528, -1.131371]
    """
    del sigmas
    found = _pair_differences(cards, "pair-z")
    scale = math.sqrt(math.fsum(d * d for d in found) / len(found))
    return [d / scale for d in found] if scale else found


def signed_ranks(cards: Sequence[Fitness], sigmas: Sequence[float]) -> list[float]:
    """
    The rank of each difference's size, from 1/n to 1, with the difference's sign.

    >>> signed_ranks([(3.0, 0.0), (1.0, 5.0), (2.0, 2.0)], [0.1] * 3)
    [0.6666666666666666, -1.0, 0.0]
    """
    del sigmas
    found = _pair_differences(cards, "signed-ranks")
    sizes = (mean_ranks([abs(d) for d in found]) + 1) / len(found)
    return [math.copysign(s, d) if d else 0.0 for s, d in zip(sizes.tolist(), found, strict=True)]


def raw(cards: Sequence[Fitness], sigmas: Sequence[float]) -> list[float]:
    """
    The difference of the two halves, or a single sample's distance from the mean, divided by sigma.

    >>> raw([(3.0, 1.0), (1.0, 2.0)], [0.5, 0.5])
    [4.0, -2.0]
    """
    found = _differences(cards)
    if len(cards[0]) == 1:
        mean = math.fsum(found) / len(found)
        found = [f - mean for f in found]
    return [d / sigma for d, sigma in zip(found, sigmas, strict=True)]


SHAPINGS: Mapping[str, Shaping] = MappingProxyType(
    {"ranks": ranks, "pair-z": pair_z, "signed-ranks": signed_ranks, "raw": raw}
)
"""Each shaping by its name."""

OF_PAIRS = ("pair-z", "signed-ranks")
"""Those that need mirrored pairs."""


def shaping_of(name: str) -> Shaping:
    """
    The shaping of a name.

    Raises:
        OptionError: there is none.
    """
    if name not in SHAPINGS:
        hint = suggestion(name, SHAPINGS)
        raise OptionError("shaping", name, f"Give one of {', '.join(SHAPINGS)}.{hint}")
    return SHAPINGS[name]


def _differences(cards: Sequence[Sequence[float]]) -> list[float]:
    return [card[0] - card[1] if len(card) > 1 else card[0] for card in cards]


def _pair_differences(cards: Sequence[Fitness], name: str) -> list[float]:
    if any(len(card) == 1 for card in cards):
        raise OptionError("shaping", name, "It needs mirrored pairs: leave mirrored=True.")
    return _differences(cards)
