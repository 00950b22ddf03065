"""
Fresh draws, commits without cards, and promotions: what the machine makes of them.
"""

from __future__ import annotations

import pytest
from by_hand import FAULT, HEAD, Hand, artifact

from headway.builtins._memory_ledger import MemoryLedger
from headway.contracts import (
    Artifact,
    Commit,
    Committed,
    FaultSeen,
    Measure,
    MeasureAll,
    Promote,
    Snapshot,
)
from headway.errors import OptionError
from headway.machine import FINAL_DRAW, Done, MachineConfig, Started, Stop


def in_step(**options):
    hand = Hand(**{"oracle": ("o",)} | options).start().baseline()
    hand.card()
    return hand


def committed(hand, value=1, cards=(0,), **more):
    """
    The step commits, and the ledger acknowledges.
    """
    hand.says(Commit(artifact(value), cards, **more))
    hand.done("commit", Committed(hand.machine.head.version + 1))
    return hand


def test_draws_are_measured_from_the_first_one_asked_for():
    """
    By whole cycles, and answered in the order (task, draw); those that are known cost nothing.
    """
    hand = in_step(slots=20)
    hand.says(Measure((artifact(1),), ("x", "y"), 2, 5))

    assert [("x", 5), ("y", 5), ("x", 6), ("y", 6)] == [
        (call.task, call.draw) for call in hand.calls("measure")
    ]
    for score in (0.1, 0.3, 0.2, 0.4):
        hand.done("measure", score)
    assert ((0.1, 0.2, 0.3, 0.4),) == hand.resumed.value
    hand.says(Measure((artifact(1),), ("x", "y"), 1, 6))
    assert ((0.2, 0.4),) == hand.resumed.value


def test_several_measurements_are_made_at_once_and_each_has_its_answer():
    """
    A score that two of them ask for is taken once, and what was known before costs nothing.
    """
    hand = in_step(slots=20)
    hand.says(Measure((artifact(1),), ("x",)))
    hand.done("measure", 0.1)
    hand.says(
        MeasureAll(
            [
                Measure((artifact(1), artifact(2)), ("x", "y")),
                Measure((artifact(2),), ("x",), 2),
                Measure((artifact(3),), ("y",), 1, 5),
            ]
        )
    )
    begun = [(call.artifact, call.task, call.draw) for call in hand.calls("measure")]
    one, two, three = (artifact(n) for n in (1, 2, 3))
    assert [(one, "y", 0), (two, "x", 0), (two, "y", 0), (two, "x", 1), (three, "y", 5)] == begun

    for score in (0.2, 0.3, 0.4, 0.5, 0.6):
        assert 1 == hand.resumed.n
        hand.done("measure", score)
    assert (((0.1, 0.2), (0.3, 0.4)), ((0.3, 0.5),), ((0.6,),)) == hand.resumed.value
    hand.says(Measure((artifact(2),), ("y",)))
    assert ((0.4,),) == hand.resumed.value


def test_a_score_that_cannot_be_had_ends_all_measurements_of_the_request():
    """
    As it would end a single one.
    """
    hand = in_step(slots=20)
    hand.says(MeasureAll([Measure((artifact(n),), ("x",)) for n in (1, 2)]))
    hand.done("measure", 0.5)
    for _ in range(3):
        hand.failed_to_measure(2)

    assert [(0, "discarded", "unmeasured")] == hand.decisions


def test_a_step_may_measure_on_the_oracle_tasks():
    """
    Which no ticket rolls out and no final score counts.
    """
    hand = in_step()
    hand.says(Measure((artifact(1),), ("o",)))

    assert ["o"] == [call.task for call in hand.calls("measure")]


@pytest.mark.parametrize(
    "request_",
    [
        Measure((artifact(1),), ("x",), 1, FINAL_DRAW),
        MeasureAll(
            [Measure((artifact(1),), ("x",)), Measure((artifact(1),), ("x",), 1, FINAL_DRAW)]
        ),
        Promote(1),
        Promote(7),
    ],
)
def test_what_cannot_be_asked_for_is_contained(request_):
    """
    Draws that are kept for the final score, and versions that were not made.
    """
    hand = in_step()
    hand.says(request_)

    assert ["ContractError"] == [
        n.fault.type
        for n in hand.notices
        if isinstance(n, FaultSeen) and n.fault.where == "aggregator"
    ]


def test_ids_of_oracle_tasks_are_their_own():
    """
    A task is for one purpose.
    """
    with pytest.raises(OptionError, match="occurs twice"):
        MachineConfig(seed=0, train=("a",), held_out=("x",), oracle=("x",))


def test_a_commit_without_cards_moves_the_head_and_says_what_it_changed():
    """
    Cards that touch other parts are still untouched; without keys, any part may have changed.
    """
    for keys, untouched in ((("other",), True), (("k",), False), (None, False)):
        hand = in_step()
        card = hand.cards[0]
        committed(hand, 5, (), keys=keys)

        assert 1 == hand.machine.head.version
        assert untouched is hand.machine._state.merger.untouched(card)


def test_a_commit_without_cards_counts_as_one():
    """
    For patience, for backpressure and in the outcome of its sweep.
    """
    hand = committed(in_step(), 5, ())
    hand.returns()

    assert 1 == hand.machine.statistics().sweeps["committed"]
    assert 0 == hand.machine._sweeps.barren


def test_a_promotion_is_answered_at_once_and_shown_once_acknowledged():
    """
    The step goes on; steps that begin later see the stable version.
    """
    hand = committed(in_step())
    hand.says(Promote(1))

    assert (2, None) == (hand.resumed.n, hand.resumed.value)
    assert [1] == [call.version for call in hand.calls("promote")]
    assert hand.machine.stable is None
    hand.done("promote", Snapshot(1, artifact(1)))
    assert Snapshot(1, artifact(1)) == hand.machine.stable
    hand.returns()
    hand.card()
    assert 0 == hand.resumed.n
    assert Snapshot(1, artifact(1)) == hand.resumed.value.stable


def test_a_promotion_that_fails_is_a_fault_and_no_more():
    """
    The run goes on with the stable version that it had.
    """
    hand = committed(in_step())
    hand.says(Promote(1))
    hand.failed("promote")
    hand.returns()

    assert FAULT in [n.fault for n in hand.notices if isinstance(n, FaultSeen)]
    assert "running" == hand.machine.phase
    assert hand.machine.stable is None


def test_a_run_that_drains_waits_for_a_promotion():
    """
    So that the result shows what the ledger has.
    """
    hand = committed(in_step(max_rollouts=1))
    hand.says(Promote(1))
    hand.returns()

    assert "draining" == hand.machine.phase
    hand.done("promote", Snapshot(1, artifact(1)))
    assert "scoring" == hand.machine.phase


def test_a_run_that_halts_waits_for_no_promotion():
    """
    Its answer is late then.
    """
    hand = committed(in_step())
    hand.says(Promote(1))
    call = hand.calls("promote")[0].id
    hand.feed(Stop(0.0, "interrupted"))

    assert "finished" == hand.machine.phase
    assert [] == hand.feed(Done(0.0, call, Snapshot(1, artifact(1))))


def test_the_head_s_reward_is_known_from_any_of_the_gate_s_draws():
    """
    The mean over tasks, when the draws do not begin at 0.
    """
    hand = in_step(deterministic=False, slots=20)
    hand.says(Measure((artifact(1),), ("x", "y"), 2, 8))
    for score in (0.0, 1.0, 1.0, 1.0):
        hand.done("measure", score)
    committed(hand)

    assert 0.75 == hand.machine._state.head_reward()


def test_a_machine_begins_with_the_ledger_s_stable_version():
    """
    Which a run that goes on from an earlier one has.
    """
    hand = Hand()
    hand.feed(Started(0.0, HEAD, Snapshot(0, HEAD.artifact)))

    assert Snapshot(0, HEAD.artifact) == hand.machine.stable


def test_the_ledger_promotes_what_it_was_asked_to():
    """
    The answer of a real ledger is what the machine takes.
    """
    ledger = MemoryLedger(Artifact(0))
    ledger.commit(0, Artifact(1), key="a", message="")

    assert Snapshot(1, Artifact(1)) == ledger.promote(1)
