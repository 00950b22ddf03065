"""
What every promotion rule must do, as tests that its author runs.

::

    from headway.testing.conformance import PromotionContract

    class TestPatient(PromotionContract):
        @pytest.fixture
        def make(self):
            return Patient
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from headway.contracts import Promotion
from headway.errors import shown
from headway.testing._toy import ToyDomain
from headway.testing.conformance._asking import asked
from headway.testing.conformance._common import Contract, Make, insist
from headway.testing.conformance._runs import DRIVEN, check_decision, faults, toy_run


class PromotionContract(Contract):
    """
    Tests for any promotion rule: when a committed version becomes the stable one.
    """

    def test_it_is_a_promotion_rule(self, make: Make) -> None:
        """
        An object that has ``confirms`` and ``due``.
        """
        made = make()
        insist(
            isinstance(made, Promotion) and not isinstance(made, type),
            f"make() gave {shown(made)}, which is no promotion rule",
            do="give an object with confirms(self, head, stable) and due(self, confirmations)",
        )

    def test_it_is_due_after_some_confirmations(self, make: Make) -> None:
        """
        Not before the first one, at some time, and from then on.
        """
        rule = make()
        found = [rule.due(count) for count in range(-3, 1001)]
        insist(
            all(isinstance(due, bool) for due in found),
            f"due gave {shown(sorted({repr(due) for due in found}))}",
            do="return True or False",
        )
        for count, (due, later) in enumerate(pairwise(found), -3):
            insist(
                due <= later,
                f"due is True at {count} confirmations and False at {count + 1}",
                do="return confirmations >= some number: one more never makes it less due",
            )
        insist(
            not found[3],
            "due is True at 0 confirmations",
            do="ask for at least one confirmation",
        )
        insist(
            found[-1],
            "due is False after 1,000 confirmations",
            do="let enough be enough: nothing would ever become stable",
        )

    def test_a_better_head_is_confirmed_and_a_worse_one_is_not(self, make: Make) -> None:
        """
        On many tasks and by much; also when there is no score, since rewards are deterministic.
        """
        rule = make()
        cases: tuple[tuple[list[float], list[float], bool], ...] = (
            ([1.0] * 40, [0.0] * 40, True),
            ([0.0] * 40, [1.0] * 40, False),
            ([0.5] * 40, [0.5] * 40, True),
            ([], [], True),
        )
        for head, stable, expected in cases:
            found = asked(rule.confirms, head, stable, do="answer for no scores as well, with True")
            insist(
                found is expected,
                f"confirms gave {shown(found)} for a head with {head[:1]} and a stable version with"
                f" {stable[:1]} on each of {len(head)} tasks",
                do="return True where the head held its own against the stable version, else False",
            )

    def test_a_better_score_never_hurts(self, make: Make) -> None:
        """
        A head that is confirmed is confirmed with higher scores too.
        """
        rule = make()
        stable = [0.1 * (n % 10) for n in range(20)]
        found = [rule.confirms([s + shift / 10 for s in stable], stable) for shift in range(-5, 6)]
        insist(
            found == sorted(found),
            f"confirms gave {found} for heads that score from 0.5 less to 0.5 more than the stable one",
            do="compare head with stable, in that order and in one direction",
        )

    def test_equal_scores_give_equal_answers(self, make: Make) -> None:
        """
        Again and again, and by another rule made alike; the scores stay as they were.
        """
        used = make()
        for shift in (-0.2, 0.0, 0.2):
            head, stable = [0.5 + shift] * 8, [0.5] * 8
            found = [rule.confirms(head, stable) for rule in (used, make(), used, used)]
            found_due = [rule.due(3) for rule in (used, make(), used, used)]
            insist(
                len(set(found)) == 1 and len(set(found_due)) == 1,
                f"confirms gave {found} for equal scores, due(3) {found_due}",
                do="let both depend on their arguments alone: whoever asks counts the confirmations",
            )
            insist(
                (head, stable) == ([0.5 + shift] * 8, [0.5] * 8),
                f"confirms changed the scores it was given to {head} and {stable}",
                do="sort or change copies only",
            )

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_runs_end_well_with_it(self, make: Make, mode: str, driver: str) -> None:
        """
        In both modes, on real clocks and on a virtual one, and nothing is at fault.
        """
        check_decision("promotion", make(), mode, driver)

    def test_what_it_promotes_was_committed(self, make: Make) -> None:
        """
        With noise, where it is asked, and without; equal runs promote alike.
        """
        for noise in (0.0, 0.1):
            domain = ToyDomain(n_keys=5, n_tasks=20, noise=noise)
            results = [
                toy_run("async", "simulated", domain=domain, promotion=made, max_rollouts=80)
                for made in (make(), make())
            ]
            stable = [result.stable_version for result in results]
            insist(
                not faults(results[0]) and stable[0] == stable[1],
                f"equal runs with noise {noise} promoted the versions {stable}; {faults(results[0])}",
                do="let both methods depend on their arguments alone",
            )
