"""
Budgets: what a run may do is what the domain is asked to do, counted there.
"""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from headway import Task, run
from headway.contracts import Usage
from headway.machine import Budget
from headway.testing import ToyDomain

REAL = ("threads", "asyncio")
DRIVERS = (*REAL, "simulated")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


class Counting(ToyDomain):
    """
    Counts every call that is really made, and how many of them run at once.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self.made, self.now, self.most = Counter(), 0, 0
        self._lock = threading.Lock()

    def begin(self, method):
        with self._lock:
            self.made[method] += 1
            self.now += 1
            self.most = max(self.most, self.now)

    def end(self):
        with self._lock:
            self.now -= 1

    def counted(self, method, *arguments, rng):
        self.begin(method)
        try:
            return getattr(ToyDomain, method)(self, *arguments, rng=rng)
        finally:
            self.end()

    def rollout(self, state, task, *, rng):
        return self.counted("rollout", state, task, rng=rng)

    def propose(self, state, task, outcome, *, rng):
        return self.counted("propose", state, task, outcome, rng=rng)

    def measure(self, state, task, *, rng):
        self.begin("measure")
        try:
            return ToyDomain.rollout(self, state, task, rng=rng).reward
        finally:
            self.end()


class CountingAsync(Counting):
    """
    The same with coroutines.
    """

    async def rollout(self, state, task, *, rng):
        return Counting.rollout(self, state, task, rng=rng)

    async def propose(self, state, task, outcome, *, rng):
        return Counting.propose(self, state, task, outcome, rng=rng)

    async def measure(self, state, task, *, rng):
        return Counting.measure(self, state, task, rng=rng)


WRITTEN = {"def": Counting, "async def": CountingAsync}
written = pytest.mark.parametrize("domain", WRITTEN.values(), ids=WRITTEN)


@written
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("workers", [1, 8, 32, 512])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_rollouts(mode, workers, driver, domain):
    """
    Twenty are twenty, with however many workers, called and reported.
    """
    counting = domain(n_keys=26, n_tasks=26)
    result = run(
        counting,
        mode=mode,
        driver=driver,
        n_workers=workers,
        max_rollouts=20,
        self_verify=False,  # it calls ``rollout`` too
    )

    assert 20 == counting.made["rollout"]
    assert 20 == result.rollouts == result.completions["ok"]
    assert "max_iters" == result.stop_reason


@written
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("most", [13, 41, 42, 107, 400])
def test_calls(most, noise, driver, domain):
    """
    No call more than that is really made; one that is cancelled before it began counts too.
    """
    counting = domain(noise=noise)
    result = run(counting, driver=driver, n_workers=8, max_calls=most, validate=True)
    made = sum(counting.made.values())

    assert made <= sum(result.calls.values()) <= most
    assert driver != "simulated" or made == sum(result.calls.values())
    assert result.stop_reason in ("max_calls", "exhausted")


@written
@pytest.mark.parametrize("driver", REAL)
def test_calls_of_hurried_runs(driver, domain):
    """
    Also with more workers than calls, in rounds, and tried on their own task first or not.
    """
    for workers, mode, tried in [(64, "async", True), (64, "sync", False), (3, "async", False)]:
        counting = domain(noise=0.2)
        options = {"n_workers": workers, "mode": mode, "self_verify": tried}
        result = run(counting, driver=driver, max_calls=90, **options)

        assert sum(counting.made.values()) <= sum(result.calls.values()) <= 90


@pytest.mark.parametrize("driver", REAL)
@pytest.mark.parametrize("slots", [1, 3, 9])
def test_slots_are_never_exceeded(driver, slots):
    """
    At no moment are more calls in the domain's hands than there are slots.
    """
    counting = Counting(n_keys=26, n_tasks=26)
    run(counting, driver=driver, n_workers=16, slots=slots, max_rollouts=150)

    assert counting.most <= slots
    assert sum(counting.made.values()) > 200


class Meeting(ToyDomain):
    """
    The first rollouts wait for each other: they end only if so many run at once.
    """

    deterministic = True

    def __init__(self, count):
        super().__init__(n_keys=26, n_tasks=26)
        self.barrier = threading.Barrier(count)
        self.left = count
        self._lock = threading.Lock()

    def tasks(self):
        splits = super().tasks()
        more = [Task(id=f"more-{n}", data=["a"]) for n in range(100)]
        return type(splits)(train=[*splits.train, *more], held_out=splits.held_out)

    def rollout(self, state, task, *, rng):
        with self._lock:
            meets, self.left = self.left > 0, self.left - 1
        if meets:
            self.barrier.wait(60)
        return super().rollout(state, task, rng=rng)

    def measure(self, state, task, *, rng):
        return ToyDomain.rollout(self, state, task, rng=rng).reward


@pytest.mark.parametrize("driver", REAL)
@pytest.mark.parametrize(("workers", "slots"), [(4, None), (64, None), (64, 24)])
def test_no_slot_idles(driver, workers, slots):
    """
    As many rollouts run at once as there are workers, or slots where these are fewer.
    """
    meeting = Meeting(min(workers, slots or workers))
    result = run(meeting, driver=driver, n_workers=workers, slots=slots, max_rollouts=200)

    assert () == result.failures
    assert not meeting.barrier.broken


def test_what_was_broken_off_is_kept_back():
    """With a ceiling, as much as it may have spent; without one, what others spent on average."""
    declared = Budget(max_tokens=100, tokens_per_call=20)
    guessed = Budget(max_tokens=100)
    for budget in (declared, guessed):
        budget.reserve(1)
        budget.spend()
        budget.charge(Usage(tokens=10))
        budget.settle(1)
        budget.lose(2)

    assert (True, False) == (declared.affords(2), declared.affords(3))
    assert (True, False) == (guessed.affords(7), guessed.affords(8))
    assert 10 == declared.tokens == guessed.tokens
