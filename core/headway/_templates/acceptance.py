"""
An acceptance that looks once, after a fixed number of draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, sqrt
from statistics import fmean, variance

from headway.contracts import Trial, TrialTerms
from headway.errors import OptionError
from headway.statistics import Verdict, share_of_level


class FixedTrial:
    """
    The comparison of one candidate with the head: so many cycles, then a verdict.

    Args:
        cycles: How many cycles there are.
        level: How likely a useless candidate may be accepted; None where rewards are certain.
        removal: Whether the candidate lacks a part, so that it need only be no worse.
    """

    def __init__(self, *, cycles: int, level: float | None, removal: bool) -> None:
        self.opening: int = cycles
        self.cycles: int = cycles
        self.seen: int = 0
        self.verdict: Verdict = "undecided"
        self._level = level
        self._removal = removal
        self._differences: list[float] = []

    @property
    def mean(self) -> float:
        """
        The mean difference so far, in units of the reward range.
        """
        return fmean(self._differences) if self._differences else 0.0

    def add(self, differences: Sequence[float]) -> Verdict:
        """
        Take in a cycle, a difference a task; after the last one, decide.
        """
        self._differences += differences
        self.seen += 1
        if self.seen == self.cycles:
            self.verdict = "accept" if self._is_better() else "reject"
        return self.verdict

    def _is_better(self) -> bool:
        if self._removal:
            return self.mean >= 0
        margin = 0.0 if self._level is None else accident(self._differences, self._level)
        return self.mean > margin


def accident(differences: Sequence[float], level: float) -> float:
    """
    The mean that differences whose true mean is 0 exceed with probability ``level`` at most.

    The empirical Bernstein bound (Maurer and Pontil, COLT 2009, theorem 4) for values within [-1, 1]:
    unlike a t-test, it holds for few differences and for skewed ones.
    """
    count, odds = len(differences), log(2 / level)
    if count < 2:
        return inf
    spread = sqrt(2 * variance(differences) * odds / count)
    return spread + 14 * odds / (3 * (count - 1))


class NewcomerAcceptance:
    """
    One look after ``max_draws`` draws of each held-out task, at the paired differences of a candidate
    and the head: their mean must be larger than an accident would make it.

    Simpler than a test that may stop at any time, and dearer: it always takes all draws.  The level
    is spent over the steps of a run, since each of them may be wrong.  Where rewards are certain, one
    draw shows any gain.

    Args:
        accept_level: How likely it may be that a run accepts anything useless, above 0 and below 1.
        max_draws: How often a candidate is compared with the head on each task.

    Raises:
        OptionError: one of them is out of its range.
    """

    def __init__(self, accept_level: float = 0.05, max_draws: int = 10) -> None:
        if not 0 < accept_level < 1:
            raise OptionError("accept_level", accept_level, "Give a number above 0 and below 1.")
        if max_draws < 1:
            raise OptionError("max_draws", max_draws, "Give a whole number of at least 1.")
        self.accept_level: float = accept_level
        self.max_draws: int = max_draws

    def trial(self, terms: TrialTerms) -> Trial:
        """
        A new trial.
        """
        if terms.deterministic:
            return FixedTrial(cycles=1, level=None, removal=terms.removal)
        level = share_of_level(self.accept_level, terms.step) * terms.part
        return FixedTrial(cycles=self.max_draws, level=level, removal=terms.removal)
