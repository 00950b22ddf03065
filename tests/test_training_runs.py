"""
Trainings in whole runs: every driver, what goes on meanwhile, and what becomes of one that fails.
"""

from __future__ import annotations

import _thread
import asyncio
import os
import subprocess
import sys
import threading

import pytest

from headway import arun, run
from headway.contracts import Commit, Consume, Domain, Measure, Train, charge
from headway.durations import Constant
from headway.errors import ContractError
from headway.testing import ToyDomain

REAL = ("threads", "asyncio")
ALL = ("serial", "threads", "asyncio", "simulated")

LONG = 60
"""Seconds after which what never comes is given up: a test that needs them has failed."""


class Learning(ToyDomain):
    """
    A toy that says what it learnt; ``lesson`` is what a test makes of it.
    """

    name = "learning"

    def __init__(self, lesson=None, **options):
        super().__init__(**options)
        self.lesson = lesson
        self.calls = []

    def train(self, state, cards, payload, *, rng):
        self.calls.append(payload)
        if self.lesson is not None:
            return self.lesson(self, len(self.calls))
        return {"cards": [card.number for card in cards], "toss": rng.random()}


class LearningLater(Learning):
    """
    The same as a coroutine.
    """

    async def train(self, state, cards, payload, *, rng):
        await asyncio.sleep(0)
        found = Learning.train(self, state, cards, payload, rng=rng)
        return await found if asyncio.iscoroutine(found) else found


class Trains:
    """
    Trains on its cards, and commits one that the training's toss chooses.
    """

    batch = 2
    max_steps = 1

    def step(self, cards, context):
        learnt = yield Train(cards, {"step": context.step})
        assert [card.number for card in cards] == learnt.pop("cards")
        card = cards[int(learnt.pop("toss") * len(cards))]
        child = context.apply(card.diff)
        before, after = yield Measure((context.head, child), context.held_out)
        if sum(after) >= sum(before):
            yield Commit(child, [card])


class Asks:
    """
    Trains and lets its cards go.
    """

    batch = 1
    max_steps = 1

    def __init__(self):
        self.answers = []

    def step(self, cards, context):
        self.answers.append((yield Train(cards[:1], "it")))


def sync(domain, driver, **options):
    given = {"mode": "sync", "round_size": 5, "max_rollouts": 30, "validate": True} | options
    return run(domain, aggregator=Trains(), driver=driver, **given)


def asks(domain, driver="threads", **options):
    """
    A run of an aggregator that does nothing but train, and that aggregator.
    """
    aggregator = Asks()
    given = {"mode": "sync", "round_size": 4, "max_rollouts": 8, "validate": True} | options
    return run(domain, aggregator=aggregator, driver=driver, **given), aggregator


def failures(result):
    return [(f.fault.where, f.fault.type, f.count) for f in result.failures]


# ---------------------------------------------------------------------------- every driver


@pytest.mark.parametrize("driver", ALL)
@pytest.mark.parametrize("domain", [Learning, LearningLater])
def test_every_driver_trains_alike(driver, domain):
    """
    What is committed depends on what the trainings gave, and on the seed: it is the same everywhere.
    """
    made = domain()
    result = sync(made, driver)

    assert () == result.failures
    assert result.version > 0
    assert sync(Learning(), "serial").digest == result.digest
    assert len(made.calls) == result.trainings > 1


def test_its_random_numbers_are_of_the_seed():
    """
    Another seed gives other ones.
    """
    digests = [sync(Learning(), "simulated", seed=seed).digest for seed in (1, 1, 2)]

    assert digests[0] == digests[1] != digests[2]


def test_it_takes_its_time_on_a_virtual_clock():
    """
    As the law for it says, beside what else runs.
    """
    laws = {"rollout": Constant(1.0), "train": Constant(5.0)}
    result = sync(Learning(), "simulated", durations=laws)

    assert 5.0 * result.trainings == pytest.approx(result.train_seconds)
    assert result.wallclock >= result.train_seconds


@pytest.mark.parametrize("driver", REAL)
def test_it_runs_in_the_process_of_the_run(driver):
    """
    Whatever executor runs the rollouts: what it learns stays there.
    """
    found = []
    domain = Learning(lambda _domain, _count: found.append(os.getpid()))
    _, aggregator = asks(domain, driver, executor=Elsewhere())

    assert {os.getpid()} == {*found}
    assert [None] * len(found) == aggregator.answers


class Elsewhere:
    """
    An executor that must not be given a training.
    """

    def run(self, function, call):
        assert call.kind != "train"
        return function(call)

    def close(self):
        pass


# ---------------------------------------------------------------------------- what goes on meanwhile


class Busy(Learning):
    """
    The first training waits for four rollouts, and all but the first two rollouts for that training.
    """

    def __init__(self):
        super().__init__(right=1.0, silent=0.0, useless=0.0)
        self.ended = []
        self.began, self.enough = threading.Event(), threading.Event()
        self.during = []

    def rollout(self, state, task, *, rng, ticket):
        if ticket is not None and ticket.number > 1:
            assert self.began.wait(LONG)
            self.ended.append(ticket.number)
            if len(self.ended) > 3:
                self.enough.set()
        return super().rollout(state, task, rng=rng)

    def measure(self, state, task, *, rng):
        return ToyDomain.rollout(self, state, task, rng=rng).reward

    def train(self, state, cards, payload, *, rng):
        self.began.set()
        self.during.append(self.enough.wait(LONG))
        return {"cards": [card.number for card in cards], "toss": 0.0}


class BusyLater(Busy):
    async def train(self, state, cards, payload, *, rng):
        return await asyncio.to_thread(Busy.train, self, state, cards, payload, rng=rng)


@pytest.mark.parametrize("driver", REAL)
@pytest.mark.parametrize("domain", [Busy, BusyLater])
def test_rollouts_go_on_while_it_runs(driver, domain):
    """
    With a single slot, which they share.
    """
    busy = domain()
    options = {"n_workers": 1, "slots": 1, "async_ratio": 8, "self_verify": False}
    result = run(
        busy,
        aggregator=Trains(),
        driver=driver,
        policy="full",
        max_rollouts=30,
        validate=True,
        **options,
    )

    assert busy.during[0] is True
    assert "max_iters" == result.stop_reason


class Overtakes:
    """
    The first step trains until another one has committed; that one is measured once it does.
    """

    batch = 1
    max_steps = 2

    def __init__(self):
        self.trains = threading.Event()

    def step(self, cards, context):
        if context.step == 1:
            yield Train(cards, "first")
            raise AssertionError("it was overtaken")
        if context.head.version:
            yield Consume(cards)
            return
        child = context.apply(cards[0].diff)
        yield Measure((child,), context.held_out)
        yield Commit(child, cards[:1])


class MeasuresLater(Learning):
    """
    Anything but the first head is measured once something trains.
    """

    trains = None

    def measure(self, state, task, *, rng):
        if state != self.initial():
            assert self.trains.wait(LONG)
        return ToyDomain.rollout(self, state, task, rng=rng).reward


class MeasuresAndLearnsLater(MeasuresLater, LearningLater):
    """
    The same as a coroutine.
    """


@pytest.mark.parametrize("driver", REAL)
@pytest.mark.parametrize("domain", [MeasuresLater, MeasuresAndLearnsLater])
def test_measurements_and_commits_go_on_while_it_runs(driver, domain):
    """
    The step that is overtaken is closed; what its training says when it may is counted as late.
    """
    aggregator, landed = Overtakes(), threading.Event()

    def lesson(_domain, _count):
        aggregator.trains.set()
        return waits() if domain is MeasuresAndLearnsLater else landed.wait(LONG)

    async def waits():
        return await asyncio.to_thread(landed.wait, LONG)

    def watch(notice):
        if type(notice).__name__ == "HeadCommitted":
            landed.set()

    made = domain(lesson, useless=0.0, silent=0.0)
    made.trains = aggregator.trains
    result = run(
        made,
        aggregator=aggregator,
        driver=driver,
        policy="full",
        max_rollouts=30,
        max_seconds=LONG,
        observers=[watch],
        validate=True,
    )

    assert landed.is_set()
    assert result.version >= 1
    assert () == result.failures


def test_a_coroutine_trains_on_the_callers_loop():
    """
    So that it can use what belongs to it.
    """
    loops = []

    def lesson(_domain, _count):
        loops.append(asyncio.get_running_loop())
        return {"cards": [], "toss": 0.0}

    async def main():
        result = await arun(LearningLater(lesson), aggregator=Asks(), max_rollouts=8)
        return result, asyncio.get_running_loop()

    result, mine = asyncio.run(main())

    assert [mine] * result.trainings == loops
    assert () == result.failures


# ---------------------------------------------------------------------------- when it fails


def fails(error, times):
    """
    A lesson that raises, the first so many times.
    """

    def lesson(_domain, count):
        if count <= times:
            raise error
        return "learnt"

    return lesson


@pytest.mark.parametrize("driver", ALL)
@pytest.mark.parametrize("domain", [Learning, LearningLater])
@pytest.mark.parametrize("error", [OSError("flaky"), SystemExit(3), asyncio.CancelledError()])
def test_one_that_fails_now_and_then_costs_nothing(driver, domain, error):
    """
    The step is tried again with its cards, and the run goes on.
    """
    result, aggregator = asks(domain(fails(error, 2)), driver)

    # A loop of asyncio's ends with SystemExit, and whoever waits for it is told something else.
    kind = {"RuntimeError": "SystemExit"}.get(result.failures[0].fault.type)
    assert [("train", type(error).__name__, 2)] == [
        (w, kind or k, n) for w, k, n in failures(result)
    ]
    assert "max_iters" == result.stop_reason
    assert {"learnt"} == {*aggregator.answers}


@pytest.mark.parametrize("driver", ALL)
@pytest.mark.parametrize("domain", [Learning, LearningLater])
def test_one_that_always_fails_ends_the_run(driver, domain):
    """
    With its own words, said once, and the place and the domain where it was.
    """
    made = domain(fails(OSError("no such model"), 99))
    result, aggregator = asks(made, driver)

    assert ("error", 3) == (result.stop_reason, len(made.calls))
    assert ("train", "OSError", "no such model") == (
        result.error.where,
        result.error.type,
        result.error.message,
    )
    assert "learning" == result.error.plugin
    assert "in lesson" in result.error.traceback
    assert [("train", "OSError", 3)] == failures(result)
    assert [] == aggregator.answers


@pytest.mark.parametrize("driver", ALL)
@pytest.mark.parametrize(
    "value", [float("nan"), {"loss": float("inf")}, {1, 2}, object(), {"a": {3: 4, "b": set()}}]
)
def test_what_is_no_json_value_is_no_answer(driver, value):
    """
    It is told as what it is, and what it was.
    """
    result, _ = asks(Learning(lambda _domain, _count: value), driver, max_train_errors=1)

    assert ("error", "train", "InvalidValue") == (
        result.stop_reason,
        result.error.where,
        result.error.type,
    )
    assert "no JSON value" in result.error.message


@pytest.mark.parametrize("own", [Domain.train, ("tasks", "to", "train", "on")])
@pytest.mark.parametrize("driver", ALL)
def test_a_domain_that_trains_nothing_says_so(driver, own):
    """
    By its name, and what to do; also where ``train`` is something else than a method.
    """

    class Plain(ToyDomain):
        name = "plain"
        train = own

    result, _ = asks(Plain(), driver)

    assert ("error", ContractError.__name__) == (result.stop_reason, result.error.type)
    assert "the domain 'plain' trains nothing: give it a method train" in result.error.message


@pytest.mark.parametrize("driver", REAL)
def test_a_coroutine_that_hangs_is_cancelled_and_tried_again(driver):
    """
    At its deadline.
    """
    ended = []

    def lesson(_domain, count):
        return hangs() if count == 1 else "learnt"

    async def hangs():
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append("cancelled")

    result, aggregator = asks(LearningLater(lesson), driver, train_timeout=2.0)

    assert ["cancelled"] == ended
    assert [("train", "Timeout", 1)] == failures(result)
    assert {"learnt"} == {*aggregator.answers}


@pytest.mark.parametrize("driver", REAL)
def test_a_function_that_hangs_ends_the_run(driver):
    """
    Since no second training begins beside it, each next one is late as well; nothing else is held up.
    """
    never = threading.Event()
    domain = Learning(lambda _domain, _count: never.wait(LONG))
    result, _ = asks(domain, driver, train_timeout=0.1)
    never.set()

    assert ("error", "Timeout") == (result.stop_reason, result.error.type)
    assert 1 == len(domain.calls)
    assert 3 == result.trainings


@pytest.mark.parametrize("driver", REAL)
@pytest.mark.parametrize("domain", [Learning, LearningLater])
def test_two_never_run_at_once(driver, domain):
    """
    One that was given up at its deadline is let end, and then the next one begins.
    """
    aggregator = AsksAgain()
    running, most = [], []

    def lesson(_domain, count):
        return stubborn(count) if domain is LearningLater else slow(count)

    def slow(count):
        running.append(count)
        most.append(len(running))
        if count == 1:
            aggregator.asked_again.wait(LONG)
        running.remove(count)
        return "learnt"

    async def stubborn(count):  # one that takes its time to be cancelled
        running.append(count)
        most.append(len(running))
        if count == 1:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                await asyncio.to_thread(aggregator.asked_again.wait, LONG)
        running.remove(count)
        return "learnt"

    result = run(
        domain(lesson),
        aggregator=aggregator,
        driver=driver,
        mode="sync",
        round_size=4,
        max_rollouts=8,
        max_train_errors=10,
        train_timeout=0.3,
        validate=True,
    )

    assert "max_iters" == result.stop_reason
    assert 1 == max(most)
    assert len(most) >= 2
    assert {"learnt"} == {*aggregator.answers}


class AsksAgain(Asks):
    """
    Says when it asks for the second time.
    """

    def __init__(self):
        super().__init__()
        self.asked_again = threading.Event()

    def step(self, cards, context):
        if context.step > 1:
            self.asked_again.set()
        yield from super().step(cards, context)


def test_what_it_charges_is_in_the_result():
    """
    Tokens and money; it is no call.
    """

    def lesson(_domain, _count):
        charge(tokens=7, cost=0.5)

    for made in (Learning(lesson), LearningLater(lesson)):
        result, _ = asks(made)

        assert result.trainings > 0
        assert 7 * result.trainings == result.usage.tokens
        assert 0.5 * result.trainings == pytest.approx(result.usage.cost)
        assert "train" not in result.calls


# ---------------------------------------------------------------------------- the end


@pytest.mark.parametrize("driver", REAL)
@pytest.mark.parametrize("domain", [Learning, LearningLater])
def test_a_run_whose_time_is_up_leaves_it(driver, domain):
    """
    It is not waited for.
    """
    never = threading.Event()

    def lesson(_domain, _count):
        return waits() if domain is LearningLater else never.wait(LONG)

    async def waits():
        await asyncio.get_running_loop().create_future()

    result, _ = asks(domain(lesson), driver, max_rollouts=100, max_seconds=0.5)
    never.set()

    assert "max_seconds" == result.stop_reason
    assert result.wallclock < LONG / 2
    assert () == result.failures


@pytest.mark.parametrize("driver", ["serial", *REAL])
def test_who_stops_a_run_stops_its_training(driver):
    """
    Ctrl-C comes in the middle of it.
    """
    never = threading.Event()

    def lesson(_domain, _count):
        _thread.interrupt_main()
        never.wait(LONG)

    result, aggregator = asks(Learning(lesson), driver)
    never.set()

    assert "interrupted" == result.stop_reason
    assert [] == aggregator.answers


HUNG = """
import threading

from headway import run
from headway.contracts import Train
from headway.testing import ToyDomain


class Hangs(ToyDomain):
    def train(self, state, cards, payload):
        print("trains", flush=True)
        threading.Event().wait()


class Asks:
    batch = 1

    def step(self, cards, context):
        yield Train(cards)


result = run(Hangs(), aggregator=Asks(), driver={driver!r}, max_seconds=1.0)
print(result.stop_reason, result.trainings, flush=True)
"""


@pytest.mark.parametrize("driver", REAL)
def test_the_interpreter_exits_while_one_hangs(driver):
    """
    Its thread keeps no process alive.
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HUNG.format(driver=driver)],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )

    assert ("trains\nmax_seconds 1\n", "", 0) == (done.stdout, done.stderr, done.returncode)
