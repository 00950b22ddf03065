"""
What a sweep came to: one word, and the reason where all of its cards had the same.
"""

from __future__ import annotations

import pytest
from by_hand import Hand, artifact, proposal

from headway import Commit, Consume, LagGate, Measure, Snapshot
from headway.contracts import Committed, HeadMoved, Outcome, SweepDone
from headway.machine import Rebased


def outcomes(hand):
    return [notice.outcome for notice in hand.notices if isinstance(notice, SweepDone)]


def in_step(cards=1):
    """
    A step that holds so many cards, made while another's commit was on its way.
    """
    hand = Hand(n_workers=2, slots=4, gate=LagGate(n_workers=2, async_ratio=6)).start().baseline()
    hand.card()
    if cards > 1:
        hand.says(Measure((artifact(99),), ("x",)))
        for _ in range(cards):
            hand.card()
        hand.baseline(0.0)
        hand.says(Consume(hand.cards, "worse"))
        hand.returns()
    return hand


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("worse", "below-threshold"),
        ("uncertain", "below-threshold"),
        ("duplicate", "duplicate"),
        ("oversized", "oversized"),
        ("vetoed", "oracle-rejected"),
        ("conflict", "conflict"),
        ("unmeasured", "unmeasured"),
    ],
)
def test_one_reason_for_all_cards(reason, outcome):
    """
    A step that consumes all of its cards for one reason names the sweep.
    """
    hand = in_step()
    hand.says(Consume(hand.cards, reason))
    hand.returns()

    assert outcome == outcomes(hand)[-1]
    assert {outcome: 1} == hand.machine.statistics().sweeps


def test_two_reasons_are_none():
    """
    Then the step decided the cards, and that is all.
    """
    hand = in_step(cards=2)
    first, *others = hand.cards
    hand.says(Consume([first], "vetoed"))
    hand.says(Consume(others, "duplicate"))
    hand.returns()

    assert 2 == len([first, *others])
    assert "below-threshold" == outcomes(hand)[-1]


def test_a_commit_counts_whatever_else_was_discarded():
    """
    One card in, one vetoed: committed.
    """
    hand = in_step(cards=2)
    first, *others = hand.cards
    hand.says(Consume(others, "vetoed"))
    hand.says(Commit(artifact(1), [first]))
    hand.done("commit", Committed(1))
    hand.returns()

    assert "committed" == outcomes(hand)[-1]


def test_scores_that_can_not_be_had():
    """
    The step's cards go unmeasured, and so does the sweep.
    """
    hand = in_step()
    hand.says(Measure((artifact(1),), ("x",)))
    for _ in range(3):
        hand.failed("measure")

    assert "unmeasured" == outcomes(hand)[-1]


@pytest.mark.parametrize(
    ("rebased", "outcome"),
    [
        (Rebased(proposal=None, artifact=None), "conflict"),
        (Rebased(proposal=proposal({}, no_op=True), artifact=artifact(8)), "duplicate"),
    ],
)
def test_a_sweep_whose_cards_do_not_reach_a_step(rebased, outcome):
    """
    Somebody else moved the head in the ledger; the card no longer fits it, or changes nothing.
    """
    hand = in_step()
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", HeadMoved(Snapshot(1, artifact(8))))
    hand.done("rebase", rebased)

    assert ["cas-conflict", outcome] == outcomes(hand)
    assert 1 == hand.machine.statistics().commit_races


def test_an_oversized_card_reaches_no_sweep():
    """
    It is discarded when it is made.
    """
    hand = Hand(max_proposal_bytes=3).start().baseline()
    hand.done("rollout", Outcome(reward=0.0))
    hand.done("propose", proposal({"k": 1}, size=4))

    assert [(0, "discarded", "oversized")] == hand.decisions
    assert [] == outcomes(hand)


def test_an_unknown_reason_is_refused():
    """
    In words: what was given, what was probably meant, and what there is.
    """
    with pytest.raises(ValueError, match=r"^'duplicat' is no reason .*'duplicate'.*one of stale, "):
        Consume([], "duplicat")
    with pytest.raises(ValueError, match=r"^\['worse'\] is no reason "):
        Consume([], ["worse"])
