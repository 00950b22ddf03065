"""
What every staleness policy must do, as tests that its author runs.

::

    from headway.testing.conformance import StalenessPolicyContract

    class TestPatient(StalenessPolicyContract):
        @pytest.fixture
        def make(self):
            return Patient
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import ClassVar

import pytest

from headway.contracts import StalenessPolicy
from headway.errors import shown
from headway.keyed import keyed_rng
from headway.testing.conformance._asking import asked
from headway.testing.conformance._common import Contract, Make, insist
from headway.testing.conformance._runs import DRIVEN, GROUPS_BOUND, faults, toy_groups, toy_run

ORDER: tuple[str, ...] = ("accept", "rebase", "discard")
"""The verdicts, the kindest first."""

ETAS: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 9, 100, 10**12)
ALPHAS: tuple[int, ...] = (0, 1, 3, 4, 10, 10**12)

GRID: tuple[tuple[int, int, bool], ...] = tuple(product(ETAS, ALPHAS, (False, True)))
"""What a policy is asked: eta, alpha, and whether a contract is broken."""


RULES = ("wait", "window", "none")
"""By which rule a batch of groups may be used."""


def _rule_of(policy: object) -> object:
    return getattr(policy, "rule", "wait")


def _call(eta: int, alpha: int, breaking: bool) -> str:
    return f"decide(eta={eta}, alpha={alpha}, contract_breaking={breaking})"


def _asked(policy: StalenessPolicy, eta: int, alpha: int, breaking: bool) -> str:
    do = "answer every eta and alpha of at least 0; a policy that raises twice ends the run"
    verdict: object = asked(policy.decide, eta, alpha, breaking, do=do)
    insist(
        isinstance(verdict, str) and verdict in ORDER,
        f"{_call(eta, alpha, breaking)} gave {shown(verdict)}",
        do="return 'accept', 'rebase' or 'discard' on every path through decide",
    )
    return str(verdict)


class StalenessPolicyContract(Contract):
    """
    Tests for any staleness policy.

    Attributes:
        monotone: Whether one commit more never turns a verdict towards accepting.
        strict: Whether a change that breaks a contract is never judged more kindly than one that
            breaks none.
    """

    monotone: ClassVar[bool] = True
    strict: ClassVar[bool] = True

    def test_it_is_a_staleness_policy(self, make: Make) -> None:
        """
        An object that has ``decide``.
        """
        made = make()
        insist(
            isinstance(made, StalenessPolicy) and not isinstance(made, type),
            f"make() gave {shown(made)}, which is no staleness policy",
            do="give an object with a method decide(self, eta, alpha, contract_breaking)",
        )

    def test_every_answer_is_one_of_the_three(self, make: Make) -> None:
        """
        At every corner: no lag, a lag below, at and beyond alpha, a huge one, and alpha 0.
        """
        policy = make()
        found = {_asked(policy, *case) for case in GRID}

        assert found

    def test_a_card_that_is_not_behind_is_accepted(self, make: Make) -> None:
        """
        Nothing has happened to what it was made against.
        """
        policy = make()
        for case in (case for case in GRID if case[0] == 0):
            verdict = _asked(policy, *case)
            insist(
                verdict == "accept",
                f"{_call(*case)} gave {verdict!r}",
                do="accept whatever has eta 0: its base is the head, so nothing has changed below it",
            )

    def test_equal_arguments_give_equal_answers(self, make: Make) -> None:
        """
        In whatever order they come, and whichever of two policies made alike is asked.
        """
        rng, first = keyed_rng("policy", "orders"), make()
        known = {case: _asked(first, *case) for case in GRID}
        for policy in (first, make(), first):
            for case in rng.sample(GRID, len(GRID)):
                again = _asked(policy, *case)
                insist(
                    known[case] == again,
                    f"{_call(*case)} gave {known[case]!r} once and {again!r} later",
                    do="let decide depend on its arguments alone: count nothing, draw nothing, read no"
                    " clock; a run that is taken up asks again and must get the same",
                )

    def test_a_staler_card_is_judged_no_more_kindly(self, make: Make) -> None:
        """
        One commit more never turns a verdict towards accepting.
        """
        if not self.monotone:
            pytest.skip("monotone = False")
        policy = make()
        for alpha, breaking in product(ALPHAS, (False, True)):
            verdicts = [_asked(policy, eta, alpha, breaking) for eta in range(14)]
            for eta, (now, later) in enumerate(pairwise(verdicts)):
                insist(
                    ORDER.index(now) <= ORDER.index(later),
                    f"{_call(eta, alpha, breaking)} gave {now!r}, but {later!r} at eta {eta + 1}",
                    do="hold eta against a bound in one direction only; a policy that means it sets"
                    " monotone = False in its test class",
                )

    def test_breaking_a_contract_is_judged_no_more_kindly(self, make: Make) -> None:
        """
        Once the head has moved, nobody knows what such a change would break now.
        """
        if not self.strict:
            pytest.skip("strict = False")
        policy = make()
        for eta, alpha in product(ETAS, ALPHAS):
            plain, breaking = (_asked(policy, eta, alpha, broken) for broken in (False, True))
            insist(
                ORDER.index(plain) <= ORDER.index(breaking),
                f"{_call(eta, alpha, True)} gave {breaking!r}, and {plain!r} without the break",
                do="discard what breaks a contract once eta is above 0; a policy that means it sets"
                " strict = False in its test class",
            )

    def test_its_rule_can_be_used(self, make: Make) -> None:
        """
        What says when a batch of groups may be used: none, or one of three, with its window.
        """
        policy = make()
        rule, window = _rule_of(policy), getattr(policy, "window", 0)
        insist(
            rule in RULES,
            f"rule is {shown(rule)}",
            do="declare 'wait', 'window' or 'none'; or leave it out, which means 'wait'",
        )
        sound = type(window) is int and (window >= 1 if rule == "window" else window == 0)
        insist(
            sound,
            f"window is {shown(window)}, and rule is {rule!r}",
            do="declare the groups that a batch is taken from, a whole number from 1 on, with the rule"
            " 'window', and with no other",
        )

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_runs_of_groups_end_well_with_it(self, make: Make, mode: str, driver: str) -> None:
        """
        Where outcomes are learnt from: nothing is at fault, and all updates are made.
        """
        result = toy_groups(mode, driver, policy=make())
        found = faults(result) or ("" if result.stop_reason == "updates" else result.stop_reason)
        insist(
            not found,
            f"a run of groups with it in {mode} mode under {driver} had faults: {found}",
            do="discard of groups what is older than alpha at most, and nothing younger: others take"
            " its place, and none may ever be used",
        )

    @pytest.mark.parametrize("seed", range(3))
    def test_groups_are_no_older_than_it_says(self, make: Make, seed: int) -> None:
        """
        Where outcomes are learnt from: none is used that it discards.
        """
        policy, bound = make(), GROUPS_BOUND
        result = toy_groups("async", "simulated", policy=policy, seed=seed)
        for age in result.committed_by_eta:
            insist(
                age <= bound or _asked(policy, age, bound, False) != "discard",
                f"a group {age} versions old was used, with max_staleness {bound}",
                do="let decide answer alike, whatever was asked before",
            )

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_runs_end_well_with_it(self, make: Make, mode: str, driver: str) -> None:
        """
        In both modes, on real clocks and on a virtual one, and nothing is at fault.
        """
        found = faults(toy_run(mode, driver, policy=make()))
        insist(
            not found,
            f"a run with it in {mode} mode under {driver} had faults: {found}",
            do="mend the first one: 'staleness policy' means that decide raised or gave no verdict",
        )

    def test_equal_runs_come_out_equal(self, make: Make) -> None:
        """
        Simulated runs of one seed, the last with a policy that was used before.
        """
        used = make()
        digests = [
            toy_run("async", "simulated", policy=policy, max_rollouts=60).digest
            for policy in (used, make(), used)
        ]
        insist(
            len(set(digests)) == 1,
            f"three simulated runs of one seed had the digests {digests}",
            do="keep nothing in the policy from one call to the next, and draw nothing",
        )
