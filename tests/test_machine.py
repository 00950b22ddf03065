"""
The machine, driven by hand: one event at a time, without threads, clocks or user code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import pytest
from by_hand import FAULT, HEAD, Hand, Optimizer, artifact, proposal

from headway import Backpressure, Commit, Consume, LagGate, Measure, Snapshot, Work
from headway.builtins._policies import Full, Guarded
from headway.builtins._sampler import ShuffledEpochs
from headway.contracts import (
    Carry,
    Committed,
    Fault,
    HeadMoved,
    MeasureAll,
    Outcome,
    TicketEnded,
)
from headway.errors import IllegalEventError
from headway.machine import (
    Abort,
    Cancel,
    Done,
    Failed,
    Finish,
    PluginLookups,
    Raised,
    Rebased,
    Resume,
    Returned,
    Started,
    Stop,
    Tick,
    Yielded,
)


def dump(thing, seen=()):  # noqa: PLR0911 - one line a kind of value
    """
    Everything that an object holds, down to plain values.
    """
    if id(thing) in seen:
        return "..."
    inside = (*seen, id(thing))
    if hasattr(thing, "hexdigest"):
        return thing.hexdigest()
    if isinstance(thing, Mapping):
        return [(dump(k, inside), dump(v, inside)) for k, v in thing.items()]
    if isinstance(thing, set | frozenset):
        return sorted(map(repr, thing))
    if hasattr(thing, "popleft") or (isinstance(thing, Sequence) and not isinstance(thing, str)):
        return [dump(item, inside) for item in thing]
    if attrs.has(type(thing)):
        names = [field.name for field in attrs.fields(type(thing))]
        return [type(thing).__name__, *((n, dump(getattr(thing, n, None), inside)) for n in names)]
    if hasattr(thing, "__dict__") and not isinstance(thing, type) and not callable(thing):
        return [type(thing).__name__, dump(vars(thing), inside)]
    return repr(thing)


# ---------------------------------------------------------------------------- illegal events


def new():
    return Hand()


def running():
    return Hand().start()


def in_step():
    hand = running().baseline()
    hand.card()
    return hand


def measuring():
    hand = in_step()
    hand.says(Measure((artifact(1),), ("x",)))
    return hand


def committing():
    hand = in_step()
    hand.says(Commit(artifact(1), hand.cards))
    return hand


def draining():
    hand = Hand(n_workers=2, slots=4, max_rollouts=2).start().baseline()
    hand.done("rollout", Outcome(reward=1.0))
    return hand


def halting():
    hand = committing()
    hand.feed(Stop(hand.now, "interrupted"))
    return hand


def scoring():
    hand = Hand(max_rollouts=1, deterministic=False).start().baseline()
    hand.done("rollout", Outcome(reward=1.0))
    return hand


def finished():
    return scoring().finish()


STATES = {
    "new": new,
    "running": running,
    "in step": in_step,
    "measuring": measuring,
    "committing": committing,
    "draining": draining,
    "halting": halting,
    "scoring": scoring,
    "finished": finished,
}
PHASES = {"in step": "running", "measuring": "running", "committing": "running"}
WRONG = {
    "rollout": [None, 0.5, proposal({"k": 1}), Committed(1)],
    "propose": [0.5, Outcome(reward=1.0), Rebased(proposal=None, artifact=None)],
    "measure": [None, 1, "1.0", Outcome(reward=1.0)],
    "commit": [None, 0.5, Snapshot(1, artifact(1))],
}
ASK = Measure((artifact(9),), ("x",))


def answers_to_nobody(hand):
    """
    Answers to calls and steps that never were.
    """
    for call in (-1, 999):
        yield Done(hand.now, call, 0.5)
        yield Failed(hand.now, call, FAULT)
    for step in (-1, 0, 99):
        yield Yielded(hand.now, step, 1, ASK)
        yield Returned(hand.now, step, 1)
        yield Raised(hand.now, step, 1, FAULT)


def answers_of_a_wrong_kind(hand):
    """
    Values that a running call can't give.
    """
    for call in hand.runs.values():
        if call in hand.machine.running_calls or call.kind == "commit":
            for value in WRONG[call.kind]:
                yield Done(hand.now, call.id, value)


def words_out_of_turn(hand):
    """
    What the open step can't say: out of order, or while it waits for an answer.
    """
    if hand.resumed is None:
        return
    step, due = hand.resumed.step, hand.resumed.n + 1
    waits = any(call.kind in ("measure", "commit") for call in hand.runs.values())
    for n in {-1, 0, 1, 2, 3} - (set() if waits else {due}):
        yield Yielded(hand.now, step, n, ASK)
        yield Returned(hand.now, step, n)
        yield Raised(hand.now, step, n, FAULT)
    yield Yielded(hand.now, step, due, "no request")


def illegal(state, hand):
    """
    Every event that can't happen in this state.
    """
    if state == "new":
        yield from (Tick(0.0), Stop(0.0, "interrupted"), Done(0.0, 0, 0.5))
        yield from (Failed(0.0, 0, FAULT), Yielded(0.0, 1, 1, ASK))
        yield from (Returned(0.0, 1, 1), Raised(0.0, 1, 1, FAULT))
    else:
        yield Started(0.0, HEAD)
        yield Stop(0.0, "max_iters")
        yield Stop(0.0, "because")
    yield from ("no event", None)
    yield from answers_to_nobody(hand)
    yield from answers_of_a_wrong_kind(hand)
    if state in ("in step", "measuring", "committing", "halting"):
        yield from words_out_of_turn(hand)


@pytest.mark.parametrize("state", STATES)
def test_the_states_are_what_they_are_called(state):
    """
    The states of the tests below are reached.
    """
    hand = STATES[state]()

    assert PHASES.get(state, state) == hand.machine.phase


@pytest.mark.parametrize("state", STATES)
def test_an_illegal_event_raises_and_changes_nothing(state):
    """
    Not a count, not a queue, not the digest.
    """
    hand = STATES[state]()
    before = dump(hand.machine)
    events = list(illegal(state, hand))
    for event in events:
        with pytest.raises(IllegalEventError):
            hand.machine.handle(event)

        assert before == dump(hand.machine)

    assert len(events) >= 12


def test_dump_sees_what_changes():
    """
    The comparison above is worth something.
    """
    hand = running()
    before = dump(hand.machine)
    hand.feed(Tick(1.0))

    assert before != dump(hand.machine)


# ---------------------------------------------------------------------------- late and again


@pytest.mark.parametrize("state", [s for s in STATES if s not in ("new", "finished")])
def test_an_answer_that_comes_again_is_counted_and_changes_nothing(state):
    """
    At least once is as good as exactly once.
    """
    hand = STATES[state]()
    before = hand.machine.statistics(), hand.machine.digest, hand.machine.running_calls
    for late, call in enumerate(hand.answered, start=1):
        for event in (Done(hand.now, call, 0.5), Failed(hand.now, call, FAULT)):
            assert [] == hand.feed(event)

        assert 2 * late == hand.machine.statistics().late

    statistics = attrs.evolve(hand.machine.statistics(), late=0)
    assert before == (statistics, hand.machine.digest, hand.machine.running_calls)


def test_nothing_is_heard_after_the_end():
    """
    A late answer to a finished run changes nothing at all.
    """
    hand = finished()
    before = dump(hand.machine)
    for event in (Done(9.0, 0, 0.5), Failed(9.0, 1, FAULT), Tick(9.0), Stop(9.0, "error")):
        assert [] == hand.machine.handle(event)

    assert before == dump(hand.machine)


def test_a_closed_step_is_not_heard():
    """
    What an aborted step still says is counted as late.
    """
    hand = committing()
    step = hand.resumed.step
    hand.done("commit", HeadMoved(Snapshot(5, artifact(5))))
    digest = hand.machine.digest
    for event in (Yielded(0.0, step, 2, ASK), Returned(0.0, step, 2), Raised(0.0, step, 2, FAULT)):
        assert [] == hand.feed(event)

    assert 3 == hand.machine.statistics().late
    assert digest == hand.machine.digest


def test_time_never_goes_back():
    """
    An event with an older time is taken at the newest time that was seen.
    """
    hand = running()
    hand.feed(Tick(5.0))
    hand.now = 2.0
    hand.done("rollout", Outcome(reward=1.0))
    ended = [n for n in hand.notices if isinstance(n, TicketEnded)]

    assert [5.0] == [notice.now for notice in ended]


def test_an_answer_that_finds_the_time_over_brings_nothing():
    """
    It may get there before the tick: no call follows from it, and the run ends at once.
    """
    hand = Hand(n_workers=2, slots=2, max_seconds=10.0).start().baseline()
    hand.now = 11.0
    out = hand.done("rollout", Outcome(reward=0.0))

    assert ["Abandon", "Abandon"] == [type(i).__name__ for i in out][:2]
    assert ("finished", "max_seconds") == (hand.machine.phase, hand.machine.stop_reason)
    assert 1 == hand.machine.statistics().late


def test_a_call_that_is_overdue_ends_its_ticket_though_another_goes_on():
    """
    Also when it is noticed with an answer from which nothing follows but the next call.
    """
    hand = Hand(n_workers=2, slots=2, rollout_timeout=10.0, max_rollouts=9).start().baseline()
    hand.now = 5.0
    hand.done("rollout", Outcome(reward=1.0))
    hand.now = 10.5
    hand.done("rollout", Outcome(reward=0.0), place=1)

    ended = [(n.ticket, n.completion) for n in hand.notices if isinstance(n, TicketEnded)]
    assert [(0, "ok"), (1, "timeout")] == ended


def test_a_late_measurement_is_remembered():
    """
    A score that comes after its deadline is not paid for twice.
    """
    hand = Hand(eval_timeout=1.0, slots=4).start().baseline()
    hand.card()
    hand.says(Measure((artifact(1),), ("x", "y")))
    late = hand.calls("measure")[0]
    hand.done("measure", 0.5, place=1)
    hand.feed(Tick(1.0))
    hand.now = 1.0
    again = hand.calls("measure")

    assert [late.task] == [call.task for call in again]
    hand.done("measure", 0.25)
    hand.feed(Done(1.5, late.id, 0.75))
    hand.returns()
    hand.card()
    hand.says(Measure((artifact(1),), ("x", "y")))

    assert (0.25, 0.5) == hand.resumed.value[0]


# ---------------------------------------------------------------------------- steps and cards


def test_a_step_decides_its_cards():
    """
    Committed ones say so, the rest is worse; the head is published after the ledger's answer.
    """
    hand = Hand(gate=LagGate(n_workers=1, async_ratio=1, batch=2)).start().baseline()
    hand.card()
    hand.card()
    first, _ = hand.cards
    hand.says(Commit(artifact(1), [first], memory={"kept": 1}))

    assert 0 == hand.machine.head.version
    hand.done("commit", Committed(1))
    assert (1, artifact(1)) == (hand.machine.head.version, hand.machine.head.artifact)
    assert Snapshot(1, artifact(1)) == hand.resumed.value
    hand.returns()
    assert [(0, "committed", ""), (1, "discarded", "worse")] == hand.decisions


def test_memory_is_kept_with_the_commit_or_at_the_end():
    """
    A step finds what the one before it left, and None at first.
    """
    hand = Hand().start().baseline()
    seen = []
    for memory in ({"n": 1}, None, [2]):
        hand.card()
        seen.append(hand.resumed.value.memory)
        hand.says(Consume(hand.cards))
        hand.returns(memory)
    hand.card()
    seen.append(hand.resumed.value.memory)
    hand.says(Commit(artifact(7), hand.cards, memory="with the commit"))
    hand.done("commit", Committed(1))
    hand.raises()
    hand.card()

    assert [None, {"n": 1}, {"n": 1}, [2]] == seen
    assert "with the commit" == hand.resumed.value.memory


def test_memory_of_a_lost_commit_is_lost():
    """
    A step that runs again finds the memory that it found the first time.
    """
    hand = committing()
    hand.done("commit", HeadMoved(Snapshot(2, artifact(4))))
    hand.done("rebase", Rebased(proposal=proposal({"k": 1}), artifact=artifact(1)))
    while hand.calls("measure"):
        hand.done("measure", 0.5)

    assert (2, None) == (hand.resumed.value.head.version, hand.resumed.value.memory)
    assert (0, 2) == hand.cards[0].rebased


@pytest.mark.parametrize(
    "reason", ["worse", "duplicate", "conflict", "uncertain", "vetoed", "oversized"]
)
def test_consume_gives_the_reason(reason):
    """
    A card is discarded for the reason that the step gives, and the step goes on.
    """
    hand = in_step()
    out = hand.says(Consume(hand.cards, reason))

    assert [(0, "discarded", reason)] == hand.decisions
    assert [Resume(1, 1, None)] == [i for i in out if isinstance(i, Resume)]


def test_a_commit_of_the_head_moves_no_version():
    """
    Its cards count as committed, its memory is kept, and the ledger is not asked.
    """
    hand = in_step()
    hand.says(Commit(HEAD, hand.cards, memory=["admitted"]))
    hand.returns()
    hand.card()

    assert [(0, "committed", "")] == hand.decisions
    assert (0, []) == (hand.machine.head.version, hand.calls("commit"))
    assert ["admitted"] == hand.resumed.value.memory


def test_a_step_that_asks_for_nothing_gives_its_cards_back():
    """
    They are taken again when there is a new card, together with it.
    """
    hand = in_step()
    hand.returns()

    assert [] == hand.decisions
    assert 1 == hand.machine.statistics().held
    hand.card()
    assert [0, 1] == [card.number for card in hand.cards]
    assert 2 == hand.machine.statistics().considered


def test_carried_cards_come_back_with_new_ones():
    """
    They say that they were carried, stand beside the gate's bound, and are considered once.
    """
    hand = in_step()
    hand.says(Carry(hand.cards))
    hand.returns()
    hand.card()

    assert [(0, True), (1, False)] == [(card.number, card.carried) for card in hand.cards]
    assert 2 == hand.machine.statistics().considered
    hand.says(Carry(hand.cards))
    hand.says(Commit(artifact(1), [0]))
    hand.done("commit", Committed(1))
    hand.returns()
    assert [(0, "committed", "")] == hand.decisions
    assert 1 == hand.machine.statistics().held


def test_no_more_is_carried_than_the_limit():
    """
    The oldest beyond it are uncertain.
    """
    hand = Hand(pressure=Backpressure(carry_limit=2)).start().baseline()
    for _ in range(4):
        hand.card()
        hand.says(Carry(hand.cards))
        hand.returns()

    assert [(0, "discarded", "uncertain"), (1, "discarded", "uncertain")] == hand.decisions
    assert 2 == hand.machine.statistics().held


def test_at_the_end_a_step_must_decide():
    """
    Carrying is no decision when nothing will come any more.
    """
    hand = Hand(max_rollouts=1).start().baseline()
    hand.card()
    for quiet in (False, True):
        assert quiet == hand.resumed.value.quiet
        hand.says(Carry(hand.cards))
        hand.returns()

    assert [(0, "discarded", "uncertain")] == hand.decisions


BAD_REQUESTS = {
    "a foreign card": lambda cards: Commit(artifact(1), [99]),
    "a card twice": lambda cards: Consume([*cards, *cards]),
    "a foreign card to carry": lambda cards: Carry([5]),
    "an unknown task": lambda cards: Measure((artifact(1),), ("nowhere",)),
    "no task": lambda cards: Measure((artifact(1),), ()),
    "no candidate": lambda cards: Measure((), ("x",)),
    "no measurement": lambda cards: MeasureAll(()),
    "an unknown task among known ones": lambda cards: MeasureAll(
        Measure((artifact(1),), (task,)) for task in ("x", "nowhere")
    ),
}


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_a_request_that_breaks_the_contract_is_contained(name):
    """
    The cards are tried once more, then let go; nothing was committed, measured or carried.
    """
    hand = in_step()
    for tries in (1, 2):
        assert tries == hand.resumed.step
        hand.says(BAD_REQUESTS[name](hand.cards))

    assert [(0, "discarded", "plugin_error")] == hand.decisions
    assert "running" == hand.machine.phase
    assert [("ContractError", 2)] == [(f.type, n) for f, n in hand.machine.faults]
    assert [] == hand.calls("commit")


def test_a_card_that_was_decided_is_no_card_of_the_step():
    """
    Deciding twice is a fault of the plug-in, and changes nothing.
    """
    hand = in_step()
    hand.says(Consume(hand.cards))
    hand.says(Commit(artifact(1), [0]))

    assert [(0, "discarded", "worse")] == hand.decisions
    assert ["ContractError"] == [fault.type for fault, _ in hand.machine.faults]


def test_a_step_that_raises_is_tried_once_more():
    """
    The same cards; then they are let go, and the run goes on.
    """
    hand = in_step()
    hand.raises()

    assert (2, [0]) == (hand.resumed.step, [card.number for card in hand.cards])
    hand.raises()
    assert [(0, "discarded", "plugin_error")] == hand.decisions
    assert "running" == hand.machine.phase


def test_two_failing_batches_in_a_row_end_the_run():
    """
    The second one's fault is the run's error.
    """
    hand = Hand().start().baseline()
    for _ in range(2):
        hand.card()
        hand.raises()
        hand.raises()

    assert ("finished", "error") == (hand.machine.phase, hand.machine.stop_reason)
    assert "Boom" == hand.machine.error.type


def test_a_good_batch_between_two_bad_ones_keeps_the_run_going():
    """
    Only faults in a row count.
    """
    hand = Hand().start().baseline()
    for good in (False, True, False):
        hand.card()
        if good:
            hand.says(Consume(hand.cards))
            hand.returns()
        else:
            hand.raises()
            hand.raises()

    assert "running" == hand.machine.phase


def test_a_measurement_is_tried_three_times():
    """
    Then the step's cards are unmeasured, and what it had asked for beside it is cancelled.
    """
    hand = Hand(slots=5).start().baseline()
    hand.card()
    hand.says(Measure((artifact(1), artifact(2)), ("x",)))
    tries = 0
    while not hand.decisions:
        tries += 1
        out = hand.failed_to_measure(1)

    assert 3 == tries
    assert [(0, "discarded", "unmeasured")] == hand.decisions
    assert [1] == [i.step for i in out if isinstance(i, Abort)]
    assert 1 == sum(isinstance(i, Cancel) for i in out)


def test_a_cancelled_measurement_that_is_wanted_again_is_no_failure():
    """
    The driver's answer to a cancellation is no fault and uses up no try.
    """
    hand = Hand(slots=5, gate=LagGate(n_workers=1, async_ratio=3)).start().baseline()
    hand.card()
    moot = Fault(where="driver", type="Cancelled", message="moot")
    for value in (1, 3, 4):
        hand.says(Measure((artifact(value), artifact(2)), ("x",)))
        if value > 1:
            hand.failed_to_measure(2, moot)
        for _ in range(3):
            hand.failed_to_measure(value)
        hand.card()
    hand.says(Measure((artifact(2),), ("x",)))
    hand.failed_to_measure(2, moot)
    hand.done("measure", 0.5)

    assert ((0.5,),) == hand.resumed.value
    assert [("Boom", 9)] == [(fault.type, count) for fault, count in hand.machine.faults]


def test_a_rebased_card_that_cannot_be_verified_frees_its_measurements():
    """
    The other side of the comparison is cancelled when one side can't be had.
    """
    hand = Hand(slots=5).start().baseline()
    hand.card()
    hand.says(Commit(artifact(9), hand.cards))
    hand.done("commit", HeadMoved(Snapshot(3, artifact(3))))
    hand.done("rebase", Rebased(proposal=proposal({"k": 1}), artifact=artifact(1)))
    for _ in range(3):
        out = hand.failed_to_measure(3)
    left = hand.calls("measure")

    assert [(0, "discarded", "unmeasured")] == hand.decisions
    assert [artifact(1)] == [call.artifact for call in left]
    assert [Cancel(call.id) for call in left] == [i for i in out if isinstance(i, Cancel)]


def test_a_lost_commit_is_judged_anew():
    """
    The head is what somebody else made it; the card is behind it, is rebased and verified.
    """
    hand = committing()
    hand.done("commit", HeadMoved(Snapshot(2, artifact(2))))

    assert 1 == hand.machine.statistics().commit_races
    assert [artifact(2)] == [call.artifact for call in hand.calls("rebase")]
    hand.done("rebase", Rebased(proposal=None, artifact=None))
    assert [(0, "discarded", "conflict")] == hand.decisions


def test_a_step_loses_a_bounded_number_of_races():
    """
    Then its cards are in conflict, and the machine goes back to its ordinary triggers.
    """
    lookups = PluginLookups(
        aggregator=Optimizer(), policy=Full(), sampler=ShuffledEpochs(), estimator=None
    )
    gate = LagGate(n_workers=1, async_ratio=3, batch=2, max_wait_rounds=9)
    hand = Hand(gate=gate, lookups=lookups).start().baseline()
    hand.card()
    hand.card()
    races = 0
    while not hand.decisions:
        races += 1
        hand.says(Commit(artifact(100 + races), [0]))
        hand.done("commit", HeadMoved(Snapshot(races, artifact(races))))

    assert 16 == races
    assert [(0, "discarded", "conflict"), (1, "discarded", "conflict")] == hand.decisions
    steps = hand.resumed
    hand.card()
    assert steps == hand.resumed


def test_a_ledger_that_raises_once_loses_nothing():
    """
    Nothing was committed; the card waits again and its next commit lands.
    """
    hand = committing()
    hand.failed("commit")
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", Committed(1))

    assert ("running", 1) == (hand.machine.phase, hand.machine.head.version)
    assert [(0, "committed", "")] == hand.decisions


def test_a_ledger_that_raises_twice_ends_the_run():
    """
    Nothing was committed; the card is settled and the error says why.
    """
    hand = committing()
    hand.failed("commit")
    hand.says(Commit(artifact(1), hand.cards))
    hand.failed("commit")

    assert ("finished", "error") == (hand.machine.phase, hand.machine.stop_reason)
    assert FAULT == hand.machine.error
    assert [(0, "settled", "error")] == hand.decisions


def test_a_commit_on_its_way_is_waited_for():
    """
    A stop abandons all but that one, and its cards are committed.
    """
    hand = committing()
    hand.feed(Stop(0.0, "interrupted"))

    assert "halting" == hand.machine.phase
    hand.done("commit", Committed(1))
    assert ("finished", 1) == (hand.machine.phase, hand.machine.head.version)
    assert [(0, "committed", "")] == hand.decisions


def test_a_commit_is_not_waited_for_beyond_the_grace():
    """
    The end of the time and the grace after it bound the run.
    """
    hand = Hand(max_seconds=10.0, shutdown_grace=2.0).start().baseline()
    hand.card()
    hand.says(Commit(artifact(1), hand.cards))
    hand.feed(Tick(11.0))

    assert "halting" == hand.machine.phase
    assert 12.0 == hand.machine.wake_at
    hand.feed(Tick(12.0))
    assert "max_seconds" == hand.machine.stop_reason
    assert [(0, "settled", "max_seconds")] == hand.decisions


# ---------------------------------------------------------------------------- binding and lag


def moving(**config):
    """
    Two workers; the head moves to version 1 while the second rollout runs.
    """
    hand = Hand(n_workers=2, slots=9, self_verify=True, **config).start().baseline()
    hand.card()
    hand.done("verify", Outcome(reward=0.5))
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", Committed(1))
    hand.returns()
    return hand


def test_a_proposal_is_made_against_the_newest_head():
    """
    Late binding: nothing is known about the two sides of the change, and no run tells.
    """
    hand = moving(bind="late")
    hand.done("rollout", Outcome(reward=0.0))

    assert [artifact(1)] == [call.artifact for call in hand.calls("propose")]
    hand.done("propose", proposal({"k": 5}))
    assert [] == hand.calls("verify")
    assert [(1, 0, None)] == [(card.base, card.eta, card.delta) for card in hand.cards]


def test_early_binding_keeps_the_snapshot_of_the_rollout():
    """
    The change is tried on it, and its card is behind.
    """
    hand = moving(bind="early")
    hand.done("rollout", Outcome(reward=0.0))

    assert [HEAD.artifact] == [call.artifact for call in hand.calls("propose")]
    hand.done("propose", proposal({"k": 5}))
    assert [HEAD.artifact] == [call.artifact for call in hand.calls("verify")]
    hand.done("verify", Outcome(reward=0.5))
    card = hand.calls("rebase")[0].card
    assert (0, 1, 0.5) == (card.base, card.eta, card.delta)


def test_nothing_is_proposed_where_the_new_head_is_known_to_be_right():
    """
    Read from scores that were paid for already, never from a new call.
    """
    hand = moving(bind="late", train=("a",))
    for _ in range(2):
        hand.done("rollout", Outcome(reward=1.0), place=1)
    hand.done("rollout", Outcome(reward=0.0))

    assert [] == hand.calls("propose")
    assert 4 == hand.machine.statistics().completions["ok"]


class Choosing:
    """
    Works on a parent of its own.
    """

    batch = 1

    def select(self, ticket, head, memory, rng):
        return Work(parent=artifact(100 + ticket.number), payload=ticket.number, task="b")


def test_a_parent_of_ones_own_is_what_everything_is_done_to():
    """
    Rollout, proposal and trial, whatever the head does; card and calls carry the payload.
    """
    lookups = flaky("aggregator", Choosing())
    hand = Hand(lookups=lookups, slots=9, self_verify=True).start().baseline()
    seen = []
    for kind, value in (
        ("rollout", Outcome(reward=0.0)),
        ("propose", proposal({"k": 7})),
        ("verify", Outcome(reward=0.5)),
    ):
        call = hand.calls(kind)[0]
        seen.append((call.artifact, call.payload, call.task))
        hand.done(kind, value)

    assert [(artifact(100), 0, "b")] * 3 == seen
    card = hand.cards[0]
    assert (artifact(100), 0, 0.5) == (card.parent, card.payload, card.delta)


def test_the_lag_counts_from_the_head_that_a_card_was_accepted_against():
    """
    A card that was carried over two commits, and accepted in between, is one behind.
    """
    lookups = flaky("policy", Full())
    hand = Hand(lookups=lookups, gate=LagGate(n_workers=1, async_ratio=3)).start().baseline()
    hand.card()
    for version in (1, 2):
        hand.says(Carry([0]))
        hand.returns()
        hand.card()
        assert (0, min(version - 1, 1)) == (hand.cards[0].number, hand.cards[0].eta)
        hand.says(Commit(artifact(50 + version), [version]))
        hand.done("commit", Committed(version))
    hand.says(Carry([0]))
    hand.returns()
    hand.card()
    hand.says(Consume(hand.cards))

    assert {0: 3, 1: 1} == hand.machine.statistics().eta_histogram


def test_a_stranger_may_have_changed_anything():
    """
    A card that lost its race to one is tried again, whatever is known about it.
    """
    hand = Hand(slots=9, self_verify=True).start().baseline()
    hand.card()
    hand.done("verify", Outcome(reward=0.5))
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", HeadMoved(Snapshot(1, artifact(8))))
    hand.done("rebase", Rebased(proposal=proposal({"k": 1}), artifact=artifact(1)))

    assert [artifact(8), artifact(1)] == [call.artifact for call in hand.calls("measure")]


def test_an_untouched_card_is_judged_by_what_is_known():
    """
    Nobody changed its keys, so its trial still holds, and nothing is run.
    """
    hand = Hand(n_workers=2, slots=9, self_verify=True, bind="early").start().baseline()
    hand.card({"a": 1})
    hand.done("verify", Outcome(reward=0.5))
    hand.says(Commit(artifact(1), hand.cards))
    hand.card({"b": 1})
    hand.done("verify", Outcome(reward=0.5))
    hand.done("commit", Committed(1))
    hand.returns()
    hand.done("rebase", Rebased(proposal=proposal({"b": 1}), artifact=artifact(2)))

    assert [] == hand.calls("measure")
    assert [(1, (0, 1))] == [(card.number, card.rebased) for card in hand.cards]


def test_calls_that_were_put_aside_and_not_made_are_free_again():
    """
    Solved rollouts need no proposal: a budget for two whole tickets is enough for four of them.
    """
    hand = Hand(max_calls=2 + 8 + 6, self_verify=True, deterministic=False).start().baseline()
    while hand.machine.phase == "running":
        hand.done("rollout", Outcome(reward=1.0))

    assert "max_calls" == hand.machine.stop_reason
    assert 4 == hand.machine.statistics().calls["rollout"]


# ---------------------------------------------------------------------------- ends


def test_a_draining_run_ends_when_its_step_decides_nothing():
    """
    Nothing new can come, so nobody is asked twice; what is left is settled.
    """
    hand = Hand(max_rollouts=1).start().baseline()
    hand.card()
    hand.returns()
    hand.returns()

    assert hand.resumed.value.quiet
    assert [(0, "settled", "max_iters")] == hand.decisions
    assert "finished" == hand.machine.phase


@pytest.mark.parametrize("trouble", ["race", "fault"])
@pytest.mark.parametrize("options", [{"max_rollouts": 1}, {"gate": 0}])
def test_a_last_step_is_run_again_too(trouble, options):
    """
    A lost race or a fault is no refusal to decide, neither at the end nor when nothing can start.
    """
    options = options | {"gate": LagGate(n_workers=1, async_ratio=options.get("gate", 3))}
    hand = Hand(**options).start().baseline()
    hand.card()
    hand.returns()

    assert hand.resumed.value.quiet
    if trouble == "race":
        hand.says(Commit(artifact(1), hand.cards))
        hand.done("commit", HeadMoved(Snapshot(1, artifact(8))))
        hand.done("rebase", Rebased(proposal=proposal({"k": 1}), artifact=artifact(1)))
        hand.baseline(0.5)
    else:
        hand.raises()
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", Committed(2))
    assert [(0, "committed", "")] == hand.decisions


def test_a_draining_run_ends_when_nothing_can_be_measured():
    """
    A step that asks for more than may be spent is not run again and again.
    """
    hand = Hand(max_calls=7).start().baseline()
    hand.card()
    for _ in range(3):
        if hand.machine.phase in ("running", "draining"):
            hand.says(Measure((artifact(1), artifact(2)), ("x", "y")))
            hand.baseline(0.5)

    assert ("finished", "max_calls") == (hand.machine.phase, hand.machine.stop_reason)
    assert [(0, "settled", "max_calls")] == hand.decisions
    assert 7 >= sum(hand.machine.statistics().calls.values())


def test_a_stalled_run_ends_and_names_the_card():
    """
    Nothing runs, nothing may start, and the step does not decide.
    """
    hand = Hand(gate=LagGate(n_workers=1, async_ratio=0)).start().baseline()
    hand.card()
    hand.returns()

    assert hand.resumed.value.quiet
    hand.returns()
    assert "stalled" == hand.machine.stop_reason
    assert hand.machine.error.message.endswith("the cards 0")
    assert [(0, "settled", "stalled")] == hand.decisions


def test_the_first_reason_wins():
    """
    What comes later does not change it.
    """
    hand = draining()
    hand.feed(Stop(0.0, "error", FAULT))
    hand.finish()

    assert ("max_iters", None) == (hand.machine.stop_reason, hand.machine.error)


def test_a_draining_run_can_be_interrupted():
    """
    What is in flight is given up, and nothing more is measured; the reason stays.
    """
    hand = draining()
    out = hand.feed(Stop(0.0, "interrupted"))

    assert ("finished", "max_iters") == (hand.machine.phase, hand.machine.stop_reason)
    assert Finish("max_iters") == out[-1]
    assert 1 == hand.machine.statistics().completions["abandoned"]
    assert "gate" == hand.machine.scoring.final.source


def test_final_scoring_can_be_interrupted():
    """
    The run ends at once, with the gate's last measurement.
    """
    hand = scoring()
    hand.feed(Stop(0.0, "interrupted"))

    assert "finished" == hand.machine.phase
    assert "gate" == hand.machine.scoring.final.source


def test_an_interrupted_run_can_be_stopped_once_more():
    """
    A commit is waited for all the same.
    """
    hand = halting()
    hand.feed(Stop(0.0, "interrupted"))

    assert "halting" == hand.machine.phase
    hand.done("commit", Committed(1))
    assert "finished" == hand.machine.phase


# ---------------------------------------------------------------------------- slots


def test_a_step_comes_before_new_rollouts_and_the_head_comes_last():
    """
    Running tickets keep their slot; then what a step waits for; then rollouts; then the baseline.
    """
    hand = Hand(slots=2, n_workers=2, gate=LagGate(n_workers=2, async_ratio=3)).start()

    assert ["rollout", "rollout"] == [c.kind for c in hand.machine.running_calls]
    hand.done("rollout", Outcome(reward=0.0))
    assert ["rollout", "propose"] == [c.kind for c in hand.machine.running_calls]
    hand.done("propose", proposal({"k": 1}))
    assert ["rollout", "rollout"] == [c.kind for c in hand.machine.running_calls]
    hand.says(Measure((artifact(1),), ("x",)))
    hand.done("rollout", Outcome(reward=1.0))
    assert ["rollout", "measure"] == [c.kind for c in hand.machine.running_calls]
    assert artifact(1) == hand.calls("measure")[0].artifact


def test_the_step_takes_over_what_the_background_wanted():
    """
    The head's score is measured once, and no longer in the background.
    """
    hand = Hand(slots=1).start()
    hand.card()
    hand.says(Measure((HEAD, artifact(1)), ("x",)))
    hand.done("rollout", Outcome(reward=1.0))

    assert [HEAD.artifact] == [call.artifact for call in hand.calls("measure")]
    hand.done("measure", 0.25)
    assert [artifact(1)] == [call.artifact for call in hand.calls("measure")]
    hand.done("measure", 0.5)
    assert ((0.25,), (0.5,)) == hand.resumed.value


# ---------------------------------------------------------------------------- look-ups


class Flaky:
    """
    Raises at the calls that it is told to.
    """

    batch = 1

    def __init__(self, bad):
        self.bad, self.calls = bad, 0

    def answer(self, value):
        self.calls += 1
        if self.calls in self.bad:
            raise ValueError("flaky")
        return value

    def pick(self, book):
        return self.answer(book.train[0])

    def observe(self, cost, seconds):
        self.answer(None)

    def estimate(self, cost):
        return None

    def select(self, ticket, head, memory, rng):
        return self.answer(Work())

    def decide(self, eta, alpha, contract_breaking):
        return self.answer("accept")


def flaky(kind, bad):
    """
    Look-ups of which one kind is another plug-in, or raises at the calls that are named.
    """
    parts = {
        "aggregator": Optimizer(),
        "policy": Guarded(),
        "sampler": ShuffledEpochs(),
        "estimator": None,
    }
    return PluginLookups(**(parts | {kind: Flaky(bad) if isinstance(bad, set) else bad}))


@pytest.mark.parametrize("kind", ["aggregator", "policy", "sampler", "estimator"])
def test_a_look_up_that_raises_now_and_then_is_contained(kind):
    """
    Only two faults in a row end the run, whoever they come from.
    """
    hand = Hand(lookups=flaky(kind, {2, 4, 6, 8})).start().baseline()
    for _ in range(9):
        hand.card()
        hand.says(Consume(hand.cards))
        hand.returns()

    assert "running" == hand.machine.phase
    assert [4] == [count for _, count in hand.machine.faults]


@pytest.mark.parametrize("kind", ["aggregator", "policy", "sampler", "estimator"])
def test_a_look_up_that_raises_twice_in_a_row_ends_the_run(kind):
    """
    Its fault is the run's error, and the plug-in's kind is named.
    """
    hand = Hand(lookups=flaky(kind, {2, 3})).start().baseline()
    for _ in range(4):
        if hand.machine.phase == "running":
            hand.card()
        if hand.machine.phase == "running":
            hand.says(Consume(hand.cards))
            hand.returns()

    assert ("finished", "error") == (hand.machine.phase, hand.machine.stop_reason)
    assert kind in hand.machine.error.where
    assert "ValueError" == hand.machine.error.type
