"""
The contract of aggregators finds what is wrong with a faulty one that learns from outcomes.
"""

from __future__ import annotations

import inspect
from functools import cache

import mutants_groups as mutants
import pytest
from climbing import Climber, Gatherer, Hill
from kit import verdict

from headway.testing import ToyDomain
from headway.testing.conformance import AggregatorContract
from headway.testing.conformance.aggregators import small_domain

FLAGS = {"interleavings": 40, "scripted": 2}


class Shrinking(AggregatorContract):
    """
    The contract where groups may lose members.
    """

    options = {"least_members": 1, "lost_groups": "drop"}  # noqa: RUF012 - as a test class has them


@cache  # one for all tests of an aggregator; only a faulty one changes what it is given
def corpus_of(make, domain):
    """
    What calm runs gave an aggregator.
    """
    return inspect.unwrap(vars(AggregatorContract)["corpus"])(AggregatorContract(), make, domain)


def judged(make, name, *, domain=Hill, contract=AggregatorContract):
    """
    What the contract's test says of an aggregator on the hill.
    """
    test, more = f"test_{name}", {"domain": domain}
    if "corpus" in inspect.signature(getattr(contract, test)).parameters:
        try:
            more["corpus"] = corpus_of(make, domain)
        except AssertionError as error:  # the fixture says it before the test can
            return str(error)
    return verdict(contract, make, test, **more, **FLAGS)


@pytest.mark.parametrize(
    ("make", "test", "wrong", "remedy"),
    mutants.MUTANTS,
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_a_mutant_is_found(make, test, wrong, remedy):
    """
    By the named test, whose message says what is wrong and, after an arrow, what to do.
    """
    said, _, advice = judged(make, test).partition("\n-> ")

    assert wrong in said
    assert remedy in advice


@pytest.mark.parametrize("twin", [Climber, Gatherer])
@pytest.mark.parametrize("test", sorted({test for _, test, _, _ in mutants.MUTANTS}))
def test_a_sound_twin_passes(test, twin):
    """
    Each of those tests, on the aggregators that all mutants are made from.
    """
    assert judged(twin, test) == ""


def test_gathering_proposals_is_told():
    """
    There a step ends, and further cards get further steps.
    """
    said = judged(mutants.GathersProposals, "every_card_is_decided_once", domain=small_domain)

    assert "its aggregator learns from proposals" in said
    assert "learn from outcomes" in said


class ShrinksWell(Climber):
    """
    Uses pairs alone.
    """

    def step(self, cards, context):
        pairs = [card for card in cards if len(card.members) == self.group_size]
        yield from (
            super().step(pairs or [cards[0]] * bool(pairs), context)
            if pairs
            else (self._nothing(cards, context))
        )

    def _nothing(self, cards, context):
        from headway.contracts import Commit

        yield Commit(context.head, cards)


def test_groups_that_lost_members_are_tried_where_they_may():
    """
    With ``least_members`` alone; there the plain climber, which wants pairs, is found.
    """
    name = "unusual_cards_are_borne"
    said = judged(Climber, name, contract=Shrinking)

    assert "on short of members cards" in said
    assert "" == judged(Climber, name)
    assert "" == judged(ShrinksWell, name, contract=Shrinking)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("an_empty_sweep_decides_nothing", "has at least one"),
        ("hostile_proposals_are_borne", "nobody is asked for proposals"),
    ],
)
def test_what_is_only_for_proposals_is_left_out(name, why):
    """
    With its reason.
    """
    assert f"skipped: {why}" in judged(Climber, name).replace("a batch of groups ", "")


@pytest.mark.parametrize(
    "name", ["no_order_shows_in_sync_mode", "select_gives_a_group_its_payload_alone"]
)
def test_what_is_only_for_groups_is_left_out(name):
    """
    Of what learns from proposals.
    """
    from headway.builtins.standard import StandardAggregator

    assert "skipped: it learns from proposals" == judged(StandardAggregator, name, domain=ToyDomain)
