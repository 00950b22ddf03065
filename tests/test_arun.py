"""
``arun``: the same run, awaited, while the caller's loop goes on; and ``run`` inside a loop.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from itertools import count

import pytest

from headway import arun, run
from headway.contracts import SweepDone, TicketEnded
from headway.errors import OptionError, UsageError
from headway.testing import ToyDomain

ALL = ("serial", "threads", "asyncio", "simulated")
REAL = ("threads", "asyncio")
SOON = 30.0
real = pytest.mark.parametrize("driver", REAL)


class Coroutines(ToyDomain):
    """
    Notes on which threads and loops its coroutines run.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self.on = set()

    async def _note(self):
        self.on.add((threading.current_thread(), asyncio.get_running_loop()))
        await asyncio.sleep(0)

    async def rollout(self, state, task, *, rng):
        await self._note()
        return ToyDomain.rollout(self, state, task, rng=rng)

    async def propose(self, state, task, outcome, *, rng):
        await self._note()
        return ToyDomain.propose(self, state, task, outcome, rng=rng)


class ForEver(ToyDomain):
    """
    Rollouts that await for ever; notes when they begin and how they end.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self.begun, self.cancelled = asyncio.Event(), 0

    async def rollout(self, state, task, *, rng):
        self.begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    def measure(self, state, task, *, rng):
        return ToyDomain.rollout(self, state, task, rng=rng).reward


class Stuck(ToyDomain):
    """
    Plain rollouts that wait for an event.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self.begun, self.never = threading.Event(), threading.Event()

    def rollout(self, state, task, *, rng):
        self.begun.set()
        self.never.wait()
        return super().rollout(state, task, rng=rng)


def rounds(driver, **more):
    return {"mode": "sync", "driver": driver, "round_size": 5, "max_rollouts": 40, **more}


def own_threads():
    return [t for t in threading.enumerate() if t.name.startswith("headway")]


@pytest.fixture(autouse=True)
def _nothing_is_left():
    before = own_threads()
    yield
    for thread in own_threads():
        thread.join(SOON)

    assert [] == [t.name for t in own_threads() if t not in before]


@pytest.mark.parametrize("driver", ALL)
@pytest.mark.parametrize("domain", [ToyDomain, Coroutines])
def test_the_result_is_that_of_run(driver, domain):
    """
    Same decisions, same states, under every driver.
    """
    awaited = asyncio.run(arun(domain(), **rounds(driver, validate=True)))

    assert run(ToyDomain(), **rounds("serial")).digest == awaited.digest
    assert () == awaited.failures
    assert driver == awaited.driver


@real
def test_coroutines_run_on_the_callers_loop(driver):
    """
    On its thread, all of them.
    """
    domain = Coroutines()

    async def main():
        await arun(domain, driver=driver, max_rollouts=30)
        return threading.current_thread(), asyncio.get_running_loop()

    assert {asyncio.run(main())} == domain.on


@real
def test_the_callers_loop_goes_on(driver):
    """
    A rollout waits for what another task of the loop does.
    """

    class Waiting(Coroutines):
        async def rollout(self, state, task, *, rng):
            gate = asyncio.get_running_loop().create_future()
            await asked.put(gate)
            await gate
            return ToyDomain.rollout(self, state, task, rng=rng)

    asked = opened = None

    async def open_all():
        nonlocal opened
        for opened in count(1):  # noqa: B007 - it is looked at outside
            gate = await asked.get()
            if not gate.done():
                gate.set_result(None)

    async def main():
        nonlocal asked
        asked = asyncio.Queue()
        opening = asyncio.create_task(open_all())
        result = await arun(Waiting(), driver=driver, max_rollouts=20)
        opening.cancel()
        return result

    result = asyncio.run(main())

    assert () == result.failures
    assert 20 == result.rollouts
    assert opened > 20


@real
def test_plain_functions(driver):
    """
    They run on threads, so that they may block; the loop goes on.
    """

    class Plain(Stuck):
        def rollout(self, state, task, *, rng):
            assert threading.current_thread() is not threading.main_thread()
            return super().rollout(state, task, rng=rng)

    async def main():
        domain = Plain()
        running = asyncio.create_task(arun(domain, driver=driver, max_rollouts=10))
        while not domain.begun.is_set():  # noqa: ASYNC110 - the loop turns while a thread comes
            await asyncio.sleep(0)
        domain.never.set()
        return await running

    result = asyncio.run(main())

    assert () == result.failures
    assert 10 == result.rollouts


@real
@pytest.mark.parametrize("domain", [ForEver, Stuck])
def test_cancelling_stops_the_run(driver, domain):
    """
    ``CancelledError`` is raised once the run has ended; coroutines are cancelled.
    """
    notices = []

    async def main():
        made = domain()
        task = asyncio.create_task(
            arun(made, driver=driver, patience=9, observers=[notices.append])
        )
        while not made.begun.is_set():  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if domain is Stuck:
            made.never.set()
        return made, asyncio.all_tasks() - {asyncio.current_task()}

    made, left = asyncio.run(main())

    assert set() == left
    assert "interrupted" == notices[-1].stop_reason
    assert {"abandoned"} == {n.completion for n in notices if isinstance(n, TicketEnded)}
    assert domain is Stuck or made.cancelled == 4  # as many as there are workers


def test_cancelling_a_serial_run_lets_its_call_end():
    """
    Only a signal handler can break into a call; the caller's loop is not broken into instead.
    """
    notices = []

    async def main():
        made = Stuck()
        task = asyncio.create_task(arun(made, **rounds("serial", observers=[notices.append])))
        while not made.begun.is_set():  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        made.never.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())

    assert "interrupted" == notices[-1].stop_reason


@real
def test_a_timeout_stops_the_run(driver):
    """
    ``asyncio.timeout`` cancels, too, and is told apart.
    """

    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await arun(ForEver(), driver=driver, patience=9)

    asyncio.run(main())


@real
def test_cancelling_twice_does_not_hang(driver):
    """
    Who asks again does not wait for a run that does not end: here an observer holds it up.
    """
    never = threading.Event()

    async def main():
        made = ForEver()
        observers = [lambda notice: never.wait()]
        task = asyncio.create_task(
            arun(made, driver=driver, patience=9, observers=observers, shutdown_grace=SOON)
        )
        await made.begun.wait()
        task.cancel()
        while made.cancelled < 4:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    never.set()


def test_bad_options_are_told_at_once():
    """
    Before anything is begun, as by ``run``.
    """

    async def main():
        before = own_threads()
        with pytest.raises(OptionError, match="max_rollouts"):
            await arun(ToyDomain(), max_rollouts=-1)
        with pytest.raises(OptionError, match="no such option"):
            await arun(ToyDomain(), max_rolouts=3)
        with pytest.raises(OptionError, match="Nothing would end"):
            await arun(ToyDomain())
        with pytest.raises(UsageError):
            await arun("no-such-domain", max_rollouts=3)
        assert before == own_threads()

    asyncio.run(main())


def test_what_the_run_raises_is_raised_where_it_is_awaited(monkeypatch):
    """
    A fault of Headway's own, such as a broken invariant, is not lost on a thread.
    """

    def broken(engine, recorder):
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(sys.modules["headway.run"], "build_result", broken)

    with pytest.raises(ZeroDivisionError, match="a fault"):
        asyncio.run(arun(ToyDomain(), max_rollouts=5))


@real
def test_several_at_once_on_one_loop(driver):
    """
    Each gives what it gives alone; they are on their way at the same time.
    """
    number_of_runs = 6
    here, all_here = Counter(), None

    class Meeting(Coroutines):
        def __init__(self, number):
            super().__init__()
            self.number = number

        async def rollout(self, state, task, *, rng):
            here[self.number] += 1
            if len(here) == number_of_runs:
                all_here.set()
            await all_here.wait()
            return ToyDomain.rollout(self, state, task, rng=rng)

    async def main():
        nonlocal all_here
        all_here = asyncio.Event()
        runs = [arun(Meeting(n), **rounds(driver, seed=n)) for n in range(number_of_runs)]
        return await asyncio.gather(*runs)

    together = [result.digest for result in asyncio.run(main())]
    alone = [run(ToyDomain(), **rounds("serial", seed=n)).digest for n in range(number_of_runs)]

    assert alone == together


@pytest.mark.parametrize("driver", ALL)
def test_run_inside_a_running_loop(driver):
    """
    It blocks the loop, and works: its coroutines have a loop of their own.
    """
    domain = Coroutines()

    async def main():
        return run(domain, **rounds(driver))

    result = asyncio.run(main())

    assert run(ToyDomain(), **rounds("serial")).digest == result.digest
    assert not any(thread is threading.main_thread() for thread, _ in domain.on)


@real
def test_observers_are_told_everything(driver):
    """
    On a thread, in order, all before the result is there.
    """
    notices, on = [], set()

    def observe(notice):
        notices.append(notice)
        on.add(threading.current_thread().name)

    result = asyncio.run(arun(ToyDomain(), driver=driver, max_rollouts=40, observers=[observe]))

    assert result.digest == notices[-1].digest
    assert list(result.history) == [n for n in notices if isinstance(n, SweepDone)]
    assert {"headway-observers"} == on
