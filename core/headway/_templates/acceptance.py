"""
An acceptance that looks once, after a fixed number of draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev

from headway.contracts import Trial, TrialTerms
from headway.errors import OptionError
from headway.statistics import Verdict


class FixedTrial:
    """
    The comparison of one candidate with the head: so many cycles, then a verdict.

    Args:
        cycles: How many cycles there are.
        errors: How many standard errors the mean gain must be above 0; 0 where rewards are certain.
        removal: Whether the candidate lacks a part, so that it need only be no worse.
    """

    def __init__(self, *, cycles: int, errors: float, removal: bool) -> None:
        self.opening: int = cycles
        self.cycles: int = cycles
        self.seen: int = 0
        self.verdict: Verdict = "undecided"
        self._errors = errors
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
        return self.mean > self._errors * self._standard_error()

    def _standard_error(self) -> float:
        count = len(self._differences)
        return stdev(self._differences) / sqrt(count) if count > 1 else 0.0


class NewcomerAcceptance:
    """
    One look after ``max_draws`` draws of each held-out task: a gain of two standard errors is taken.

    Simpler than a test that may stop at any time, and dearer: it always takes all draws.  Where
    rewards are certain, one draw shows any gain.

    Args:
        max_draws: How often a candidate is compared with the head on each task.

    Raises:
        OptionError: it is below 1.
    """

    def __init__(self, max_draws: int = 10) -> None:
        if max_draws < 1:
            raise OptionError("max_draws", max_draws, "Give a whole number of at least 1.")
        self.max_draws: int = max_draws

    def trial(self, terms: TrialTerms) -> Trial:
        """
        A new trial.
        """
        if terms.deterministic:
            return FixedTrial(cycles=1, errors=0.0, removal=terms.removal)
        return FixedTrial(cycles=self.max_draws, errors=2.0, removal=terms.removal)
