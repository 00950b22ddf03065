"""
An acceptance that is soon convinced, so that short simulated runs commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import attrs

from headway.contracts import Trial, TrialTerms
from headway.statistics import Verdict


@attrs.define(eq=False, kw_only=True)
class _HastyTrial:
    removal: bool
    cycles: int
    opening: int = 1
    seen: int = 0
    mean: float = 0.0
    verdict: Verdict = "undecided"

    def add(self, differences: Sequence[float]) -> Verdict:
        """
        Take in a cycle; decide after the last one, or leave a tie undecided.
        """
        self.mean = (self.mean * self.seen + fsum(differences) / len(differences)) / (self.seen + 1)
        self.seen += 1
        if self.seen == self.cycles and (self.mean or self.removal):
            self.verdict = "accept" if self.mean >= 0 else "reject"
        return self.verdict


@attrs.frozen(kw_only=True)
class Hasty:
    """
    Accepts what looks better after a few cycles, whatever the level; for simulations only.

    Args:
        cycles: How many, when rewards are not deterministic.
    """

    cycles: int = 2

    def trial(self, terms: TrialTerms) -> Trial:
        """
        A new trial.
        """
        return _HastyTrial(removal=terms.removal, cycles=1 if terms.deterministic else self.cycles)
