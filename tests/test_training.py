"""
Trainings, as the machine sees them: when they begin, what they hold up, and what their failures cost.
"""

from __future__ import annotations

import pytest
from by_hand import FAULT, Hand, Optimizer, artifact

from headway.builtins._policies import Full
from headway.builtins._sampler import ShuffledEpochs
from headway.contracts import (
    Commit,
    Committed,
    Consume,
    FaultSeen,
    HeadMoved,
    Snapshot,
    Train,
    Usage,
)
from headway.errors import IllegalEventError, OptionError
from headway.machine import (
    Abandon,
    Abort,
    Done,
    Failed,
    MachineConfig,
    PluginLookups,
    Resumed,
    Stop,
    Tick,
)


def in_step(**options):
    hand = Hand(**options).start().baseline()
    hand.card()
    return hand


def training(**options):
    """
    A step waits for a training of its card.
    """
    hand = in_step(**options)
    hand.says(Train(hand.cards, {"part": 0}))
    return hand


def passes(hand, seconds):
    """
    Time passes, and nothing else happens.
    """
    hand.now += seconds
    return hand.feed(Tick(hand.now))


def faults(hand):
    return [n.fault for n in hand.notices if isinstance(n, FaultSeen)]


# ---------------------------------------------------------------------------- what it is given


def test_it_is_made_with_the_head_the_cards_and_the_payload():
    """
    Cards are whole, in the order in which they were named; it is no paid call and takes no slot.
    """
    hand = training()
    (call,) = hand.calls("train")

    assert (1, 1, hand.machine.head.artifact) == (call.step, call.n, call.artifact)
    assert (hand.cards, {"part": 0}) == (call.cards, call.payload)
    assert call not in hand.machine.running_calls
    assert call in hand.machine.in_flight
    assert "train" not in hand.machine.statistics().calls


@pytest.mark.parametrize("answer", [None, True, 3, 0.5, "done", [1], {"loss": 0.5}])
def test_the_step_goes_on_with_what_it_gave(answer):
    """
    Whatever JSON value that is.
    """
    hand = training()
    hand.done("train", answer)

    assert (1, 1, answer) == (hand.resumed.step, hand.resumed.n, hand.resumed.value)
    assert [] == hand.calls("train")


@pytest.mark.parametrize("value", [artifact(1), Committed(1), (1, 2), {1}])
def test_what_is_no_json_value_is_no_answer(value):
    """
    A driver that says so is wrong, and nothing changes.
    """
    hand = training()
    (call,) = hand.calls("train")
    with pytest.raises(IllegalEventError, match="can't give"):
        hand.machine.handle(Done(hand.now, call.id, value))

    assert [call] == hand.calls("train")


def test_after_a_commit_it_is_made_with_the_new_head():
    """
    The step that committed stands on it.
    """
    hand = in_step(n_workers=1)
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", Committed(1))
    hand.says(Train((), "after"))

    assert [artifact(1)] == [call.artifact for call in hand.calls("train")]


@pytest.mark.parametrize("cards", [(7,), (0, 0)])
def test_only_cards_of_the_step_are_learnt_from(cards):
    """
    Each once; a step that names others has broken its contract.
    """
    hand = in_step()
    hand.says(Train(cards))

    assert [] == hand.calls("train")
    assert ["ContractError"] == [fault.type for fault in faults(hand)]


def test_a_card_that_was_let_go_is_not_learnt_from():
    """
    It is no card of the step any more.
    """
    hand = in_step()
    hand.says(Consume((0,)))
    hand.says(Train((0,)))

    assert ["ContractError"] == [fault.type for fault in faults(hand)]


@pytest.mark.parametrize(("cards", "error"), [(("a",), TypeError), ((None,), TypeError)])
def test_a_request_names_cards_or_numbers(cards, error):
    """
    Nothing else.
    """
    with pytest.raises(error, match="is no card or card number"):
        Train(cards)


# ---------------------------------------------------------------------------- what goes on meanwhile


def test_rollouts_go_on_while_it_runs():
    """
    As many as the gate lets in, with all slots; their cards wait for the next step.
    """
    hand = training(n_workers=2, slots=2)
    began = hand.machine.statistics().tickets
    for _ in range(3):
        hand.card()

    assert hand.machine.statistics().tickets > began
    assert 1 == len(hand.calls("train"))
    assert 4 == hand.machine.statistics().held
    assert 1 == hand.resumed.step


def test_it_needs_no_slot():
    """
    It begins though none is free.
    """
    hand = in_step(n_workers=3, slots=3)
    assert 3 == len(hand.machine.running_calls)
    hand.says(Train(hand.cards))

    assert 1 == len(hand.calls("train"))


def test_no_further_step_begins_beside_it():
    """
    With ``max_steps=1``.
    """
    hand = training(n_workers=2, slots=4)
    hand.card()
    hand.card()

    assert 1 == hand.resumed.step


def test_a_further_step_may_race_it():
    """
    With ``max_steps=2``, as it may race a measurement; the second one's commit closes the first.
    """
    hand = training(n_workers=2, slots=4, max_steps=2)
    (call,) = hand.calls("train")
    hand.card()
    assert (2, 0) == (hand.resumed.step, hand.resumed.n)
    hand.says(Commit(artifact(5), hand.cards))
    out = hand.done("commit", Committed(1))

    assert Abandon(call.id) in out
    assert Abort(1) in out


def test_two_steps_train_one_after_the_other():
    """
    The second begins when the first is over, in the order of asking.
    """
    hand = training(n_workers=2, slots=4, max_steps=2)
    hand.card()
    hand.says(Train(hand.cards, "second"))
    assert [1] == [call.step for call in hand.calls("train")]
    hand.done("train", None)

    assert [(2, "second")] == [(call.step, call.payload) for call in hand.calls("train")]


def test_the_next_one_begins_when_the_one_before_is_given_up():
    """
    Here since its step was closed by another one's commit, and the cards are judged anew.
    """
    hand = training(n_workers=3, slots=6, max_steps=3)
    hand.card()
    second = hand.resumed
    hand.says(Train(hand.cards, "second"))
    hand.card()
    assert 3 == hand.resumed.step != second.step
    hand.says(Commit(artifact(9), hand.cards))
    out = hand.done("commit", Committed(1))

    assert [1, 2] == sorted(i.step for i in out if isinstance(i, Abort))
    assert [] == hand.calls("train")


# ---------------------------------------------------------------------------- when it fails


def test_its_cards_wait_again_and_are_tried_again():
    """
    In a new step at once, whose training begins after a pause.
    """
    hand = training()
    out = hand.failed("train")
    assert Abort(1) in out
    assert [] == hand.decisions
    assert (2, 0) == (hand.resumed.step, hand.resumed.n)
    assert (0,) == tuple(card.number for card in hand.cards)
    hand.says(Train(hand.cards, {"part": 0}))
    assert [] == hand.calls("train")
    assert 0.25 == hand.machine.wake_at
    passes(hand, 0.25)

    assert [2] == [call.step for call in hand.calls("train")]


def test_pauses_double():
    """
    A quarter of a second first, eight seconds at most.
    """
    hand = training(max_train_errors=20)
    pauses = []
    for _ in range(8):
        hand.failed("train")
        hand.says(Train(hand.cards))
        pauses.append(hand.machine.wake_at - hand.now)
        passes(hand, pauses[-1])

    assert [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0] == pauses


def test_the_backend_may_say_when_to_come_again():
    """
    When that is later than the pause; other calls do not wait for it.
    """
    hand = training()
    (call,) = hand.calls("train")
    del hand.runs[call.id]
    hand.feed(Failed(hand.now, call.id, FAULT, retry_after=30.0))
    hand.says(Train(hand.cards))

    assert 30.0 == hand.machine.wake_at
    assert hand.calls("rollout")


@pytest.mark.parametrize("most", [1, 3])
def test_so_many_failures_end_the_run(most):
    """
    With the last one as its error; the card is settled, and the fault is told each time.
    """
    hand = training(max_train_errors=most)
    for left in reversed(range(most)):
        hand.failed("train")
        if left:
            hand.says(Train(hand.cards))
            passes(hand, 10.0)

    assert ("finished", "error") == (hand.machine.phase, hand.machine.stop_reason)
    assert FAULT == hand.machine.error
    assert [(FAULT, most)] == list(hand.machine.faults)
    assert [(0, "settled", "error")] == hand.decisions


def again(hand, payload=None):
    """
    The step asks for a training, which begins however long it must wait.
    """
    hand.says(Train(hand.cards, payload))
    passes(hand, 10.0)


def test_a_step_that_got_through_begins_the_count_again():
    """
    By ending; two failures are borne before it and two after it.
    """
    hand = training()
    for _ in range(2):
        hand.failed("train")
        again(hand)
    hand.done("train", "good")
    hand.returns()
    hand.card()
    again(hand)
    for _ in range(2):
        hand.failed("train")
        again(hand)

    assert "running" == hand.machine.phase


def test_a_commit_begins_the_count_again():
    """
    It is what the training was for.
    """
    hand = training(max_train_errors=2)
    hand.failed("train")
    again(hand)
    hand.done("train", "good")
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", Committed(1))
    hand.says(Train(()))
    hand.failed("train")

    assert "running" == hand.machine.phase


def test_a_training_that_works_does_not_begin_the_count_again():
    """
    Else a step whose second training always fails would never end.
    """
    hand = training()
    for left in (2, 1, 0):
        hand.done("train", "good")
        again(hand, "second")
        hand.failed("train")
        if left:
            again(hand, "first")

    assert ("finished", "error") == (hand.machine.phase, hand.machine.stop_reason)


def test_a_step_that_does_not_train_leaves_the_count_alone():
    """
    It says nothing of trainings.
    """
    hand = training(max_train_errors=2)
    hand.failed("train")
    hand.says(Consume(hand.cards))
    hand.returns()
    hand.card()
    again(hand)
    hand.failed("train")

    assert ("finished", "error") == (hand.machine.phase, hand.machine.stop_reason)


def test_a_rollout_that_fails_is_no_failed_training():
    """
    And the other way round: a training that fails says nothing of the backend, and retires nobody.
    """
    hand = training(n_workers=1, slots=3, max_worker_errors=1)
    hand.failed("train")

    assert 0 == hand.machine.statistics().retired_workers
    assert hand.machine.paused_until is None
    assert 0 == hand.machine.statistics().usage.failures


def test_at_its_deadline_it_has_failed():
    """
    It is given up, and what it says later is counted and ignored.
    """
    hand = training(train_timeout=5.0)
    (call,) = hand.calls("train")
    assert 5.0 == hand.machine.wake_at
    out = passes(hand, 5.0)
    assert Abandon(call.id) in out
    assert [("train", "Timeout")] == [(fault.where, fault.type) for fault in faults(hand)]
    resumed = hand.resumed
    assert (2, 0) == (resumed.step, resumed.n)
    hand.feed(Done(hand.now, call.id, "late"))

    assert resumed == hand.resumed
    assert 1 == hand.machine.statistics().late


def test_an_answer_at_its_deadline_is_too_late():
    """
    As for every call: time is looked at first.
    """
    hand = training(train_timeout=5.0)
    (call,) = hand.calls("train")
    hand.now = 5.0
    out = hand.feed(Done(hand.now, call.id, "late"))

    assert Abandon(call.id) in out
    assert 2 == hand.resumed.step


def test_other_timeouts_are_not_its_own():
    """
    It may take as long as it likes, beside rollouts that may not.
    """
    hand = training(rollout_timeout=1.0, eval_timeout=1.0)
    passes(hand, 100.0)

    assert 1 == len(hand.calls("train"))


# ---------------------------------------------------------------------------- when its step is closed


def foreign_commit():
    """
    Somebody else has moved the head while a step trains beside another one that commits; cards are good
    at any age.
    """
    parts = {"aggregator": Optimizer(), "policy": Full(), "sampler": ShuffledEpochs()}
    lookups = PluginLookups(**parts, estimator=None)
    hand = training(lookups=lookups, n_workers=2, slots=4, max_steps=2)
    hand.card()
    hand.says(Commit(artifact(5), hand.cards))
    hand.done("commit", HeadMoved(Snapshot(3, artifact(8))))
    return hand


def test_when_the_head_moves_its_answer_comes_to_nobody():
    """
    The cards are judged anew and a step begins on the new head.
    """
    hand = foreign_commit()
    call = next(call for call in hand.runs.values() if call.kind == "train")
    assert [] == hand.calls("train")
    resumed = hand.resumed
    hand.feed(Done(hand.now, call.id, "late"))
    hand.feed(Failed(hand.now, call.id, FAULT))

    assert resumed == hand.resumed
    assert resumed.step > 2
    assert 2 == hand.machine.statistics().late
    assert [] == faults(hand)


def test_a_training_that_is_given_up_is_no_failure():
    """
    The count is about trainings that failed.
    """
    hand = foreign_commit()
    again(hand)
    hand.failed("train")
    again(hand)
    hand.failed("train")

    assert "running" == hand.machine.phase


# ---------------------------------------------------------------------------- the end of a run


@pytest.mark.parametrize("reason", ["interrupted", "max_seconds"])
def test_a_run_that_gives_up_gives_its_training_up(reason):
    """
    At once, and without the grace that a commit has.
    """
    hand = training(max_seconds=50.0, final_draws=1)
    (call,) = hand.calls("train")
    stopped = reason == "interrupted"
    out = hand.feed(Stop(hand.now, reason)) if stopped else passes(hand, 50.0)

    assert Abandon(call.id) in out
    assert reason == hand.machine.stop_reason
    assert [(0, "settled", reason)] == hand.decisions


def test_a_run_that_drains_waits_for_it():
    """
    What was paid for is still decided.
    """
    hand = training(max_rollouts=1)
    assert ("draining", 1) == (hand.machine.phase, len(hand.calls("train")))
    hand.done("train", None)
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", Committed(1))

    assert [(0, "committed", "")] == hand.decisions


def test_a_training_that_fails_while_a_run_drains_is_tried_again():
    """
    And its step is told that it must decide.
    """
    hand = training(max_rollouts=1)
    hand.failed("train")
    again(hand)
    hand.done("train", None)
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", Committed(1))
    hand.returns()
    hand.finish()

    assert [(0, "committed", "")] == hand.decisions
    assert "max_iters" == hand.machine.stop_reason


# ---------------------------------------------------------------------------- going on, and counting


def test_another_process_makes_it_once_more():
    """
    Under its number, with all its time before it.
    """
    hand = training(train_timeout=5.0)
    (call,) = hand.calls("train")
    passes(hand, 4.0)
    hand.feed(Resumed(hand.now))
    assert [call] == hand.calls("train")
    passes(hand, 4.5)
    assert [call] == hand.calls("train")
    passes(hand, 0.5)

    assert [] == hand.calls("train")


def test_seconds_and_trainings_are_counted():
    """
    Those that ended, those that were given up, and the one that runs.
    """
    hand = training(train_timeout=5.0)
    hand.now = 2.0
    hand.done("train", None)
    hand.says(Train(hand.cards))
    passes(hand, 3.0)

    counts = hand.machine.statistics()
    assert (2, 5.0) == (counts.trainings, counts.train_seconds)
    passes(hand, 10.0)
    counts = hand.machine.statistics()
    assert (2, 7.0 + 8.0) == (counts.trainings, counts.train_seconds)


def test_what_it_charges_counts():
    """
    Be it that it works, fails, or was given up and answers late; once each.
    """
    hand = training(train_timeout=5.0)

    def charged(event, tokens):
        (call,) = hand.calls("train")
        hand.feed(event(call.id, Usage(tokens, 0.5)))
        return call.id

    charged(lambda call, usage: Done(hand.now, call, None, usage), 10)
    hand.says(Train(hand.cards))
    charged(lambda call, usage: Failed(hand.now, call, FAULT, usage=usage), 20)
    again(hand)
    (call,) = hand.calls("train")
    passes(hand, 5.0)
    for _ in range(2):
        hand.feed(Done(hand.now, call.id, None, Usage(40, 0.5)))
    usage = hand.machine.statistics().usage

    assert (70, 1.5) == (usage.tokens, usage.cost)
    assert 0 == usage.failures


def test_a_maximum_knows_what_it_charged():
    """
    Nothing more begins once it is used up; what trainings cost is not taken for what calls do.
    """
    hand = training(max_tokens=100, tokens_per_call=10, final_draws=1)
    (call,) = hand.calls("train")
    hand.feed(Done(hand.now, call.id, None, Usage(95)))
    began = hand.machine.statistics().tickets
    hand.returns()
    while hand.calls("rollout"):
        hand.failed("rollout")

    assert began == hand.machine.statistics().tickets
    assert "max_tokens" == hand.machine.stop_reason


@pytest.mark.parametrize(
    ("option", "value"), [("train_timeout", 0), ("max_train_errors", 0), ("train_timeout", "1")]
)
def test_its_options_are_checked(option, value):
    """
    A deadline is above 0 seconds, and at least one failure ends a run.
    """
    config = {"seed": 0, "train": ("a", "b"), "held_out": ("x", "y")}
    with pytest.raises(OptionError, match=option):
        MachineConfig(**config, **{option: value})


def test_there_is_no_checkpoint_while_one_runs():
    """
    A step is out; the count of failures is kept in the next one.
    """
    hand = training(max_train_errors=2)
    assert not hand.machine.can_checkpoint
    hand.failed("train")
    hand.says(Consume(hand.cards))
    hand.returns()
    assert hand.machine.can_checkpoint
    other = Hand(max_train_errors=2)
    other.machine.restore(hand.machine.checkpoint())

    assert 1 == other.machine._state.training.errors
    assert hand.machine._state.training.until == other.machine._state.training.until
