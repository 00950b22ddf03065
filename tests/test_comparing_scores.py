"""
A step's comparison: answered as soon as it is certain, and nothing is measured for it after that.
"""

from __future__ import annotations

from by_hand import HEAD, Hand, artifact

from headway import Commit, Compare
from headway.contracts import Committed, Comparison, HeadMoved, Outcome, Snapshot
from headway.machine import Cancel

TASKS = ("w", "x", "y", "z")


def comparing(*values, slots=16, baseline=0.0, **options):
    """
    A step that compares artifacts with a head that scores ``baseline`` on every task.
    """
    hand = Hand(held_out=TASKS, slots=slots, **options).start().baseline(baseline)
    hand.card()
    hand.says(Compare(HEAD, tuple(map(artifact, values)), TASKS))
    return hand


def measured(hand, value, score, task=None):
    """
    A measurement of one artifact ends.
    """
    wanted = [
        place
        for place, call in enumerate(hand.calls("measure"))
        if call.artifact == artifact(value) and task in (None, call.task)
    ]
    return hand.done("measure", score, wanted[0])


def running(hand):
    return sorted(call.artifact.value["k"] for call in hand.calls("measure"))


def test_a_gain_that_nothing_can_undo_is_enough():
    """
    The head scores 0 everywhere, so the first gain decides; the winner's other calls go on.
    """
    hand = comparing(1)
    out = measured(hand, 1, 0.5)

    assert Comparison(best=0, better=(0,)) == hand.resumed.value
    assert [] == [i for i in out if isinstance(i, Cancel)]
    assert [1, 1, 1] == running(hand)


def test_a_gain_that_may_be_lost_again_is_not_enough():
    """
    The head scores 0.5 everywhere: one gain of 0.5 is undone by one task that falls to 0.
    """
    hand = comparing(1, baseline=0.5)
    measured(hand, 1, 1.0)
    measured(hand, 1, 0.5)
    measured(hand, 1, 0.5)
    assert 0 == hand.resumed.n
    measured(hand, 1, 0.5)

    assert Comparison(best=0, better=(0,)) == hand.resumed.value


def test_what_cannot_win_any_more_is_cancelled():
    """
    The head scores 0.9 everywhere: what the first task loses, the others can't gain.
    """
    hand = comparing(1, baseline=0.9)
    out = measured(hand, 1, 0.5)

    assert Comparison(best=None, better=()) == hand.resumed.value
    assert 3 == sum(isinstance(i, Cancel) for i in out)


def test_queued_scores_that_are_not_needed_are_never_paid():
    """
    Two slots are free, so two scores are begun instead of four.
    """
    hand = comparing(1, slots=2, max_rollouts=1)
    measured(hand, 1, 0.5)

    assert Comparison(best=0, better=(0,)) == hand.resumed.value
    assert 4 + 2 == hand.machine.statistics().calls["measure"]


def test_the_best_of_several_that_help_is_certain_too():
    """
    Both help; which one is better takes more scores.
    """
    hand = comparing(1, 2)
    measured(hand, 1, 0.5)
    measured(hand, 2, 0.5)
    assert 0 == hand.resumed.n
    for score in (0.5, 0.5, 0.5):
        measured(hand, 1, score)
    for score in (0.5, 1.0):
        measured(hand, 2, score)
    assert 0 == hand.resumed.n
    measured(hand, 2, 0.5)

    assert Comparison(best=1, better=(0, 1)) == hand.resumed.value


def test_nothing_is_measured_against_a_perfect_head():
    """
    Nothing can beat it, so the answer is there at once.
    """
    hand = comparing(1, baseline=1.0)

    assert Comparison(best=None, better=()) == hand.resumed.value
    assert [] == hand.calls("measure")


def test_what_is_known_costs_nothing():
    """
    A comparison that known scores answer is answered at once.
    """
    hand = comparing(1)
    for _ in TASKS:
        measured(hand, 1, 0.5)
    before = hand.machine.statistics().calls["measure"]
    hand.says(Compare(HEAD, (artifact(1), HEAD), TASKS))

    assert Comparison(best=0, better=(0,)) == hand.resumed.value
    assert before == hand.machine.statistics().calls["measure"]


def test_a_comparison_that_cannot_be_measured_lets_its_cards_go():
    """
    As with scores: after three tries its cards are unmeasured.
    """
    hand = comparing(1, baseline=0.5)
    while not hand.decisions:
        hand.failed_to_measure(1)

    assert [(0, "discarded", "unmeasured")] == hand.decisions


def test_a_lost_race_asks_again():
    """
    What was measured for a comparison is remembered when its step is run again.
    """
    hand = comparing(1)
    measured(hand, 1, 0.5)
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", HeadMoved(Snapshot(1, artifact(7))))

    assert [1, 1, 1] == running(hand)


def test_a_head_that_cannot_be_at_the_target_is_not_followed():
    """
    A task that scores 0 keeps the mean below the target, so the other scores are not asked for.
    """
    hand = Hand(held_out=TASKS, slots=16, target_reward=1.0).start().baseline(0.0)
    hand.card()
    hand.says(Compare(HEAD, (artifact(1),), TASKS))
    measured(hand, 1, 0.5)
    hand.says(Commit(artifact(1), hand.cards))
    for _ in range(3):
        measured(hand, 1, 0.5)
    before = hand.machine.statistics().calls["measure"]
    hand.done("commit", Committed(1))

    assert before == hand.machine.statistics().calls["measure"]
    assert "running" == hand.machine.phase


def test_a_head_that_may_be_at_the_target_is_followed():
    """
    The scores that a comparison left out are asked for when the target may have been reached.
    """
    hand = Hand(held_out=TASKS, slots=3, target_reward=1.0).start().baseline(0.0)
    hand.card()
    hand.says(Compare(HEAD, (artifact(1),), TASKS))
    measured(hand, 1, 1.0)
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", Committed(1))
    hand.returns()
    while "running" == hand.machine.phase:
        if hand.calls("measure"):
            hand.done("measure", 1.0)
        else:
            hand.done("rollout", Outcome(reward=1.0))

    assert "target_reward" == hand.machine.stop_reason


def test_a_task_that_is_named_twice_counts_twice():
    """
    As in a row of scores: a task's score is as many of the row's as it is named.
    """
    hand = Hand(held_out=TASKS, slots=16).start().baseline(0.5)
    hand.card()
    hand.says(Compare(HEAD, (artifact(1),), ("w", "w", "x")))
    measured(hand, 1, 0.8, "x")
    assert 0 == hand.resumed.n
    measured(hand, 1, 0.3, "w")

    assert Comparison(best=None, better=()) == hand.resumed.value
