"""
What every fusion rule must do, as tests that its author runs.

::

    from headway.testing.conformance import FusionContract

    class TestPairs(FusionContract):
        @pytest.fixture
        def make(self):
            return Pairs
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headway.contracts import Card, Fusion
from headway.errors import shown
from headway.testing.conformance._asking import asked, listed
from headway.testing.conformance._cards import content, described, hands, numbers
from headway.testing.conformance._common import Contract, Make, insist
from headway.testing.conformance._runs import DRIVEN, check_decision, check_equal_runs

CHANCES: tuple[float, ...] = (0.0, 0.1, 0.5, 1.0)
"""How likely a union is to help, as a rule may be told."""


class FusionContract(Contract):
    """
    Tests for any fusion rule: which cards are tried together.
    """

    def test_it_is_a_fusion_rule(self, make: Make) -> None:
        """
        An object that has ``groups``.
        """
        made = make()
        insist(
            isinstance(made, Fusion) and not isinstance(made, type),
            f"make() gave {shown(made)}, which is no fusion rule",
            do="give an object with a method groups(self, cards, chance)",
        )

    @pytest.mark.parametrize("chance", CHANCES)
    def test_groups_are_made_of_the_cards(self, make: Make, chance: float) -> None:
        """
        None is empty, no group has a card twice, and none has one that was not given.
        """
        for hand in hands(apart=True):
            for group in _groups(make(), hand, chance):
                insist(
                    group and len(set(numbers(group))) == len(group),
                    f"of {described(hand)} it makes a group of {numbers(group)}",
                    do="let each group hold at least one card, and each card once",
                )
                strange = [c for c in group if c not in hand]
                insist(
                    not strange,
                    f"of {described(hand)} it makes a group with {described(strange)}",
                    do="group the very cards that were given, and make none of your own",
                )

    @pytest.mark.parametrize("chance", CHANCES)
    def test_every_card_is_tried(self, make: Make, chance: float) -> None:
        """
        Alone or with others; a card in no group would be discarded as worse without a look.
        """
        for hand in hands(apart=True):
            groups = _groups(make(), hand, chance)
            tried = {c.number for group in groups for c in group}
            left = [number for number in numbers(hand) if number not in tried]
            insist(
                not left,
                f"of {described(hand)} the cards {left} are in none of {_listed(groups)}",
                do="put every card into at least one group",
            )

    @pytest.mark.parametrize("chance", CHANCES)
    def test_no_group_comes_twice(self, make: Make, chance: float) -> None:
        """
        Each costs a candidate; and single cards stand before groups of several.
        """
        for hand in hands(apart=True):
            groups = _groups(make(), hand, chance)
            made = [frozenset(numbers(group)) for group in groups]
            insist(
                len(set(made)) == len(made),
                f"of {described(hand)} it makes {_listed(groups)}",
                do="give each group once: the same cards make the same candidate",
            )
            several = [len(group) > 1 for group in groups]
            insist(
                several == sorted(several),
                f"of {described(hand)} it makes {_listed(groups)}",
                do="give the groups of one card first",
            )

    @pytest.mark.parametrize("chance", CHANCES)
    def test_cards_with_a_parent_stay_alone(self, make: Make, chance: float) -> None:
        """
        They were made against other artifacts: together with others they have no common ground.
        """
        for hand in hands(apart=True):
            for group in _groups(make(), hand, chance):
                insist(
                    len(group) == 1 or all(c.parent is None for c in group),
                    f"of {described(hand)} it merges {numbers(group)}, of which"
                    f" {[c.number for c in group if c.parent]} have a parent of their own",
                    do="leave cards whose parent is not None in groups of their own",
                )

    def test_equal_cards_are_grouped_alike(self, make: Make) -> None:
        """
        Again and again, and by another rule made alike; the cards stay as they were.
        """
        used = make()
        for hand in hands(apart=True):
            before = content(hand)
            for chance in CHANCES:
                found = [_listed(_groups(rule, hand, chance)) for rule in (used, make(), used)]
                insist(
                    len(set(found)) == 1,
                    f"of {described(hand)} with chance {chance} it made {found}",
                    do="let groups depend on its arguments alone",
                )
            insist(
                content(hand) == before,
                f"groups changed the cards {before} to {content(hand)}",
                do="change no card in place",
            )

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_runs_end_well_with_it(self, make: Make, mode: str, driver: str) -> None:
        """
        In both modes, on real clocks and on a virtual one, and nothing is at fault.
        """
        check_decision("fusion", make(), mode, driver)

    def test_equal_runs_come_out_equal(self, make: Make) -> None:
        """
        Simulated runs of one seed, the last with a rule that was used before.
        """
        check_equal_runs("fusion", make)


def _groups(rule: Any, hand: Sequence[Card], chance: float) -> tuple[tuple[Card, ...], ...]:
    do = "group any number of cards, also none, with any chance from 0 to 1"
    found: Any = asked(rule.groups, hand, chance, do=do)
    insist(
        (listed(found, tuple) or listed(found, list)) and all(listed(g, Card) for g in found),
        f"groups gave {shown(found)} for {described(hand)}",
        do="return a tuple of tuples of cards",
    )
    return tuple(tuple(group) for group in found)


def _listed(groups: Sequence[Sequence[Card]]) -> str:
    return str([numbers(group) for group in groups])
