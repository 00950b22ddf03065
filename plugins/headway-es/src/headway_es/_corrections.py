"""
What may be done about cards that are old; all of it off unless it is asked for.

None of them is free.  A stale card that is used as it is, with the noise that was drawn, is an unbiased
estimate of the smoothed gradient at its own centre; how much that is worth here falls with how far the
centre has moved.  Computing eps anew from the distance to the present centre is no correction: it adds an
uncontrolled momentum term, and it is not offered.

=============  ====================================================  =====================================
``recentre``   shifts the fitness of each base version's cards to    where fitness drifts from version to
               the batch's mean before ranking                       version, ranks compare centres and not
                                                                     perturbations
``decay``      weighs a card by ``1 / (1 + lag)``, renormalised      helps at too high a learning rate,
                                                                     hurts otherwise
``rate``       multiplies the learning rate by                       the exact stability limit of delayed
               ``sin(pi / (2 (2 K + 1)))``, K the median lag         gradient steps on a quadratic
``importance`` weighs by the ratio of densities                      mostly harmful: in high dimension the
                                                                     weights fall on a few cards
=============  ====================================================  =====================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Literal, Protocol

import attrs
from attrs.validators import ge, in_, instance_of, le

from headway.errors import OptionError, suggestion
from headway_es._evidence import Evidence
from headway_es._shaping import Fitness

_SMALLEST_GROUP = 2
"""A group of one card has no mean of its own: shifting it would take all it says away."""

_DIGITS = 12
"""Of the learning rate's factor: libraries differ in a sine's last digits, and that must not show."""


class Correction(Protocol):
    """
    One thing that is done about stale cards.  Pure; the cards come in the order of their jobs.
    """

    def fitness(self, cards: Sequence[Evidence]) -> list[Fitness] | None:
        """
        The fitness to be shaped in place of the raw one; None leaves it.
        """
        ...

    def weights(self, cards: Sequence[Evidence]) -> list[float] | None:
        """
        What the weight of each card is multiplied by; None leaves them.
        """
        ...

    def rate(self, cards: Sequence[Evidence]) -> float:
        """
        What the learning rate is multiplied by in this step.
        """
        ...


class _Nothing:
    """
    What a correction does where it does nothing.
    """

    def fitness(self, cards: Sequence[Evidence]) -> list[Fitness] | None:
        """
        Leaves the fitness as it is.
        """
        return None

    def weights(self, cards: Sequence[Evidence]) -> list[float] | None:
        """
        Leaves the weights as they are.
        """
        return None

    def rate(self, cards: Sequence[Evidence]) -> float:
        """
        Leaves the learning rate as it is.
        """
        return 1.0


@attrs.frozen(kw_only=True)
class Recentre(_Nothing):
    """
    Shifts the fitness of each group of at least two cards to the mean of the whole batch.

    Args:
        by: ``"base"``: cards of one base version are a group; ``"task"``: those of one task;
            ``"batch"``: those that were begun for one batch, where each batch meets tasks of its own.

    Raises:
        ValueError: ``by`` is another word.
    """

    by: Literal["base", "task", "batch"] = attrs.field(
        default="base", validator=in_(("base", "task", "batch"))
    )

    def fitness(self, cards: Sequence[Evidence]) -> list[Fitness]:
        """
        The shifted fitness.
        """
        whole = _mean(cards)
        shifts: dict[Any, float] = {}
        for key, group in groupby(sorted(cards, key=self._key), key=self._key):
            members = list(group)
            alone = len(members) < _SMALLEST_GROUP
            shifts[key] = 0.0 if alone else whole - _mean(members)
        return [tuple(f + shifts[self._key(card)] for f in card.fitness) for card in cards]

    def _key(self, card: Evidence) -> Any:
        return getattr(card, self.by)


@attrs.frozen(kw_only=True)
class Decay(_Nothing):
    """
    Weighs a card by ``1 / (1 + lag)``; the weights have the mean 1.
    """

    def weights(self, cards: Sequence[Evidence]) -> list[float]:
        """
        The weight of each card.
        """
        plain = [1 / (1 + card.lag) for card in cards]
        scale = len(plain) / math.fsum(plain)
        return [weight * scale for weight in plain]


@attrs.frozen(kw_only=True)
class LagRate(_Nothing):
    """
    Lowers the learning rate to where delayed gradient steps on a quadratic are still stable.

    K is the lower median of the lags: as long as no more than half of a batch is stale, the limit is
    that of fresh cards, whatever the delay.
    """

    def rate(self, cards: Sequence[Evidence]) -> float:
        """
        ``sin(pi / (2 (2 K + 1)))``.

        >>> card = Evidence(job=0, fitness=(1.0, 0.0), sigma=0.1, base=0, lag=1)
        >>> LagRate().rate([card])
        0.5
        """
        return lag_rate(sorted(card.lag for card in cards)[(len(cards) - 1) // 2])


@attrs.frozen(kw_only=True)
class Importance(_Nothing):
    """
    Weighs each half by how much likelier it is from the present centre than from its own.

    The weights are self-normalised and the ranks centred by them.  When the effective sample size of the
    batch, or of the cards of one version, falls below ``guard`` times the number of halves, the weights
    are refused and the batch is used without them, which the report counts.  It holds the last ``history`` centres in the optimizer's memory, and
    its exponentials may differ in the last bits between processors.

    Args:
        guard: The least share of the sample that must be effective, from 0.5 to 1.
        history: How many centres are kept; a card with an older one has the weights refused.

    Raises:
        TypeError: an option is of another type.
        ValueError: it is out of its range.
    """

    guard: float = attrs.field(default=0.5, validator=[instance_of((int, float)), ge(0.5), le(1)])
    history: int = attrs.field(default=8, validator=[instance_of(int), ge(1)])


def lag_rate(lag: int) -> float:
    """
    The largest stable step on a quadratic with every gradient ``lag`` updates old, as a share of the
    largest with fresh ones.

    >>> [round(lag_rate(k), 3) for k in (0, 1, 2, 4, 8)]
    [1.0, 0.5, 0.309, 0.174, 0.092]
    """
    return round(math.sin(math.pi / (2 * (2 * lag + 1))), _DIGITS)


def _mean(cards: Sequence[Evidence]) -> float:
    halves = [fitness for card in cards for fitness in card.fitness]
    return math.fsum(halves) / len(halves)


CORRECTIONS: dict[str, Any] = {
    "recentre": Recentre,
    "decay": Decay,
    "rate": LagRate,
    "importance": Importance,
}
"""Each correction by its name."""


def correction_of(given: Any) -> Correction:
    """
    The correction of a name, or the object that was given.

    Raises:
        OptionError: there is none of that name.
    """
    if not isinstance(given, str):
        made: Correction = given
        return made
    if given not in CORRECTIONS:
        hint = suggestion(given, CORRECTIONS)
        raise OptionError("corrections", given, f"Give some of {', '.join(CORRECTIONS)}.{hint}")
    fresh: Correction = CORRECTIONS[given]()
    return fresh
