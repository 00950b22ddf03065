"""
A paired test that may stop at any time, and what fixed samples could show instead.

Two artifacts are scored on the same tasks.  A *cycle* scores each of them once on every task, and
gives one difference a task, scaled to [-1, 1].  The test bets against the claim that the candidate
is no better: with a bet ``b`` its wealth is multiplied by ``1 + b * difference`` for each task of a
cycle.  Under the claim the expected factor of a cycle is at most 1, since by the inequality of the
arithmetic and the geometric mean the product of ``1 + b * mean(task)`` over the tasks is at most
``(1 + b * mean) ** tasks``, also when tasks have different means.  So wealth is a supermartingale
that is looked at after whole cycles, and by Ville's inequality it reaches ``1 / level`` with a
probability of at most ``level``, at whatever moment one looks.  The average over several bets is
such a wealth too.

A second wealth bets against the claim that the candidate is better by ``effect`` or more; when it
reaches ``1 / (1 - power)`` the test is futile, unless the candidate is better so far.

Sources: Ville (1939); Waudby-Smith and Ramdas, "Estimating means of bounded random variables by
betting" (2023).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import ceil, exp, fsum, log, log1p, pow, sqrt  # noqa: A004 - of floats
from statistics import NormalDist
from typing import Literal, TypeAlias

import attrs

Verdict: TypeAlias = Literal["accept", "reject", "undecided"]
"""What a test says."""

BETS: tuple[float, ...] = (0.06, 0.12, 0.25, 0.5, 0.9)
"""Shares of the wealth that are bet, all at once."""

LARGEST_VARIANCE = 0.5
"""The largest variance of the difference of two independent rewards within [0, 1]."""

DECAY = 1.3
"""The ``n``-th share of a level is proportional to ``n ** -DECAY``."""

_TAIL_FROM = 10_000


@cache
def _all_shares() -> float:
    """
    The sum of ``n ** -DECAY`` over all n: a partial sum and the Euler-Maclaurin tail.
    """
    head = fsum(pow(n, -DECAY) for n in range(1, _TAIL_FROM))
    tail = pow(_TAIL_FROM, 1 - DECAY) / (DECAY - 1) + pow(_TAIL_FROM, -DECAY) / 2
    return head + tail


def share_of_level(level: float, number: int) -> float:
    """
    What the ``number``-th of any number of tests may spend of a level; all shares sum to it.

    Args:
        level: The probability that is shared out.
        number: 1, 2, 3, ...

    >>> from headway.statistics import share_of_level
    >>> 0.0126 < share_of_level(0.05, 1) < 0.0128
    True
    >>> sum(share_of_level(0.05, n) for n in range(1, 1000)) < 0.05
    True
    """
    return level * pow(number, -DECAY) / _all_shares()


def fixed_pairs(
    effect: float, *, level: float, power: float, variance: float = LARGEST_VARIANCE
) -> int:
    """
    The number of pairs that a one-sided paired z-test of a fixed sample needs.

    Args:
        effect: The mean difference to be found, in units of the reward range.
        level: The probability of accepting a candidate that is no better.
        power: The probability of accepting one that is better by ``effect``.
        variance: Of one difference, in the same units squared.
    """
    normal = NormalDist()
    return ceil((normal.inv_cdf(1 - level) + normal.inv_cdf(power)) ** 2 * variance / effect**2)


def fixed_effect(
    pairs: int, *, level: float, power: float, variance: float = LARGEST_VARIANCE
) -> float:
    """
    The smallest mean difference that such a test of ``pairs`` pairs shows.
    """
    normal = NormalDist()
    return (normal.inv_cdf(1 - level) + normal.inv_cdf(power)) * sqrt(variance / pairs)


def smallest_effect(
    pairs: int, *, level: float, power: float, variance: float = LARGEST_VARIANCE
) -> float:
    """
    The smallest mean difference that the sequential test shows within ``pairs`` pairs.

    The logarithm of the wealth of the best bet grows by about ``effect ** 2 / (2 * variance)`` a
    pair and spreads by the root of twice that, so it passes ``log(bets / level)`` with this power
    when ``effect`` is ``(z + sqrt(z ** 2 + 2 * log(bets / level))) * sqrt(variance / pairs)``, with
    ``z`` the normal quantile of the power.  An approximation, and at most 1.
    """
    z = NormalDist().inv_cdf(power)
    needed = log(len(BETS) / level)
    return min(1.0, (z + sqrt(z * z + 2 * needed)) * sqrt(variance / pairs))


def _mean_of_exp(logs: Sequence[float]) -> float:
    """
    The logarithm of the mean of the exponentials.
    """
    most = max(logs)
    return most + log(sum(exp(x - most) for x in logs) / len(logs))


@attrs.define(eq=False)
class Wealth:
    """
    What has been won by betting that the mean of numbers within [-1, ``ceiling``] is above ``zero``.

    Args:
        zero: The largest mean under the claim that is bet against.
    """

    zero: float = 0.0
    _bets: tuple[float, ...] = attrs.field(init=False)
    _logs: list[float] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        # A number is at least -1 - zero away from zero, and no bet may lose more than there is.
        self._bets = tuple(bet / (1 + self.zero) for bet in BETS)
        self._logs = [0.0] * len(BETS)

    def add(self, counts: Counter[float]) -> None:
        """
        Take in a whole cycle: how often each number occurs.
        """
        moved = [(number - self.zero, count) for number, count in counts.items()]
        for place, bet in enumerate(self._bets):
            self._logs[place] += sum(count * log1p(bet * number) for number, count in moved)

    @property
    def log(self) -> float:
        """
        The logarithm of the wealth; it began at 0.
        """
        return _mean_of_exp(self._logs)


@attrs.define(eq=False, kw_only=True)
class PairedTest:
    """
    A sequential paired test of "the mean difference is above ``margin``".

    Args:
        level: The probability of an acceptance when it is not, at whatever moment one stops.
        effect: The mean difference above the margin that is to be found.
        power: An effect that large is rejected as futile with a probability of at most
            ``1 - power``.
        cycles: How many cycles there may be.
        margin: 0 asks whether a candidate is better, a negative one whether it is not much worse.
    """

    level: float
    effect: float
    power: float
    cycles: int
    margin: float = 0.0
    seen: int = attrs.field(default=0, init=False)
    total: float = attrs.field(default=0.0, init=False)
    pairs: int = attrs.field(default=0, init=False)
    _better: Wealth = attrs.field(init=False)
    _worse: Wealth = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._better = Wealth(self.margin)
        self._worse = Wealth(-min(self.margin + self.effect, 0.99))

    @property
    def mean(self) -> float:
        """
        The mean difference so far; 0.0 before the first cycle.
        """
        return self.total / self.pairs if self.pairs else 0.0

    def add(self, differences: Sequence[float]) -> Verdict:
        """
        Take in one whole cycle, a difference a task, and say what is known now.

        ``undecided`` after the last cycle is the end: neither was shown.
        """
        counts = Counter(differences)
        self._better.add(counts)
        self._worse.add(Counter({-number: count for number, count in counts.items()}))
        self.seen += 1
        self.pairs += len(differences)
        self.total += sum(differences)
        return self.verdict

    @property
    def verdict(self) -> Verdict:
        """
        What is known now.
        """
        if self._better.log >= -log(self.level):
            return "accept"
        # What is better so far is not given up: it may be shown together with others.
        futile = self.mean <= 0 and self._worse.log >= -log(1 - self.power)
        return "reject" if futile or self._out_of_reach else "undecided"

    @property
    def _out_of_reach(self) -> bool:
        """
        Whether not even the best of all remaining cycles could end in an acceptance.
        """
        if not self.seen or self.seen >= self.cycles:
            return False
        left = (self.cycles - self.seen) * self.pairs / self.seen
        bet = max(BETS) / (1 + self.margin)
        return self._better.log + left * log1p(bet * (1 - self.margin)) < -log(self.level)


def least_cycles(tasks: int, level: float, margin: float = 0.0) -> int:
    """
    How many cycles over that many tasks a test takes at least before it can accept.

    >>> from headway.statistics import least_cycles
    >>> least_cycles(20, 0.001), least_cycles(2, 0.001)
    (1, 7)
    """
    gains = [tasks * log1p(bet / (1 + margin) * (1 - margin)) for bet in BETS]
    cycles = max(1, int(-log(level) / max(gains)))
    while _mean_of_exp([cycles * gain for gain in gains]) < -log(level):
        cycles += 1
    return cycles
