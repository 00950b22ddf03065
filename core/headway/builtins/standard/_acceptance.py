"""
When a candidate is known to be better than the head.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import attrs

from headway._checks import check_count, check_number
from headway.contracts import Trial, TrialTerms
from headway.statistics import PairedTest, Verdict, least_cycles, share_of_level, smallest_effect

SHOWN_WITH = 0.8
"""The power with which the smallest effect that a test aims at is shown."""

FUTILE_WITH = 0.9
"""An effect of that size is given up as futile with a probability of at most 1 minus this."""


FIRST_ROUND = 3 / 4
"""What the first round of a step may spend of the step's level; each further one 3/4 of the rest."""


@attrs.define(eq=False, kw_only=True)
class AnyGain:
    """
    The trial of deterministic rewards: one cycle, and any gain counts; a tie never does.

    Args:
        removal: Whether a tie is enough.
    """

    removal: bool = False
    opening: int = attrs.field(default=1, init=False)
    cycles: int = attrs.field(default=1, init=False)
    seen: int = attrs.field(default=0, init=False)
    mean: float = attrs.field(default=0.0, init=False)
    verdict: Verdict = attrs.field(default="undecided", init=False)

    def add(self, differences: Sequence[float]) -> Verdict:
        """
        Take in the cycle.
        """
        self.mean = fsum(differences) / len(differences)
        return self.told(self.mean > 0 or (self.removal and self.mean == 0))

    def told(self, better: bool) -> Verdict:
        """
        Take in who is better, with no figure.
        """
        self.seen = 1
        self.verdict = "accept" if better else "reject"
        return self.verdict


@attrs.define(eq=False, kw_only=True)
class NoisyTrial:
    """
    The trial of noisy rewards: a sequential paired test.

    A removal is accepted only after its last cycle, when the test has shown that the artifact is not
    much worse without the part and its mean so far is not below the head's.

    Args:
        test: The test.
        opening: How many cycles to measure before the first look.
        removal: Whether a part is taken out.
    """

    test: PairedTest
    opening: int
    removal: bool = False

    @property
    def cycles(self) -> int:
        """
        How many cycles there may be in all.
        """
        return self.test.cycles

    @property
    def seen(self) -> int:
        """
        How many cycles it has taken in.
        """
        return self.test.seen

    @property
    def mean(self) -> float:
        """
        The mean difference so far, in units of the reward range.
        """
        return self.test.mean

    @property
    def verdict(self) -> Verdict:
        """
        What is known now.
        """
        verdict = self.test.verdict
        if not self.removal or verdict != "accept":
            return verdict
        if self.seen < self.cycles:
            return "undecided"
        return "accept" if self.mean >= 0 else "reject"

    def add(self, differences: Sequence[float]) -> Verdict:
        """
        Take in a cycle.
        """
        self.test.add(differences)
        return self.verdict


@attrs.frozen(kw_only=True)
class Sequential:
    """
    Any gain when rewards are deterministic, else a sequential test that may stop at any time.

    The level is spent over the steps of a run, so that it bounds the probability that the run makes
    any false acceptance.

    Args:
        accept_level: That probability, above 0 and below 1.
        max_draws: Draws of each held-out task that one test may take.

    Raises:
        OptionError: the level is not within (0, 1), or the draws are no whole number of at least 1.
    """

    accept_level: float = 0.05
    max_draws: int = 10

    def __attrs_post_init__(self) -> None:
        check_number("accept_level", self.accept_level, above=0, below=1)
        check_count("max_draws", self.max_draws, 1)

    def shows(self, tasks: int, step: int = 1, draws: int | None = None) -> float:
        """
        The smallest mean difference that a step's only test shows with power 0.8.

        Args:
            tasks: How many tasks a candidate is compared with the head on.
            step: The step's number.
            draws: Draws of each task that can be paid; None means ``max_draws``.

        Returns:
            A share of the reward range; 1.0 when nothing can be shown.
        """
        most = self.max_draws if draws is None else min(draws, self.max_draws)
        level = share_of_level(self.accept_level, step) * FIRST_ROUND
        return smallest_effect(tasks * most, level=level, power=SHOWN_WITH) if most > 0 else 1.0

    def trial(self, terms: TrialTerms) -> Trial:
        """
        A new trial.
        """
        if terms.deterministic:
            return AnyGain(removal=terms.removal)
        level = share_of_level(self.accept_level, terms.step) * terms.part
        effect = smallest_effect(terms.tasks * self.max_draws, level=level, power=SHOWN_WITH)
        # Where only the whole range can be shown, "not worse by that much" is no claim.
        margin = -effect if terms.removal and effect < 1 else 0.0
        test = PairedTest(
            level=level, effect=effect, power=FUTILE_WITH, cycles=self.max_draws, margin=margin
        )
        opening = min(self.max_draws, least_cycles(terms.tasks, level, margin))
        return NoisyTrial(test=test, opening=opening, removal=terms.removal)
