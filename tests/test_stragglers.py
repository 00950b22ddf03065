"""
Second copies of calls that take too long, and calls that wait for the backend, event by event.
"""

from __future__ import annotations

import pytest
from by_hand import FAULT, Hand, Optimizer, proposal

from headway.builtins._estimators import Ewma
from headway.builtins._policies import Guarded
from headway.builtins._sampler import ShuffledEpochs
from headway.contracts import Outcome
from headway.gate import Barrier
from headway.machine import Abandon, Done, Failed, PluginLookups, Resumed, Stop, Tick

SOLVED, WRONG = Outcome(reward=1.0), Outcome(reward=0.0)


def slow(until=4.0, **options):
    """
    One rollout runs that began at 1.0 and was predicted to take a second.
    """
    lookups = PluginLookups(
        aggregator=Optimizer(), policy=Guarded(), sampler=ShuffledEpochs(), estimator=Ewma()
    )
    hand = Hand(lookups=lookups, **{"slots": 4, "straggler": "hedge"} | options)
    hand.start().baseline()
    hand.now = 1.0
    hand.done("rollout", SOLVED)
    hand.now = until
    hand.feed(Tick(hand.now))
    return hand


def test_a_copy_is_begun_in_a_free_slot():
    """It is the same call on the same ticket, and is counted."""
    first, copy = slow().calls("rollout")

    assert (first.ticket, first.task, first.artifact) == (copy.ticket, copy.task, copy.artifact)
    assert (0, 1) == (first.copy, copy.copy)


@pytest.mark.parametrize("winner", [0, 1])
def test_the_first_answer_wins(winner):
    """The other call is given up, and what it says later is counted and changes nothing."""
    hand = slow()
    loser = hand.calls("rollout")[1 - winner]
    hand.done("rollout", WRONG, winner)
    before = hand.machine.statistics()
    hand.feed(Done(hand.now, loser.id, SOLVED))
    after = hand.machine.statistics()

    assert Abandon(loser.id) in hand.out
    assert (before.late + 1, before.completions) == (after.late, after.completions)
    assert 1 == len(hand.calls("propose"))


@pytest.mark.parametrize("winner", [0, 1])
def test_a_copy_that_fails_is_no_answer(winner):
    """The other one is waited for; its answer counts."""
    hand = slow()
    hand.failed("rollout", 1 - winner)
    running = hand.calls("rollout")
    hand.done("rollout", SOLVED)

    assert 1 == len(running)
    assert 2 == hand.machine.statistics().completions["ok"]


def test_both_copies_fail():
    """Then the ticket has failed."""
    hand = slow()
    hand.failed("rollout")
    hand.failed("rollout")

    assert 1 == hand.machine.statistics().completions["failed"]


def test_one_copy_a_ticket():
    """The ticket's next calls get none."""
    hand = slow()
    hand.done("rollout", WRONG)
    hand.now = 100.0
    hand.feed(Tick(hand.now))

    assert 1 == len(hand.calls("propose"))
    assert 1 == hand.machine.statistics().hedges


@pytest.mark.parametrize("options", [{"slots": 1}, {"max_calls": 7}, {"straggler": "count"}])
def test_no_copy(options):
    """There is none without a free slot, without a call to spare, and unless it is asked for."""
    hand = slow(**options)

    assert 1 == len(hand.calls("rollout"))
    assert (1, 0) == (hand.machine.statistics().stragglers, hand.machine.statistics().hedges)


def test_what_is_only_counted_wakes_nobody():
    """A straggler is counted while it runs and once it has ended, and no tick is asked for."""
    hand = slow(straggler="count", rollout_timeout=50.0)
    running, alarm = hand.machine.statistics().stragglers, hand.machine.wake_at
    hand.done("rollout", SOLVED)

    assert (1, 51.0) == (running, alarm)
    assert 1 == hand.machine.statistics().stragglers


@pytest.mark.parametrize("straggler", ["count", "hedge", "cancel"])
def test_who_ends_in_time_is_no_straggler(straggler):
    """Three times the prediction is late, a little less is not."""
    hand = slow(until=3.9, straggler=straggler)
    hand.done("rollout", SOLVED)

    assert 0 == hand.machine.statistics().stragglers


@pytest.mark.parametrize("straggler", ["count", "hedge"])
@pytest.mark.parametrize(("until", "late"), [(3.9, 0), (4.0, 1)])
def test_a_rollout_that_begins_again_has_all_its_time(straggler, until, late):
    """In another process; one that was late before stays one straggler."""
    hand = slow(until=until, straggler=straggler)
    hand.feed(Resumed(until))
    hand.now = until + 2.9
    hand.feed(Tick(hand.now))
    running = hand.machine.statistics().stragglers
    hand.done("rollout", SOLVED)

    assert (late, late) == (running, hand.machine.statistics().stragglers)


def test_a_rollout_that_begins_again_may_be_late():
    """It is when it takes that long in the other process alone."""
    hand = slow(until=3.0)
    hand.feed(Resumed(3.0))
    alarm = hand.machine.wake_at
    hand.feed(Tick(6.0))

    assert (6.0, 1) == (alarm, hand.machine.statistics().stragglers)


def test_no_copy_begins_after_a_stop():
    """A run that is stopped begins nothing."""
    hand = slow(slots=1)
    hand.feed(Stop(hand.now, "interrupted"))

    assert 0 == hand.machine.statistics().hedges
    assert "finished" == hand.machine.phase


def test_a_timeout_ends_both():
    """The deadline is the rollout's, not its copy's."""
    hand = slow(rollout_timeout=5.0)
    calls = hand.calls("rollout")
    hand.now = 6.0
    hand.feed(Tick(hand.now))

    assert {Abandon(call.id) for call in calls} <= {*hand.out}
    assert 1 == hand.machine.statistics().completions["timeout"]


def test_cancel():
    """The rollout ends at that moment, and the next one begins."""
    hand = slow(straggler="cancel")

    assert 1 == hand.machine.statistics().completions["timeout"]
    assert [2] == [call.ticket.number for call in hand.calls("rollout")]


def test_places_survive_rollouts_that_are_cut_short():
    """A worker's place retires for no rollout that took too long, once rollouts have worked."""
    hand = slow(straggler="cancel", max_worker_errors=1)

    assert 1 == hand.machine.statistics().completions["timeout"]
    assert ("running", 0) == (hand.machine.phase, hand.machine.statistics().retired_workers)


def asked(seconds=5.0, **options):
    """
    Two rollouts ran; one failed, and the backend asked for time.
    """
    hand = Hand(**{"n_workers": 2, "slots": 4} | options).start().baseline()
    call = hand.calls("rollout")[0]
    del hand.runs[call.id]
    hand.feed(Failed(hand.now, call.id, FAULT, retry_after=seconds))
    return hand


def test_a_ticket_waits_with_its_next_call():
    """It keeps its place, and goes on first when calls begin again."""
    hand = asked()
    hand.done("rollout", WRONG)
    before = (hand.calls("propose"), hand.calls("rollout"), hand.machine.wake_at)
    hand.now = 5.0
    hand.feed(Tick(hand.now))
    hand.done("propose", proposal({"k": 1}))

    assert ([], [], 5.0) == before
    assert 1 == hand.machine.statistics().cards


def test_a_stop_ends_a_pause():
    """What waits is given up as what runs is."""
    hand = asked()
    hand.done("rollout", WRONG)
    hand.feed(Stop(hand.now, "interrupted"))

    assert "finished" == hand.machine.phase
    assert 1 == hand.machine.statistics().completions["abandoned"]


def test_a_pause_is_no_stall():
    """Nothing runs and nothing may begin, and yet more will."""
    hand = asked(n_workers=1)

    assert ("running", None) == (hand.machine.phase, hand.machine.stop_reason)
    assert 5.0 == hand.machine.paused_until


def test_a_round_that_is_over_closes():
    """What runs ends as a timeout, what had ended counts, and the next round begins."""
    hand = Hand(gate=Barrier(n_workers=2, round_size=3), n_workers=2, slots=4, round_timeout=10.0)
    hand.start().baseline()
    hand.done("rollout", SOLVED)
    hand.now = 10.0
    hand.feed(Tick(hand.now))
    counts = hand.machine.statistics()

    assert (1, 2, 1) == (counts.completions["ok"], counts.completions["timeout"], counts.rounds)
    assert 2 == len(hand.calls("rollout"))
    assert 20.0 == hand.machine.wake_at


def test_places_survive_rounds_that_are_cut_short():
    """As those of rollouts that are cut short one by one."""
    gate = Barrier(n_workers=2, round_size=3)
    hand = Hand(gate=gate, n_workers=2, slots=4, round_timeout=10.0, max_worker_errors=1)
    hand.start().baseline()
    hand.done("rollout", SOLVED)
    hand.now = 10.0
    hand.feed(Tick(hand.now))

    assert 2 == hand.machine.statistics().completions["timeout"]
    assert ("running", 0) == (hand.machine.phase, hand.machine.statistics().retired_workers)


@pytest.mark.parametrize("options", [{"rollout_timeout": 2.0}, {"straggler": "cancel"}])
def test_equal_faults_are_counted_as_one(options):
    """Else a long run's thousandth timeout would leave no place for another kind of fault."""
    hand = slow(**{"rollout_timeout": None} | options)
    for _ in range(5):
        hand.now += 100.0
        hand.feed(Tick(hand.now))
    told = {(fault.where, fault.type, fault.task) for fault, _ in hand.machine.faults}

    assert len(told) == len(hand.machine.faults)
    assert 6 == sum(count for _, count in hand.machine.faults)


def test_a_measurement_that_fails_after_its_deadline_is_forgotten():
    """Nothing is kept for a score that will not come."""
    hand = Hand(slots=2, eval_timeout=1.0).start()
    call = hand.calls("measure")[0]
    hand.now = 2.0
    hand.feed(Tick(hand.now))
    kept = len(hand.machine._state.measuring._given_up)
    hand.feed(Failed(hand.now, call.id, FAULT))

    assert kept - 1 == len(hand.machine._state.measuring._given_up)
