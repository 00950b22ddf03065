"""
Steps that race: several are open at once, each a transaction on the head and the memory.
"""

from __future__ import annotations

import pytest
from by_hand import FAULT, HEAD, Hand, Optimizer, artifact, proposal

from headway import Backpressure, Commit, Consume, LagGate, Measure, Snapshot, run
from headway.builtins._policies import Full, Guarded
from headway.builtins._sampler import ShuffledEpochs
from headway.builtins.standard import StandardAggregator
from headway.contracts import Carry, Committed, HeadMoved, Outcome, SweepDone
from headway.drivers._recovery import Recovery, ResumedLookups
from headway.durations import Constant
from headway.errors import IllegalEventError, OptionError
from headway.gate import Barrier
from headway.journal import Row
from headway.machine import (
    Abort,
    Cancel,
    Done,
    Failed,
    PluginLookups,
    Raised,
    Rebased,
    Resume,
    Returned,
    Started,
    Stop,
    Yielded,
)
from headway.testing import ToyDomain


class Races(Hand):
    """
    A machine played by hand whose steps are spoken for by number.
    """

    def __init__(self, **options):
        config = {"n_workers": 4, "slots": 12, "max_steps": 2} | options
        gate = config.pop("gate", None) or LagGate(n_workers=config["n_workers"], async_ratio=9)
        lookups = PluginLookups(
            aggregator=Optimizer(),
            policy=config.pop("policy", Full()),
            sampler=ShuffledEpochs(),
            estimator=None,
        )
        super().__init__(gate, lookups, config.pop("pressure", None), **config)
        self.at: dict[int, Resume] = {}

    def feed(self, event):
        out = super().feed(event)
        for instruction in out:
            if isinstance(instruction, Resume):
                self.at[instruction.step] = instruction
            elif isinstance(instruction, Abort):
                del self.at[instruction.step]
        return out

    def asks(self, step, request):
        """
        A step asks for something.
        """
        return self.feed(Yielded(self.now, step, self.at[step].n + 1, request))

    def ends(self, step, memory=None):
        """
        A step ends.
        """
        n = self.at.pop(step).n + 1
        return self.feed(Returned(self.now, step, n, memory))

    def measures(self, step, value):
        """
        A step has a state measured.
        """
        return self.asks(step, Measure((artifact(value),), ("x", "y")))

    def scored(self, value, score=0.5):
        """
        The measurements of a state that run are answered.
        """
        for call in [c for c in self.calls("measure") if c.artifact == artifact(value)]:
            del self.runs[call.id]
            self.feed(Done(self.now, call.id, score))

    @property
    def open(self):
        """
        The steps that are open, with the numbers of the cards that they began with.
        """
        starts = {i.step: i.value for i in self.out if isinstance(i, Resume) and i.n == 0}
        return {step: [card.number for card in starts[step].cards] for step in self.at}

    @property
    def sweeps(self):
        """
        How the sweeps ended, in order.
        """
        return [(n.sweep, n.outcome) for n in self.notices if isinstance(n, SweepDone)]


def racing(**options):
    """
    Two steps are open: each has one card and a measurement of it running.
    """
    hand = Races(**options).start().baseline()
    hand.card()
    hand.measures(1, 1)
    hand.card()
    hand.measures(2, 2)
    assert {1: [0], 2: [1]} == hand.open
    return hand


def committing(**options):
    """
    Two steps are open, the first one's commit is on its way and the second has the word.
    """
    hand = racing(**options)
    hand.scored(1)
    hand.asks(1, Commit(artifact(1), [0]))
    hand.scored(2)
    return hand


def moved(**options):
    """
    The head is version 1, and the rollouts that run began before.
    """
    hand = Races(bind="early", policy=Guarded(), **options).start().baseline()
    hand.card()
    hand.asks(1, Commit(artifact(1), [0]))
    hand.done("commit", Committed(1))
    hand.ends(1)
    return hand


def rebasing():
    """
    The head is version 1; a step is open, and beside it a sweep whose card is being rebased.
    """
    hand = moved(max_steps=3)
    hand.done("rollout", Outcome(reward=1.0))
    hand.done("rollout", Outcome(reward=0.0), place=3)  # it began after the commit
    hand.done("propose", proposal({"k": 50}))
    hand.measures(2, 2)
    hand.card()
    assert [2] == [call.card.number for call in hand.calls("rebase")]
    return hand


# ---------------------------------------------------------------------------- when one more begins


@pytest.mark.parametrize("most", [1, 2, 3])
def test_as_many_steps_race_as_may(most):
    """
    Each takes only what waits; what is left waits for one of them to end.
    """
    hand = Races(max_steps=most).start().baseline()
    for number in range(4):
        hand.card()
        if number < most:
            hand.measures(number + 1, number + 1)

    assert {step: [step - 1] for step in range(1, most + 1)} == hand.open
    hand.scored(1)
    hand.ends(1)
    assert list(range(most, 4)) == hand.open[most + 1]


def test_no_further_step_begins_while_a_measurement_is_queued():
    """
    It begins with the event that starts the last of them, before a new rollout.
    """
    hand = Races(n_workers=2, slots=3).start().baseline()
    hand.card()
    hand.asks(1, Measure((artifact(1),), ("x", "y", "a", "b")))
    hand.card()
    for _ in range(2):
        assert {1: [0]} == hand.open
        hand.done("measure", 0.5)

    assert {1: [0], 2: [1]} == hand.open


def test_no_further_step_begins_while_another_has_the_word():
    """
    It may ask for more; it is open to the next one once it waits.
    """
    hand = Races().start().baseline()
    hand.card()
    hand.card()

    assert {1: [0]} == hand.open
    hand.measures(1, 1)
    assert {1: [0], 2: [1]} == hand.open


def test_no_further_step_begins_while_a_commit_is_on_its_way():
    """
    The head is about to move.
    """
    hand = Races().start().baseline()
    hand.card()
    hand.asks(1, Commit(artifact(1), [0]))
    hand.card()

    assert {1: [0]} == hand.open


def test_a_smaller_batch_than_the_gate_wants_waits():
    """
    Room is the machine's business, what is worth a sweep is the gate's.
    """
    hand = Races(gate=LagGate(n_workers=4, async_ratio=9, batch=2, max_wait_rounds=9))
    hand.start().baseline()
    hand.card()
    hand.card()
    hand.measures(1, 1)
    hand.card()

    assert {1: [0, 1]} == hand.open
    hand.card()
    assert {1: [0, 1], 2: [2, 3]} == hand.open


def test_a_barrier_lets_no_step_race():
    """
    A round has one sweep, whatever the aggregator declares.
    """
    hand = Races(n_workers=1, gate=Barrier(n_workers=1, round_size=2)).start().baseline()
    hand.card()
    hand.card()
    hand.measures(1, 1)

    assert {1: [0, 1]} == hand.open
    assert [] == hand.calls("rollout")


def test_steps_that_decide_nothing_do_not_spin():
    """
    A card that was given back waits for newer ones, also when another step ends meanwhile.
    """
    hand = racing(max_steps=3)
    hand.card()
    hand.ends(3)

    assert {1: [0], 2: [1]} == hand.open
    hand.scored(1)
    hand.ends(1)
    assert {2: [1]} == hand.open
    hand.card()
    assert {2: [1], 4: [2, 3]} == hand.open


def test_what_arrived_while_a_step_was_prepared_is_not_taken_for_given_back():
    """
    A step gives back what it began with; a card that came later is worth a step of its own.
    """
    hand = moved(max_steps=1)
    hand.card()
    hand.card()
    hand.done("rebase", Rebased(proposal=proposal({"k": 2}), artifact=artifact(2)))
    hand.baseline()
    assert {2: [1]} == hand.open
    hand.ends(2)

    hand.done("rebase", Rebased(proposal=proposal({"k": 3}), artifact=artifact(3)))
    hand.baseline()
    assert {3: [1, 2]} == hand.open


def test_no_further_step_begins_once_the_target_is_reached():
    """
    Else one would always be open, and the run would never end.
    """
    hand = Races(target_reward=1.0).start().baseline()
    hand.card()
    hand.asks(1, Commit(artifact(1), [0]))
    hand.done("commit", Committed(1))
    hand.scored(1, 1.0)
    hand.measures(1, 7)
    hand.card()

    assert {1: [0]} == hand.open
    hand.scored(7)
    hand.ends(1)
    assert "target_reward" == hand.machine.stop_reason


# ---------------------------------------------------------------------------- the winner


def test_a_commit_closes_the_other_steps():
    """
    Their measurements are let go, and their cards are judged anew on the new head.
    """
    hand = committing(max_steps=3)
    hand.measures(2, 3)
    out = hand.done("commit", Committed(1))

    moot = [call.id for call in hand.calls("measure") if call.artifact == artifact(3)]
    assert Abort(2) in out
    assert moot == [i.call for i in out if isinstance(i, Cancel)]
    assert [(2, "lost")] == hand.sweeps
    hand.ends(1)
    assert [(2, "lost"), (1, "committed")] == hand.sweeps
    assert {3: [1]} == hand.open
    assert [(0, "committed", "")] == hand.decisions
    assert 2 == hand.machine.statistics().considered


def test_a_loser_begins_on_the_new_head_and_its_scores_are_remembered():
    """
    What was measured for the step that lost is not measured again.
    """
    hand = committing()
    hand.done("commit", Committed(1))
    hand.ends(1)

    assert (1, [1]) == (hand.at[3].value.head.version, hand.open[3])
    assert 1 == hand.at[3].value.cards[0].eta
    hand.measures(3, 2)
    assert ((0.5, 0.5),) == hand.at[3].value


@pytest.mark.parametrize(
    ("memory", "closed"), [(["new"], True), (True, True), (1.0, True), (1, False), (None, False)]
)
def test_memory_that_changes_closes_the_other_steps(memory, closed):
    """
    A step is a transaction on the memory too; to say again what is known changes nothing.
    """
    hand = Races().start().baseline()
    hand.card()
    hand.asks(1, Consume([0]))
    hand.ends(1, 1)
    hand.card()
    hand.measures(2, 1)
    hand.card()
    hand.measures(3, 2)
    hand.scored(1)
    hand.ends(2, memory)

    assert closed == (3 not in hand.at)
    assert closed == ({4: [2]} == hand.open)
    assert not closed or memory == hand.at[4].value.memory


@pytest.mark.parametrize(("more", "closed"), [({}, False), ({"memory": "new"}, True)])
def test_a_commit_of_the_head_closes_the_others_by_its_memory_only(more, closed):
    """
    No version moves.
    """
    hand = racing()
    hand.scored(1)
    hand.asks(1, Commit(HEAD, [0], **more))

    assert closed == (2 not in hand.at)
    assert [(0, "committed", "")] == hand.decisions


def test_lost_sweeps_are_no_sign_of_a_search_that_is_over():
    """
    Patience counts sweeps that came to an end of their own.
    """
    hand = committing(patience=1)
    hand.done("commit", Committed(1))

    assert "running" == hand.machine.phase


def test_a_sweep_that_is_still_rebasing_is_closed_too():
    """
    Its rebase is let go: what it brings is not applied, and is no fault.
    """
    for answer in (Done, Failed):
        hand = rebasing()
        hand.scored(2)
        hand.asks(2, Commit(artifact(2), [1]))
        call = hand.calls("rebase")[0]
        out = hand.done("commit", Committed(2))

        assert Cancel(call.id) in out
        hand.ends(2)
        again = [c for c in hand.calls("rebase") if c.id != call.id]
        assert [(2, 2)] == [(c.card.number, hand.machine.head.version) for c in again]
        del hand.runs[call.id]
        value = Rebased(proposal=None, artifact=None) if answer is Done else FAULT
        hand.feed(answer(hand.now, call.id, value))
        assert [(0, "committed", ""), (1, "committed", "")] == hand.decisions
        assert () == hand.machine.faults
        hand.done("rebase", Rebased(proposal=None, artifact=None))
        assert (2, "discarded", "conflict") == hand.decisions[-1]


# ---------------------------------------------------------------------------- one commit at a time


def test_a_second_commit_waits_its_turn_and_loses():
    """
    The first one's success closes it, and its card is judged anew.
    """
    hand = committing()
    hand.asks(2, Commit(artifact(2), [1]))

    assert [artifact(1)] == [call.artifact for call in hand.calls("commit")]
    hand.done("commit", Committed(1))
    hand.ends(1)
    assert {3: [1]} == hand.open
    hand.asks(3, Commit(artifact(12), [1]))
    assert [1] == [call.expected for call in hand.calls("commit")]


def test_a_step_that_waits_its_turn_has_nothing_to_say():
    """
    Its words are illegal until it is closed, and late from then on.
    """
    hand = committing()
    hand.asks(2, Commit(artifact(2), [1]))
    for n in (1, 2, 3):
        with pytest.raises(IllegalEventError, match="waits for its turn"):
            hand.feed(Yielded(hand.now, 2, n, Consume([1])))
    hand.done("commit", Committed(1))

    assert [] == hand.feed(Returned(hand.now, 2, 3))
    assert 1 == hand.machine.statistics().late


@pytest.mark.parametrize("waits", [True, False])
def test_when_somebody_else_was_first_all_steps_are_closed(waits):
    """
    The one whose commit was lost, and those beside it.
    """
    hand = committing()
    if waits:
        hand.asks(2, Commit(artifact(2), [1]))
    hand.done("commit", HeadMoved(Snapshot(1, artifact(9))))

    assert [(2, "lost"), (1, "cas-conflict")] == hand.sweeps
    assert {} == {step: cards for step, cards in hand.open.items() if step < 3}
    assert 1 == hand.machine.statistics().commit_races
    assert [] == hand.decisions


def test_a_commit_that_fails_ends_the_run_for_all():
    """
    Nothing was committed; what every step held is settled.
    """
    hand = committing()
    hand.asks(2, Commit(artifact(2), [1]))
    hand.failed("commit")
    hand.asks(3, Commit(artifact(3), [0]))
    hand.failed("commit")

    assert ("finished", "error") == (hand.machine.phase, hand.machine.stop_reason)
    assert [(0, "settled", "error"), (1, "settled", "error")] == hand.decisions


def test_the_end_of_a_step_with_another_memory_waits_for_the_commit():
    """
    That memory is lost with the step: it was made from one that the commit replaced.
    """
    hand = racing()
    hand.scored(1)
    hand.asks(1, Commit(artifact(1), [0], memory="first"))
    hand.scored(2)
    hand.ends(2, "second")

    assert [] == hand.sweeps
    hand.at[2] = None
    hand.done("commit", Committed(1))
    hand.ends(1)
    assert ([1], "first") == (hand.open[3], hand.at[3].value.memory)


def test_the_end_of_a_step_without_another_memory_does_not_wait():
    """
    It is over before the head moves, and its card with it.
    """
    hand = committing()
    hand.ends(2)
    hand.done("commit", Committed(1))

    assert [(1, "discarded", "worse"), (0, "committed", "")] == hand.decisions


def test_a_halt_gives_all_steps_up_but_the_one_that_commits():
    """
    The commit may still land.
    """
    hand = committing()
    hand.measures(2, 3)
    out = hand.feed(Stop(hand.now, "interrupted"))

    assert [2] == [i.step for i in out if isinstance(i, Abort)]
    assert [(2, "given-up")] == hand.sweeps
    hand.done("commit", Committed(1))
    assert ("finished", 1) == (hand.machine.phase, hand.machine.head.version)
    assert [(0, "committed", ""), (1, "settled", "interrupted")] == hand.decisions


# ---------------------------------------------------------------------------- trouble in one of them


def test_a_step_that_raises_leaves_the_others_open():
    """
    Its cards are tried once more in a step of their own.
    """
    hand = racing()
    hand.scored(1)
    hand.feed(Raised(hand.now, 1, 2, FAULT))

    assert {2: [1], 3: [0]} == hand.open
    hand.feed(Raised(hand.now, 3, 1, FAULT))
    assert [(0, "discarded", "plugin_error")] == hand.decisions
    assert {2: [1]} == hand.open


def test_a_good_step_does_not_hide_one_that_failed_before():
    """
    The second failure of the same cards is the last, whatever other steps do meanwhile.
    """
    hand = racing()
    hand.scored(1)
    hand.feed(Raised(hand.now, 1, 2, FAULT))
    hand.scored(2)
    hand.ends(2)
    hand.feed(Raised(hand.now, 3, 1, FAULT))

    assert [(1, "discarded", "worse"), (0, "discarded", "plugin_error")] == hand.decisions


def test_what_another_step_holds_is_not_let_go():
    """
    A card that was carried before, and that an open step has, is not the one that is too many.
    """
    hand = Races(pressure=Backpressure(carry_limit=1)).start().baseline()
    hand.card()
    hand.asks(1, Carry([0]))
    hand.ends(1)
    hand.card()
    hand.measures(2, 1)
    hand.card()
    hand.asks(3, Carry([2]))
    hand.ends(3)

    assert {2: [0, 1]} == hand.open
    assert [(2, "discarded", "uncertain")] == hand.decisions


def test_a_score_that_cannot_be_had_closes_one_step():
    """
    The other one goes on.
    """
    hand = racing()
    while 1 in hand.at:
        hand.failed_to_measure(1)

    assert {2: [1]} == hand.open
    assert [(0, "discarded", "unmeasured")] == hand.decisions


def test_a_score_that_cannot_be_afforded_waits_for_a_step_that_has_the_word():
    """
    What was paid for is decided, although nothing else can be measured.
    """
    hand = Races(n_workers=2, max_rollouts=2, max_calls=10).start().baseline()
    hand.card()
    hand.measures(1, 1)
    hand.card()
    hand.measures(2, 2)
    hand.scored(1)

    assert ("draining", ((0.5, 0.5),)) == (hand.machine.phase, hand.at[1].value)
    hand.ends(1)
    assert [(0, "discarded", "worse"), (1, "settled", "max_iters")] == hand.decisions


def test_one_score_answers_two_steps():
    """
    Neither state is measured twice, and each step is told.
    """
    hand = Races().start().baseline()
    hand.card()
    hand.measures(1, 5)
    hand.card()
    hand.measures(2, 5)
    calls = [call for call in hand.calls("measure") if call.artifact == artifact(5)]

    assert 2 == len(calls)
    hand.scored(5)
    assert [((0.5, 0.5),)] * 2 == [hand.at[step].value for step in (1, 2)]


# ---------------------------------------------------------------------------- the declaration


@pytest.mark.parametrize("wrong", [0, 4, 1.0, True, "2", None])
def test_a_wrong_number_of_steps_is_refused(wrong):
    """
    By the standard aggregator, and for any other when its run is made.
    """

    class Greedy:
        batch = 1
        max_steps = wrong

        def step(self, cards, context):
            yield Consume(cards)

    with pytest.raises(OptionError, match="max_steps"):
        StandardAggregator(max_steps=wrong)
    with pytest.raises(OptionError, match=r"max_steps.*Give a whole number from 1 to 3"):
        run(ToyDomain(), aggregator=Greedy(), driver="simulated", max_rollouts=5)


def test_who_declares_nothing_has_one_step_at_a_time():
    """
    And may keep what it likes between its requests.
    """
    most = []

    class Alone:
        batch = 1
        open = 0

        def step(self, cards, context):
            self.open += 1
            most.append(self.open)
            try:
                yield Measure((context.apply(cards[0].diff),), context.held_out)
            finally:
                self.open -= 1

    durations = {"rollout": Constant(1.0), "measure": Constant(4.0)}
    run(ToyDomain(), aggregator=Alone(), driver="simulated", durations=durations, max_rollouts=30)

    assert {1} == set(most)


def test_the_standard_aggregator_races():
    """
    While one step waits for slow measurements another begins, and the result is no worse.
    """
    outcomes = {}
    for most in (1, 2, 3):
        result = run(
            ToyDomain(),
            aggregator=StandardAggregator(max_steps=most),
            driver="simulated",
            durations={"rollout": Constant(1.0), "measure": Constant(4.0)},
            max_rollouts=120,
            validate=True,
        )
        outcomes[most] = (result.final_reward, dict(result.outcomes()))

    assert "lost" not in outcomes[1][1]
    assert all("lost" in outcomes[most][1] for most in (2, 3))
    assert all(outcomes[most][0] >= outcomes[1][0] for most in (2, 3))


class Scripted:
    """
    Stands in for an engine: a machine that resumes steps by a script, and steps that only ask.
    """

    journal = None
    stopped_at = 0
    witness = ""

    def __init__(self, script):
        self.machine = self.steps = self
        self.script = iter(script)

    def handle(self, event):
        return next(self.script)

    def resume(self, instruction, now):
        return Yielded(now, instruction.step, instruction.n + 1, Consume(()))


def test_steps_that_are_brought_back_speak_in_the_order_in_which_they_were_asked():
    """
    One that was answered once more after another had been asked comes after it.
    """
    first = Yielded(0.0, 1, 1, Consume(()))
    engine = Scripted([[Resume(1, 0, None), Resume(2, 0, None)], [Resume(1, 1, None)]])
    recovery = Recovery(engine, ResumedLookups(plugins=None))
    for event in (Started(0.0, HEAD), first):
        recovery.read(Row(event, ()))

    assert [(2, 1), (1, 2)] == [(event.step, event.n) for event in recovery.reopen(0.0)]
