"""
What calls charge is counted once, whoever performs them, and bounds the run.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import os
import pickle
import signal
import threading
from typing import ClassVar

import pytest
from by_hand import FAULT

from headway import charge, run
from headway.codec import decode, encode
from headway.contracts import NO_USAGE, Usage
from headway.contracts._metering import METER
from headway.durations import Uniform
from headway.errors import OptionError
from headway.journal import Journal
from headway.machine import Done, Failed
from headway.testing import ToyDomain

REAL = ("threads", "asyncio")
DRIVERS = (*REAL, "simulated")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


class Paid(ToyDomain):
    """
    Charges a fixed price for each kind of call, and counts what it charged.
    """

    prices: ClassVar = {"rollout": 5, "propose": 70, "measure": 11}

    def __init__(self, **options):
        super().__init__(**options)
        self.tokens = 0
        self._lock = threading.Lock()

    def pay(self, kind):
        with self._lock:
            self.tokens += self.prices[kind]
        charge(tokens=self.prices[kind], cost=self.prices[kind] / 1000)

    def rollout(self, state, task, *, rng):
        self.pay("rollout")
        return super().rollout(state, task, rng=rng)

    def propose(self, state, task, outcome, *, rng):
        self.pay("propose")
        return super().propose(state, task, outcome, rng=rng)

    def measure(self, state, task, *, rng):
        self.pay("measure")
        return ToyDomain.rollout(self, state, task, rng=rng).reward


class PaidAsync(Paid):
    """
    The same with coroutines.
    """

    async def rollout(self, state, task, *, rng):
        return Paid.rollout(self, state, task, rng=rng)

    async def propose(self, state, task, outcome, *, rng):
        await asyncio.to_thread(self.pay, "propose")
        return ToyDomain.propose(self, state, task, outcome, rng=rng)

    async def measure(self, state, task, *, rng):
        return Paid.measure(self, state, task, rng=rng)


WRITTEN = {"def": Paid, "async def": PaidAsync}
written = pytest.mark.parametrize("domain", WRITTEN.values(), ids=WRITTEN)


@written
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_all_that_is_charged_is_counted(mode, driver, domain):
    """
    The result says what the domain says, to the token; verifications pay as rollouts do.
    """
    paid = domain(noise=0.2)
    result = run(paid, mode=mode, driver=driver, n_workers=6, max_rollouts=60)
    calls = {
        kind: result.calls.get(kind, 0) for kind in ("rollout", "verify", "propose", "measure")
    }
    due = 5 * (calls["rollout"] + calls["verify"]) + 70 * calls["propose"] + 11 * calls["measure"]

    assert paid.tokens == result.usage.tokens
    assert driver != "simulated" or due == result.usage.tokens
    assert math.isclose(result.usage.tokens / 1000, result.usage.cost)
    assert sum(result.calls.values()) == result.usage.calls


def test_serial_counts_too():
    """
    The driver without concurrency counts as the others do.
    """
    paid = Paid()
    result = run(paid, mode="sync", driver="serial", max_rollouts=30)

    assert paid.tokens == result.usage.tokens > 0


class Stopped(Paid):
    """
    Its fifth rollout is broken off by Ctrl-C, after it has charged.
    """

    left = 5

    def rollout(self, state, task, *, rng):
        outcome = super().rollout(state, task, rng=rng)
        self.left -= 1
        if not self.left:
            signal.raise_signal(signal.SIGINT)
        return outcome


@pytest.mark.parametrize("driver", ["serial", "simulated"])
def test_what_an_interrupted_call_charged_counts(driver):
    """
    On the thread that Ctrl-C comes to.
    """
    stopped = Stopped()
    result = run(stopped, mode="sync", driver=driver, max_rollouts=60)

    assert "interrupted" == result.stop_reason
    assert driver != "serial" or stopped.tokens == result.usage.tokens > 0


class Failing(Paid):
    """
    Half of the rollouts fail after they have charged.
    """

    def rollout(self, state, task, *, rng):
        outcome = super().rollout(state, task, rng=rng)
        if rng.random() < 0.5:
            message = "the backend is down"
            raise ConnectionError(message)
        return outcome


@pytest.mark.parametrize("driver", DRIVERS)
def test_what_a_failed_call_charged_counts(driver):
    """
    The money is gone, whatever came of it; failures are counted too.
    """
    failing = Failing()
    result = run(failing, driver=driver, max_rollouts=60)

    assert failing.tokens == result.usage.tokens
    assert result.usage.failures >= result.completions["failed"] > 0


class Helped(Paid):
    """
    A rollout is charged by helpers on other threads that have a copy of its context.
    """

    def pay(self, kind):
        contexts = [contextvars.copy_context() for _ in range(4)]
        helpers = [threading.Thread(target=c.run, args=(self.part, kind)) for c in contexts]
        for helper in helpers:
            helper.start()
        for helper in helpers:
            helper.join()

    def part(self, kind):
        super().pay(kind)


@pytest.mark.parametrize("driver", DRIVERS)
def test_threads_with_a_copy_of_the_context_charge_too(driver):
    """
    Four helpers at once lose nothing.
    """
    helped = Helped()
    result = run(helped, driver=driver, max_rollouts=20)

    assert helped.tokens == result.usage.tokens > 0


class Forking:
    """
    An executor that forks a process for each call, in the middle of the call.
    """

    def run(self, function, *arguments):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with os.fdopen(writing, "wb") as stream:
                    pickle.dump(function(*arguments), stream)
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            answered = pickle.load(stream)
        assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return answered

    def close(self):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_what_a_forked_process_charges_comes_back():
    """
    It has a copy of the call's meter, which nobody here reads.
    """
    result = run(Paid(), driver="serial", mode="sync", max_rollouts=8, executor=Forking())
    prices = {**Paid.prices, "verify": Paid.prices["rollout"]}

    assert 0 == result.usage.failures
    assert sum(prices[kind] * count for kind, count in result.calls.items() if kind in prices) == (
        result.usage.tokens
    )
    assert result.usage.tokens > 8 * prices["rollout"]


def test_outside_of_a_run_nothing_happens():
    """
    Neither before nor after a run is there anybody who counts.
    """
    charge(tokens=3)
    result = run(Paid(), driver="simulated", max_rollouts=5)
    before = result.usage
    charge(tokens=3, cost=1.0)

    assert METER.get() is None
    assert before == result.usage


@pytest.mark.parametrize(
    "wrong",
    [
        {"tokens": -1},
        {"tokens": 0.5},
        {"tokens": True},
        {"cost": -0.1},
        {"cost": math.nan},
        {"cost": math.inf},
        {"cost": "1"},
    ],
)
def test_a_charge_that_is_none(wrong):
    """
    It is refused, outside of a run as well, and names the number.
    """
    with pytest.raises(OptionError, match=next(iter(wrong))):
        charge(**wrong)


class Rebasing(ToyDomain):
    """
    Charges where nothing is reserved.
    """

    def rebase(self, diff, state):
        charge(tokens=1)
        return super().rebase(diff, state)


def test_a_rebase_is_no_paid_call():
    """
    The charge is refused there, and the fault says what to do instead.
    """
    laws = {"rollout": Uniform(0.5, 2.0), "propose": Uniform(0.5, 2.0)}
    result = run(
        Rebasing(), driver="simulated", n_workers=8, max_rollouts=200, bind="early", durations=laws
    )
    told = {f.fault.message for f in result.failures if f.fault.where == "rebase"}

    assert 0 == result.usage.tokens
    assert all("no paid calls" in message for message in told)
    assert told


# ---------------------------------------------------------------------------- events


@pytest.mark.parametrize(
    "event",
    [
        Done(1.0, 3, 0.5),
        Done(1.0, 3, 0.5, Usage(12, 0.25)),
        Failed(1.0, 3, FAULT, False, Usage(1, 0.5)),
    ],
)
def test_usage_is_journalled(event):
    """
    What an event says was spent comes back from JSON.
    """
    assert event == decode(encode(event))


def test_what_charges_nothing_makes_no_object():
    """
    Answers of calls that charge nothing share one usage.
    """
    journal = Journal()
    run(ToyDomain(), driver="simulated", max_rollouts=10, journal=journal)
    usages = [row.event.usage for row in journal.rows if isinstance(row.event, Done)]

    assert usages
    assert all(usage is NO_USAGE for usage in usages)


# ---------------------------------------------------------------------------- bounds

LAWS = {"rollout": Uniform(0.5, 2.0), "propose": Uniform(0.1, 3.0), "measure": Uniform(0.2, 1.0)}


@written
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("workers", [1, 8, 32])
@pytest.mark.parametrize("most", [1_800, 4_000, 9_000])
def test_tokens_with_a_ceiling_are_never_overshot(most, workers, driver, domain):
    """
    Final scoring is paid for by what was put aside, and nothing exceeds the maximum.
    """
    paid = domain(noise=0.1)
    result = run(
        paid,
        driver=driver,
        n_workers=workers,
        max_tokens=most,
        tokens_per_call=70,
        final_draws=1,
        validate=True,
        durations=LAWS if driver == "simulated" else None,
    )

    assert paid.tokens == result.usage.tokens <= most
    assert "max_tokens" == result.stop_reason
    enough = most >= 70 * 36  # the baseline, the held-out and the test tasks
    assert ("fresh" if enough else "gate") == result.scores["final"].source


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("workers", [1, 8, 32])
def test_cost_with_a_ceiling_is_never_overshot(workers, mode, seed):
    """
    In either mode, over many orders of arrival, also where a call costs what it may.
    """
    result = run(
        Paid(noise=0.2),
        mode=mode,
        driver="simulated",
        seed=seed,
        n_workers=workers,
        max_cost=3.0 + seed,
        cost_per_call=0.07,
        rollout_timeout=2.5,
        durations=LAWS,
        validate=True,
    )

    assert result.usage.cost <= 3.0 + seed
    assert "max_cost" == result.stop_reason


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("workers", [1, 8, 32])
def test_without_a_ceiling_no_more_is_overshot_than_is_in_flight(workers, seed):
    """
    At the worst every call that was held costs the dearest price and was expected to cost nothing.
    """
    most = 4_000
    result = run(
        Paid(noise=0.1),
        driver="simulated",
        seed=seed,
        n_workers=workers,
        max_tokens=most,
        final_draws=1,
        durations=LAWS,
        validate=True,
    )

    assert result.usage.tokens <= most + 70 * 3 * workers
    assert "max_tokens" == result.stop_reason


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_whole_budget_is_used(driver):
    """
    Calls that spend less than their ceiling give back what they held: the run goes on meanwhile.
    """
    result = run(
        Paid(noise=0.1),
        driver=driver,
        n_workers=8,
        max_tokens=20_000,
        tokens_per_call=700,
        final_draws=1,
    )

    assert result.usage.tokens > 20_000 - 36 * 700  # no more is left than final scoring held
    assert result.rollouts > 8


def test_equal_rounds_whatever_the_number_of_workers():
    """
    In sync mode a budget of tokens ends every run at the same rollout, on every driver.
    """
    results = [
        run(
            Paid(noise=0.1),
            mode="sync",
            driver=driver,
            n_workers=workers,
            round_size=8,
            max_tokens=6_000,
            tokens_per_call=ceiling,
            final_draws=1,
        )
        for driver, workers in [("simulated", 1), ("simulated", 8), ("threads", 4), ("serial", 1)]
        for ceiling in (70, None)
    ]

    for these in (results[::2], results[1::2]):
        assert {(these[0].digest, these[0].rollouts)} == {(r.digest, r.rollouts) for r in these}


def test_a_call_above_its_ceiling_is_told():
    """
    Its value stands, and the fault names the price and the option.
    """
    result = run(Paid(), driver="simulated", max_tokens=9_000, tokens_per_call=69)
    faults = [f.fault for f in result.failures]

    assert {("propose", "CeilingExceeded")} == {(f.where, f.type) for f in faults}
    assert "70 tokens; tokens_per_call=69" in faults[0].message
    assert result.completions["ok"] == result.rollouts


def test_the_first_resource_to_run_out_is_the_reason():
    """
    Of calls, tokens and cost, whichever is short first.
    """
    ample = {"max_tokens": 10**9, "max_cost": 1e9, "max_calls": 10**6, "max_rollouts": 10**6}
    reasons = {
        name: run(Paid(noise=0.1), driver="simulated", **{**ample, name: short}).stop_reason
        for name, short in [("max_tokens", 3000), ("max_cost", 3.0), ("max_calls", 200)]
    }

    assert {name: name for name in reasons} == reasons


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_tokens": 5000}, "without tokens_per_call"),
        ({"max_cost": 5.0}, "without cost_per_call"),
        ({"max_tokens": 5000, "tokens_per_call": 1}, "only max_tokens ends this run"),
        ({"max_tokens": 1500, "tokens_per_call": 100}, "too few to score the final state"),
        ({"max_cost": 1.5, "cost_per_call": 0.1}, "too few to score the final state"),
    ],
)
def test_what_a_budget_can_not_promise_is_said_before(options, words):
    """
    The notes name the option.
    """
    result = run(Paid(), driver="simulated", **options)

    assert [note for note in result.notes if words in note]


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 900, "tokens_per_call": 100},
        {"max_cost": 0.9, "cost_per_call": 0.1},
        {"max_calls": 9},
        {"max_tokens": 0},
        {"max_cost": 0.0},
        {"max_cost": math.nan},
        {"tokens_per_call": 0, "max_rollouts": 1},
        {"cost_per_call": -1.0, "max_rollouts": 1},
    ],
)
def test_a_budget_that_can_not_be(options):
    """
    It does not pay the baseline, or is none: refused before anything runs.
    """
    paid = Paid()
    with pytest.raises(OptionError, match=next(iter(options))):
        run(paid, driver="simulated", **options)
    assert 0 == paid.tokens


def test_a_call_that_was_given_up_keeps_what_it_holds():
    """
    A timed-out call may still charge, so its late charge is counted and never breaks the bound.
    """
    result = run(
        Paid(noise=0.1),
        driver="simulated",
        n_workers=8,
        rollout_timeout=1.2,
        durations=LAWS,
        max_tokens=8_000,
        tokens_per_call=70,
        validate=True,
    )

    assert result.completions["timeout"] > 0
    assert result.late > 0
    assert result.usage.tokens <= 8_000
