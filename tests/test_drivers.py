"""
Real drivers: coroutines, hangs, threads that end, and a loop that runs already.
"""

import asyncio
import threading
from pathlib import Path

import pytest

from headway import Measure, arun, run
from headway.contracts import Outcome
from headway.drivers._loop import BREATH
from headway.testing import ToyDomain

REAL = ("threads", "asyncio")
ALL = ("serial", "threads", "asyncio", "simulated")


class CoroutineToy(ToyDomain):
    """The toy domain, written with ``async def``."""

    async def rollout(self, state, task, *, rng):
        await asyncio.sleep(0)
        return super().rollout(state, task, rng=rng)

    async def propose(self, state, task, outcome, *, rng):
        await asyncio.sleep(0)
        return super().propose(state, task, outcome, rng=rng)


class MixedToy(CoroutineToy):
    """The same, but proposals are a plain function's."""

    def propose(self, state, task, outcome, *, rng):
        return ToyDomain.propose(self, state, task, outcome, rng=rng)


class Hanging(ToyDomain):
    """Every fifth rollout waits for something that never comes."""

    def __init__(self, **options):
        super().__init__(**options)
        self.count = 0
        self.never = threading.Event()

    def rollout(self, state, task, *, rng):
        self.count += 1
        if self.count % 5 == 0:
            self.never.wait()
        return super().rollout(state, task, rng=rng)

    def measure(self, state, task, *, rng):
        return ToyDomain.rollout(self, state, task, rng=rng).reward


class HangingCoroutine(Hanging):
    """The same, as a coroutine that can be cancelled."""

    async def rollout(self, state, task, *, rng):
        self.count += 1
        if self.count % 5 == 0:
            await asyncio.get_running_loop().create_future()
        return ToyDomain.rollout(self, state, task, rng=rng)


class Bulky(ToyDomain):
    """Proposals of 1.5 MB."""

    def propose(self, state, task, outcome, *, rng):
        diff = super().propose(state, task, outcome, rng=rng)
        return None if diff is None else {**diff, "!": "x" * 1_500_000}


def sync(domain, driver):
    return run(domain, mode="sync", driver=driver, round_size=5, max_rollouts=40, validate=True)


@pytest.mark.parametrize("driver", ALL)
def test_coroutines(driver):
    """A domain written with ``async def`` gives the same run, under every driver."""
    result = sync(CoroutineToy(), driver)

    assert () == result.failures
    assert sync(ToyDomain(), "serial").digest == result.digest


@pytest.mark.parametrize("driver", REAL)
@pytest.mark.parametrize("domain", [Hanging, HangingCoroutine])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_hangs(driver, domain, mode):
    """A rollout that hangs ends at its deadline as a timeout; the run makes all the others."""
    hanging = domain()
    result = run(
        hanging,
        mode=mode,
        driver=driver,
        max_rollouts=20,
        rollout_timeout=0.3,
        eval_timeout=0.3,
        validate=True,
    )
    hanging.never.set()

    assert "max_iters" == result.stop_reason
    assert result.completions["timeout"] >= 2
    assert 20 == sum(result.completions.values())


@pytest.mark.parametrize("driver", REAL)
def test_time_is_up(driver):
    """``max_seconds`` ends a run whose rollouts hang for ever, without any other deadline."""
    hanging = Hanging()
    result = run(hanging, driver=driver, max_seconds=0.3, validate=True)
    hanging.never.set()

    assert "max_seconds" == result.stop_reason
    assert result.wallclock < 0.3 + 5
    assert result.completions["abandoned"] > 0


@pytest.mark.parametrize("driver", ALL)
def test_inside_a_running_loop(driver):
    """``run`` blocks and works also where an event loop runs already."""

    async def main():
        return sync(CoroutineToy(), driver)

    assert sync(ToyDomain(), "serial").digest == asyncio.run(main()).digest


@pytest.mark.parametrize("driver", ALL)
def test_oversized_proposals(driver):
    """A proposal of 1.5 MB is discarded as oversized, not measured."""
    result = sync(Bulky(), driver)

    assert {"discarded:oversized"} == set(result.decisions)


@pytest.mark.parametrize("driver", REAL)
def test_no_thread_is_left(driver):
    """When a run has ended, its threads end."""
    sync(CoroutineToy(), driver)
    left = [t for t in threading.enumerate() if t.name.startswith("headway")]
    for thread in left:
        thread.join(timeout=10)

    assert [] == [thread.name for thread in left if thread.is_alive()]


DESCRIPTORS = Path("/proc/self/fd")


@pytest.mark.skipif(not DESCRIPTORS.is_dir(), reason="descriptors are listed on Linux only")
@pytest.mark.parametrize("driver", REAL)
def test_no_descriptor_is_left(driver):
    """Fifty runs, with plain functions and coroutines, leave none behind."""
    open_before = []
    for _ in range(51):
        run(MixedToy(), driver=driver, max_rollouts=3)
        for thread in threading.enumerate():
            if thread.name.startswith("headway"):
                thread.join(timeout=10)
        open_before.append(len(list(DESCRIPTORS.iterdir())))

    assert open_before[0] == open_before[-1]


@pytest.mark.parametrize("driver", REAL)
@pytest.mark.parametrize("domain", [ToyDomain, CoroutineToy])
@pytest.mark.parametrize("allowed", [0, 1, 3])
@pytest.mark.parametrize("workers", [8, 512])
def test_the_system_starts_no_thread(monkeypatch, driver, domain, allowed, workers):
    """The run ends with an error that names the remedy, and with what was found until then."""
    plain, started = threading.Thread.start, []

    def start(thread):
        if len(started) >= allowed:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        plain(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    result = run(domain(), driver=driver, n_workers=workers, max_rollouts=2000, shutdown_grace=0.1)
    for thread in started:
        thread.join(timeout=10)

    if "error" != result.stop_reason:  # so few were enough
        assert allowed >= 1
        return
    assert ("driver", "RuntimeError") == (result.error.where, result.error.type)
    assert "can't start new thread" in result.error.message
    assert "lower n_workers or slots" in result.error.message
    assert result.rollouts == sum(result.completions.values())
    assert not any(thread.is_alive() for thread in started)


@pytest.mark.parametrize("driver", REAL)
def test_observers_without_a_thread(monkeypatch, driver):
    """They are told nothing, and the result says why; the run itself may still come to its end."""
    plain, told = threading.Thread.start, []

    def start(thread):
        if thread.name == "headway-observers":
            raise RuntimeError("can't start new thread")
        plain(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    result = run(ToyDomain(), driver=driver, max_rollouts=20, observers=[told.append])

    assert [] == told
    assert "max_iters" == result.stop_reason
    faults = [(f.fault.where, f.fault.message) for f in result.failures]
    assert [("observer", "can't start new thread")] == faults


@pytest.mark.parametrize("driver", ALL)
def test_an_observer_that_raises_a_cancelled_error(driver):
    """It is contained as any other, though it is no ``Exception``."""

    def observer(notice):
        raise asyncio.CancelledError

    result = run(ToyDomain(), mode="sync", driver=driver, rounds=2, observers=[observer])

    assert [("observer", "CancelledError")] == [
        (f.fault.where, f.fault.type) for f in result.failures
    ]


@pytest.mark.parametrize("driver", ALL)
def test_an_observer_that_raises_what_no_run_survives(driver):
    """It ends the run and is raised there, whichever thread the observer was told on."""

    def observer(notice):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(ToyDomain(noise=0.5), mode="sync", driver=driver, rounds=10**6, observers=[observer])


class Leaving(CoroutineToy):
    """The third rollout starts a task that leaves the program."""

    def __init__(self):
        super().__init__()
        self.count = 0

    async def rollout(self, state, task, *, rng):
        self.count += 1
        if self.count == 3:
            await asyncio.create_task(self.leave())
        return await super().rollout(state, task, rng=rng)

    async def leave(self):
        raise SystemExit


@pytest.mark.parametrize("driver", ALL)
def test_a_task_of_the_domains_own_that_leaves_does_not_end_the_loop(driver):
    """The rollout that awaits it fails, as if it had raised that itself; the others go on."""
    result = run(Leaving(), mode="sync", driver=driver, max_rollouts=20)

    assert "max_iters" == result.stop_reason
    (failure,) = result.failures
    assert ("rollout", 1) == (failure.fault.where, failure.count)
    assert "SystemExit" in failure.fault.traceback


class Unmeasured(ToyDomain):
    """No state but the first is ever scored."""

    def __init__(self):
        super().__init__()
        self.never = threading.Event()

    def measure(self, state, task, *, rng):
        if state != self.initial():
            self.never.wait()
        return ToyDomain.rollout(self, state, task, rng=rng).reward


class Closing:
    """Steps that note when they are closed."""

    batch = 1

    def __init__(self):
        self.closed = threading.Event()

    def step(self, cards, context):
        try:
            yield Measure((context.apply(cards[0].diff),), context.held_out)
        except GeneratorExit:
            self.closed.set()
            raise


@pytest.mark.parametrize("driver", REAL)
def test_a_step_that_is_open_at_the_end_is_closed(driver):
    """Not only when it is collected: a call that hangs keeps all of the run alive."""
    domain, aggregator = Unmeasured(), Closing()
    run(domain, driver=driver, aggregator=aggregator, max_seconds=0.5, shutdown_grace=0.1)
    closed = aggregator.closed.wait(10)
    domain.never.set()

    assert closed


class Fatal(ToyDomain):
    """A rollout that raises what no run survives, while the others wait for it."""

    def __init__(self):
        super().__init__()
        self.begun, self.raised = [], threading.Event()

    def rollout(self, state, task, *, rng):
        self.begun.append(task)
        if len(self.begun) == 1:
            self.raised.set()
            raise KeyboardInterrupt
        self.raised.wait(10)
        return super().rollout(state, task, rng=rng)


@pytest.mark.parametrize("driver", REAL)
def test_a_run_that_breaks_begins_no_call_any_more(driver):
    """What no run survives is raised where it was started; what waited is not begun."""
    domain = Fatal()
    with pytest.raises(KeyboardInterrupt):
        run(domain, driver=driver, n_workers=2, slots=2, max_rollouts=500)
    for thread in threading.enumerate():
        if thread.name.startswith("headway"):
            thread.join(timeout=10)

    assert len(domain.begun) <= 2 + 2  # those that were in hand


class Idle(ToyDomain):
    """Coroutines without any work, always solved."""

    def __init__(self):
        super().__init__(noise=0.5)  # so that a run does not end once it has seen all tasks

    async def rollout(self, state, task, *, rng):
        return Outcome(reward=1.0)


@pytest.mark.parametrize("driver", REAL)
def test_coroutines_without_work_let_the_callers_loop_go_on(driver):
    """A run whose calls never wait gives way to the other tasks of the loop all the same."""
    turns = 0

    async def beside():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def main():
        task = asyncio.create_task(beside())
        result = await arun(Idle(), driver=driver, n_workers=4, max_rollouts=5000)
        task.cancel()
        return result

    assert 5000 == asyncio.run(main()).rollouts
    assert turns >= 5000 // (4 * BREATH)  # each task has at most a breath a turn


@pytest.mark.parametrize("driver", REAL)
@pytest.mark.parametrize("domain", [Hanging, HangingCoroutine])
def test_nothing_is_left_of_calls_that_hung(driver, domain):
    """Once they were let go, no thread and no task of the run is there any more."""
    hanging = domain()

    async def main():
        await arun(hanging, driver=driver, max_rollouts=20, rollout_timeout=0.02)
        return asyncio.all_tasks() - {asyncio.current_task()}

    left = asyncio.run(main())
    hanging.never.set()
    for thread in threading.enumerate():
        if thread.name.startswith("headway"):
            thread.join(timeout=10)

    assert set() == left
    assert [] == [t.name for t in threading.enumerate() if t.name.startswith("headway")]


class Endless(ToyDomain):
    """Coroutines that never end by themselves, and say when what they then raise is told."""

    def __init__(self):
        super().__init__()
        self.told = []

    async def rollout(self, state, task, *, rng):
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            raise Wordy(self.told) from None

    def measure(self, state, task, *, rng):
        return 0.0


class Wordy(Exception):  # noqa: N818 - no error of anybody's
    """Notes when it is put into words."""

    def __str__(self):
        self.args[0].append(True)
        return "wordy"


@pytest.mark.parametrize("workers", [4, 64, 1000])
def test_the_end_wakes_the_loop_as_often_for_many_as_for_few(monkeypatch, workers):
    """All that runs is cancelled at once, and what comes of it is not put into words for nobody."""
    plain, wakes, domain = asyncio.BaseEventLoop.call_soon_threadsafe, [], Endless()

    def call(loop, function, *arguments, **more):
        wakes.append(function)
        return plain(loop, function, *arguments, **more)

    monkeypatch.setattr(asyncio.BaseEventLoop, "call_soon_threadsafe", call)
    result = run(domain, driver="asyncio", n_workers=workers, slots=workers, max_seconds=1.0)
    for thread in threading.enumerate():
        if thread.name == "headway-loop":
            thread.join(timeout=10)

    assert workers == result.completions["abandoned"] == result.rollouts
    assert len(wakes) <= 12
    assert [] == domain.told
