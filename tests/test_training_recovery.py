"""
Trainings that a process did not live to see, and trainings that are only recorded.
"""

from __future__ import annotations

import _thread
import json
import threading
from collections import Counter

import attrs
import pytest

import headway
from headway.cli import main
from headway.contracts import Commit, Domain, Measure, Train, charge
from headway.durations import Constant
from headway.journal import Journal, replay
from headway.machine import RecordedLookups, TrainCall
from headway.rundir import read_status, replay_run
from headway.testing import Schedule, ToyDomain, run_schedule
from headway.testing._schedules import World, check_crash, check_replay
from headway.what_if import what_if

LONG = 60


class Learner:
    """
    Two trainings a step; what the first one gave is changed before the second is asked for.
    """

    batch = 2
    max_steps = 1

    def step(self, cards, context):
        first = yield Train(cards, f"{context.step}.first")
        assert first.pop("cards") == [card.number for card in cards]
        second = yield Train(cards[:1], f"{context.step}.second")
        card = cards[int(first.pop("toss") * len(cards))]
        child = context.apply(card.diff)
        before, after = yield Measure((context.head, child), context.held_out)
        if sum(after) >= sum(before):
            yield Commit(child, [card], memory={"toss": second["toss"]})


class Counting(ToyDomain):
    """
    Counts its trainings by payload; one of them may stop the run before it answers.
    """

    name = "counting"

    def __init__(self, stops_at=None):
        super().__init__(right=0.6)
        self.made = Counter()
        self.stops_at = stops_at
        self.never = threading.Event()

    def train(self, state, cards, payload, *, rng):
        self.made[payload] += 1
        charge(tokens=3)
        if payload == self.stops_at:
            _thread.interrupt_main()
            self.never.wait(LONG)
        return super().train(state, cards, payload, rng=rng)


OPTIONS = {"aggregator": Learner(), "mode": "sync", "round_size": 4, "max_rollouts": 24, "seed": 5}


ASYNC = {"mode": "async", "round_size": None}


def run(domain, folder=None, **options):
    return headway.run(domain, run_dir=folder, **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def whole():
    """
    The run without a break.
    """
    domain = Counting()
    return run(domain, driver="serial"), domain.made


def trains(seed):
    """
    A schedule in which each step trains, some of it fails, and nothing ends it early.
    """
    calm = {"max_calls": None, "max_seconds": None, "target": None, "max_train_errors": 1000}
    return attrs.evolve(
        Schedule.draw(seed),
        erratic=True,
        training=1.0,
        max_rollouts=7,
        fault_rate=0.1,
        sync=False,
        **calm,
    )


@pytest.mark.parametrize("seed", [3, 8])
def test_a_run_may_crash_at_any_event(seed):
    """
    And once more before it ends, to be taken up from a checkpoint; it comes to the same.
    """
    schedule = trains(seed)
    outcome = run_schedule(schedule)
    for crash in range(1, len(outcome.journal.rows)):
        check_crash(check_replay(schedule, outcome, crash), outcome, crash)

    assert any('"Train"' in json.dumps(row) for row in outcome.journal.to_json())


def test_a_journal_of_trainings_is_read_from_json():
    """
    It leads to the same calls.
    """
    schedule = trains(3)
    outcome = run_schedule(schedule)
    rows = Journal.from_json(json.loads(json.dumps(outcome.journal.to_json()))).rows
    lookups, calls = RecordedLookups(), []

    def follow(_event, out):
        calls.extend(i.call for i in out if isinstance(getattr(i, "call", None), TrainCall))

    machine = World(schedule).machine(lookups)
    replay(rows, machine, lookups, follow)

    assert machine.digest == outcome.digest
    assert len(calls) == machine.statistics().trainings > 0


@pytest.mark.parametrize("driver", ["serial", "threads", "asyncio"])
@pytest.mark.parametrize("part", ["first", "second"])
def test_what_was_under_way_is_made_again_and_nothing_else(tmp_path, whole, driver, part):
    """
    Ctrl-C in the middle of a training; who goes on makes it again, with the same payload.
    """
    stopped = Counting(stops_at=f"2.{part}")
    first = run(stopped, tmp_path / "d", driver=driver)
    stopped.never.set()
    again = Counting()
    second = run(again, tmp_path / "d", driver=driver)

    assert ("interrupted", "max_iters") == (first.stop_reason, second.stop_reason)
    uninterrupted, trainings = whole
    assert (uninterrupted.digest, uninterrupted.memory) == (second.digest, second.memory)
    made = stopped.made + again.made
    assert {f"2.{part}": 2} == {payload: count for payload, count in made.items() if count > 1}
    assert {*trainings} == {*made}


@pytest.mark.parametrize("driver", ["threads", "asyncio", "simulated"])
def test_a_replay_needs_no_domain(tmp_path, driver):
    """
    The trainings' answers are in the journal, as they were before the step changed them.
    """
    result = run(Counting(), tmp_path / "d", driver=driver)
    replayed = replay_run(tmp_path / "d")

    assert result.digest == replayed.digest
    assert result.trainings == replayed.statistics.trainings > 2
    assert result.train_seconds == pytest.approx(replayed.statistics.train_seconds)


def test_a_result_that_is_loaded_has_them(tmp_path):
    """
    Their number and their seconds.
    """
    result = run(Counting(), driver="simulated", durations={"train": Constant(2.0)})
    result.save(tmp_path / "r.json")
    loaded = headway.Result.load(tmp_path / "r.json")

    assert (result.trainings, 2.0 * result.trainings) == (loaded.trainings, loaded.train_seconds)


def test_status_shows_trainings(tmp_path, capsys):
    """
    Of a run that has ended, and of one that was interrupted in one of them.
    """
    run(Counting(), tmp_path / "whole", driver="simulated", durations={"train": Constant(2.0)})
    stopped = Counting(stops_at="2.first")
    run(stopped, tmp_path / "part", driver="threads")
    stopped.never.set()
    ended, part = read_status(tmp_path / "whole"), read_status(tmp_path / "part")
    assert 0 == main(["status", str(tmp_path / "whole")])

    assert ended.train_seconds == 2.0 * ended.trainings > 0
    assert 3 == part.trainings
    assert (
        f"trainings      {ended.trainings}, in {ended.train_seconds:.2f} s"
        in capsys.readouterr().out
    )


class Sealed(Counting):
    """
    None of its code may run but in one run.
    """

    open = True

    def train(self, state, cards, payload, *, rng):
        assert self.open
        return super().train(state, cards, payload, rng=rng)


def test_what_if_trains_as_often_and_as_long(tmp_path):
    """
    By stand-ins, whose trainings take as long as recorded ones did; no code of the domain runs.
    """
    laws = {"rollout": Constant(1.0), "measure": Constant(0.5), "train": Constant(30.0)}
    domain = Sealed()
    result = run(domain, tmp_path / "d", driver="simulated", durations=laws, **ASYNC)
    domain.open = False
    answer = what_if(tmp_path / "d", {"n_workers": 8}, domain=domain)

    assert not answer.rerun
    assert 30.0 * result.trainings <= result.wallclock
    assert 0.5 * result.wallclock < answer.simulated.seconds < 2 * result.wallclock
    assert answer.changed.seconds > 30.0


def test_a_domain_that_trains_nothing_is_as_it_was(tmp_path):
    """
    No trainings are counted, and no file says more.
    """

    class Plain(ToyDomain):
        train = Domain.train

    result = headway.run(Plain(), run_dir=tmp_path / "d", driver="simulated", max_rollouts=10)

    assert (0, 0.0) == (result.trainings, result.train_seconds)
