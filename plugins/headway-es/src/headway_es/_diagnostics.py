"""
What a run tells about the age of its evidence: how old it was, and what that did.

It is in the optimizer's memory, so in ``result.memory``; ``report_of`` reads it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from headway.contracts import Json
from headway.errors import ContractError, shown
from headway_es._evidence import Evidence, ThetaAt, in_order
from headway_es._importance import drift
from headway_es._kernels import Array, Float64
from headway_es._merge import Estimate, Method
from headway_es._noise import Source


@attrs.frozen(kw_only=True)
class StepReport:
    """
    One step.

    Args:
        version: The version that it began at.
        cards: How many cards it used.
        rate: What the learning rate was multiplied by.
        drift: How far the centre of each stale base version lies from the present one, in units of
            sigma, by version; only of those that are still held.
        offset: Mean fitness of the stale cards minus that of the fresh ones; None without both.
        effective: The effective share of the sample under importance weights; None without them.
        cosine: Between the gradient of the fresh and that of the stale cards; None when it was not
            asked for or there are not both.
        cosine_fresh: Between the gradients of two halves of the fresh cards: what ``cosine`` is
            without any staleness, for half as many cards.
    """

    version: int
    cards: int
    rate: float
    drift: Mapping[int, float]
    offset: float | None
    effective: float | None
    cosine: float | None
    cosine_fresh: float | None


@attrs.frozen(kw_only=True)
class Report:
    """
    A run so far.

    Args:
        updates: Steps that were taken.
        lags: How many cards were used at each lag.
        refused: Steps in which importance weights were refused.
        held: Cards that a controlled delay holds and that no step has used.
        last: The last step.
    """

    updates: int
    lags: Mapping[int, int]
    refused: int
    held: int
    last: StepReport | None

    @property
    def cards(self) -> int:
        """
        Cards used so far.
        """
        return sum(self.lags.values())

    @property
    def mean_lag(self) -> float:
        """
        The mean lag of a card that was used.
        """
        return sum(lag * count for lag, count in self.lags.items()) / max(1, self.cards)

    @property
    def max_lag(self) -> int:
        """
        The largest lag.
        """
        return max(self.lags, default=0)

    @property
    def share_stale(self) -> float:
        """
        The share of cards with a lag above 0.
        """
        return 1 - self.lags.get(0, 0) / self.cards if self.cards else 0.0

    def lag(self, level: float) -> int:
        """
        The smallest lag that a share ``level`` of the cards does not exceed.
        """
        seen, wanted = 0, level * self.cards
        for lag in sorted(self.lags):
            seen += self.lags[lag]
            if seen >= wanted:
                return lag
        return self.max_lag


def report_of(memory: Json) -> Report:
    """
    The report that is in an optimizer's memory, as in ``result.memory``.

    Raises:
        ContractError: the memory is none of an evolution strategy.
    """
    if memory is None:
        return Report(updates=0, lags={}, refused=0, held=0, last=None)
    try:
        held: Any = memory["report"] or {"updates": 0, "lags": {}, "refused": 0, "last": None}
        waiting = len(memory["held"])
    except (TypeError, KeyError) as error:
        raise ContractError(f"{shown(memory)} is no memory of an evolution strategy") from error
    last: Any = held["last"]
    if last is not None:
        drifts: Any = {int(base): gone for base, gone in last["drift"].items()}
        last = attrs.evolve(StepReport(**last), drift=drifts)
    return Report(
        updates=held["updates"],
        lags={int(lag): count for lag, count in held["lags"].items()},
        refused=held["refused"],
        held=waiting,
        last=last,
    )


def reported(before: Json, cards: Sequence[Evidence], step: StepReport, *, refused: bool) -> Json:
    """
    The report after one more step, as a JSON value.
    """
    old: Any = {"updates": 0, "lags": {}, "refused": 0} if before is None else before
    lags: dict[str, int] = dict(old["lags"])
    for card in cards:
        lags[str(card.lag)] = lags.get(str(card.lag), 0) + 1
    told = attrs.asdict(step)
    told["drift"] = {str(base): gone for base, gone in step.drift.items()}
    return {
        "updates": old["updates"] + 1,
        "lags": lags,
        "refused": old["refused"] + refused,
        "last": told,
    }


def step_report(
    method: Method,
    cards: Sequence[Evidence],
    estimate: Estimate,
    *,
    version: int,
    source: Source,
    theta: Array,
    theta_at: ThetaAt,
    cosine: bool,
) -> StepReport:
    """
    What a step has seen.

    Args:
        method: The step's.
        cards: At least one.
        estimate: What came of them.
        version: The version that it began at.
        source: What draws the noise; it is only drawn again for the cosines.
        theta: The centre at that version.
        theta_at: Earlier ones.
        cosine: Whether to compute the cosines, which costs as much as the step again.
    """
    fresh = [card for card in in_order(cards) if card.lag == 0]
    stale = [card for card in in_order(cards) if card.lag]
    both = bool(fresh and stale)

    def gradient(some: Sequence[Evidence]) -> Float64:
        plain = attrs.evolve(method, corrections=())
        return plain.estimate(some, source, theta).gradient

    return StepReport(
        version=version,
        cards=len(cards),
        rate=method.rate(cards),
        drift=_drifts(stale, theta, theta_at),
        offset=_mean(stale) - _mean(fresh) if both else None,
        effective=estimate.effective,
        cosine=_cosine(gradient(fresh), gradient(stale)) if cosine and both else None,
        cosine_fresh=(
            _cosine(gradient(fresh[::2]), gradient(fresh[1::2]))
            if cosine and both and len(fresh) > 1
            else None
        ),
    )


def _drifts(stale: Sequence[Evidence], theta: Array, theta_at: ThetaAt) -> dict[int, float]:
    found = dict[int, float]()
    for base, sigma in sorted({card.base: card.sigma for card in stale}.items()):
        centre = theta_at(base)
        if centre is not None:
            gone = drift(centre, theta, sigma)
            found[base] = math.sqrt(float(np.add.reduce(gone * gone)))
    return found


def _mean(cards: Sequence[Evidence]) -> float:
    return math.fsum(card.mean for card in cards) / len(cards)


def _cosine(one: Float64, other: Float64) -> float | None:
    along, first, second = (
        float(np.add.reduce(a * b)) for a, b in ((one, other), (one, one), (other, other))
    )
    length = math.sqrt(first * second)
    return along / length if length else None
