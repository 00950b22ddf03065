"""
Tests of ``headway.drivers._interrupt``: who is asked, and when.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from textwrap import dedent
from time import monotonic

import pytest

from headway.drivers import Interrupt, catching_signals
from headway.drivers import _interrupt as module

BOTH = (signal.SIGINT, signal.SIGTERM)
both = pytest.mark.parametrize("number", BOTH)
real = pytest.mark.parametrize("driver", ["threads", "asyncio"])

CEILING = 10.0
"""
Seconds within which a program ends; ``benchmarks/endings.py`` measures how late it really is.
"""

STOPPED_BY = 1.0
"""Seconds after the signal from which on no call begins; a run that missed it makes thousands."""

SLOTS = 12
"""
Calls that threads may have in their hands when a run ends: counted, and not yet at their first line.
"""

DOMAIN = """
    import asyncio, json, os, random, signal, sys, threading, time, warnings
    from headway import arun, run
    from headway.testing import ToyDomain

    warnings.simplefilter("ignore")
    BUSY = threading.Event()

    class Slow(ToyDomain):
        def __init__(self):
            super().__init__(n_keys=26, noise=0.2)
            self.begun, self.lock = [], threading.Lock()

        def note(self):
            with self.lock:
                self.begun.append(time.monotonic())
                if len(self.begun) == 30:
                    BUSY.set()
                    if "say" in sys.argv:
                        print("busy", flush=True)

        def rollout(self, state, task, *, rng):
            self.note()
            time.sleep(0.001)
            return ToyDomain.rollout(self, state, task, rng=rng)

        def propose(self, state, task, outcome, *, rng):
            self.note()
            return ToyDomain.propose(self, state, task, outcome, rng=rng)

    class SlowAsync(Slow):
        async def rollout(self, state, task, *, rng):
            self.note()
            await asyncio.sleep(0.001)
            return ToyDomain.rollout(self, state, task, rng=rng)

    def report(domain, result=None, **more):
        told = {"begun": domain.begun[:], **more}
        for thread in threading.enumerate():
            if thread.name.startswith("headway"):
                thread.join(30)
        told["later"] = len(domain.begun) - len(told["begun"])
        if result is not None:
            told["calls"] = sum(result.calls.values())
            told["stop_reason"] = result.stop_reason
            told["whole"] = result.rollouts == sum(result.completions.values())
        return told
"""


BEGUN = []
"""The programs that a test has begun."""


@pytest.fixture(autouse=True)
def nothing_goes_on():
    """
    A test that fails leaves no program behind, which would take the processor from all others.
    """
    yield
    while BEGUN:
        process = BEGUN.pop()
        if process.poll() is None:
            process.kill()
            process.communicate()


def start(code, *arguments):
    """
    A program of its own, which says ``busy`` once its run is in the middle of its work.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", dedent(DOMAIN) + dedent(code), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    BEGUN.append(process)
    if "say" in arguments:
        assert process.stdout.readline() == "busy\n", process.stderr.read()
    return process


def stopped(process, number):
    """
    What a program tells that is sent a signal, once its end has been seen to.
    """
    sent = monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    took = monotonic() - sent

    assert "" == err
    assert 0 == process.returncode
    assert took < CEILING
    told = json.loads(out)
    assert max(told["begun"]) < sent + STOPPED_BY  # all processes share one monotonic clock
    assert told["later"] <= SLOTS
    return told


def test_before_a_run_it_raises():
    """
    There is nothing to finish yet.
    """
    interrupt = Interrupt()

    with pytest.raises(KeyboardInterrupt):
        interrupt.request(signal.SIGINT)
    assert signal.SIGINT == interrupt.number


def test_during_a_run_the_driver_is_asked():
    """
    Once: a second signal soon after may come from a launcher that passes on the first.
    """
    interrupt, asked = Interrupt(), []
    interrupt.begin()
    with interrupt.asking(lambda: asked.append(1)):
        interrupt.request(signal.SIGTERM)
        interrupt.request(signal.SIGINT)

    assert [1] == asked
    assert signal.SIGTERM == interrupt.number


def test_a_driver_that_comes_later_is_asked_at_once():
    """
    Between the beginning of a run and that of its driver nothing is lost.
    """
    interrupt, asked = Interrupt(), []
    interrupt.begin()
    interrupt.request(signal.SIGINT)
    with interrupt.asking(lambda: asked.append(1)):
        pass

    assert [1] == asked


def test_a_second_request_later_gives_up(monkeypatch):
    """
    Whoever asks again does not want to wait.
    """
    interrupt = Interrupt()
    interrupt.begin()
    with interrupt.asking(lambda: None):
        interrupt.request(signal.SIGINT)
        monkeypatch.setattr(module, "IMPATIENT", -1.0)

        with pytest.raises(KeyboardInterrupt):
            interrupt.request(signal.SIGINT)


def test_after_a_run_it_is_only_remembered():
    """
    The result is written first.
    """
    interrupt = Interrupt()
    interrupt.end()
    interrupt.request(signal.SIGINT)
    interrupt.request(signal.SIGINT)

    assert signal.SIGINT == interrupt.number


def test_handlers_are_put_back():
    """
    Also when something was raised.
    """
    before = signal.getsignal(signal.SIGTERM)
    interrupt = Interrupt()
    with pytest.raises(KeyboardInterrupt), interrupt.catching(signal.SIGTERM):
        signal.raise_signal(signal.SIGTERM)

    assert before == signal.getsignal(signal.SIGTERM)
    assert signal.SIGTERM == interrupt.number


@both
def test_what_nobody_handles_is_caught(number):
    """
    Ctrl-C and SIGTERM, and what was there before is put back.
    """
    before = signal.getsignal(number)
    with catching_signals() as interrupt:
        interrupt.begin()
        signal.raise_signal(number)

    assert number == interrupt.number
    assert before == signal.getsignal(number)


@both
def test_a_program_that_handles_a_signal_itself_goes_on_doing_so(number):
    """
    The library takes over the interpreter's own handlers only.
    """
    caught = []
    usual = signal.signal(number, lambda number, frame: caught.append(number))
    try:
        with catching_signals() as interrupt:
            signal.raise_signal(number)
    finally:
        signal.signal(number, usual)

    assert [number] == caught
    assert interrupt.number is None


@both
def test_an_ignored_signal_is_ignored(number):
    """
    Whoever ignores one, as ``nohup`` does, means it.
    """
    usual = signal.signal(number, signal.SIG_IGN)
    try:
        with catching_signals() as interrupt:
            signal.raise_signal(number)
    finally:
        signal.signal(number, usual)

    assert interrupt.number is None


def test_on_another_thread_nothing_is_caught():
    """
    Python allows handlers on the main thread only.
    """
    before = [signal.getsignal(number) for number in BOTH]
    seen = []

    def work():
        with catching_signals():
            seen.extend(signal.getsignal(number) for number in BOTH)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert before == seen


@pytest.mark.parametrize(
    ("driver", "domain", "number"),
    [
        ("threads", "Slow", signal.SIGINT),
        ("threads", "SlowAsync", signal.SIGTERM),
        ("asyncio", "Slow", signal.SIGTERM),
        ("asyncio", "SlowAsync", signal.SIGINT),
    ],
)
def test_a_signal_ends_a_run_with_a_complete_result(driver, number, domain):
    """
    No call begins after it, each that began was counted, and the program goes on to its end.
    """
    code = f"""
        domain = {domain}()
        print(json.dumps(report(domain, run(domain, driver={driver!r}, patience=10**9))))
    """
    told = stopped(start(code, "say"), number)

    assert "interrupted" == told["stop_reason"]
    assert told["whole"]
    assert 30 <= len(told["begun"]) + told["later"] <= told["calls"]


@real
def test_ctrl_c_while_a_run_is_awaited(driver):
    """
    ``asyncio.run`` cancels it, which ends it; then it raises ``KeyboardInterrupt`` as ever.
    """
    code = f"""
        domain, notices = SlowAsync(), []
        options = dict(driver={driver!r}, patience=10**9, observers=[notices.append])
        try:
            asyncio.run(arun(domain, **options))
        except KeyboardInterrupt:
            print(json.dumps(report(domain, reason=notices[-1].stop_reason)))
    """

    assert "interrupted" == stopped(start(code, "say"), signal.SIGINT)["reason"]


def test_sigterm_handled_by_the_loop_of_whoever_awaits():
    """
    A service cancels its tasks, say; the loop hears of the signal although a run is on its way.
    """
    code = """
        async def main():
            running = asyncio.create_task(arun(domain, patience=10**9, observers=[notices.append]))
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
            try:
                await running
            except asyncio.CancelledError:
                print(json.dumps(report(domain, reason=notices[-1].stop_reason)))

        domain, notices = SlowAsync(), []
        asyncio.run(main())
    """

    assert "interrupted" == stopped(start(code, "say"), signal.SIGTERM)["reason"]


@real
def test_a_signal_that_the_program_handles_leaves_its_run_alone(driver):
    """
    The handler runs in the middle of the run, not after it.
    """
    code = f"""
        seen = []
        signal.signal(signal.SIGTERM, lambda number, frame: seen.append(len(domain.begun)))
        domain = Slow()
        threading.Thread(target=lambda: (BUSY.wait(), os.kill(os.getpid(), 15))).start()
        result = run(domain, driver={driver!r}, max_rollouts=100)
        print(json.dumps([result.stop_reason, result.rollouts, seen[0] < len(domain.begun)]))
    """
    out, err = start(code).communicate(timeout=60)

    assert "" == err
    assert ["max_iters", 100, True] == json.loads(out)


@real
def test_signals_at_twenty_random_moments(driver):
    """
    Both signals in turn, at any moment of a run: each time a complete result.
    """
    code = f"""
        def send(number, delay):
            BUSY.wait()
            time.sleep(delay)
            os.kill(os.getpid(), number)

        draw, told = random.Random(7), []
        for n in range(20):
            BUSY.clear()
            domain = (Slow, SlowAsync)[n // 2 % 2]()
            number = (signal.SIGINT, signal.SIGTERM)[n % 2]
            threading.Thread(target=send, args=(number, draw.random() / 30)).start()
            result = run(domain, driver={driver!r}, patience=10**9, mode=("async", "sync")[n % 2])
            one = report(domain, result)
            told.append({{**one, "begun": len(one["begun"])}})
        print(json.dumps(told))
    """
    out, err = start(code).communicate(timeout=60)
    told = json.loads(out)

    assert "" == err
    assert 20 == len(told)
    for one in told:
        assert ("interrupted", True) == (one["stop_reason"], one["whole"])
        assert one["later"] <= SLOTS
        assert one["begun"] + one["later"] <= one["calls"]


@both
def test_a_signal_is_acted_upon_while_everything_hangs(number):
    """
    The calling thread waits for signals, whatever all the others do.
    """
    code = """
        class Hanging(Slow):
            def rollout(self, state, task, *, rng):
                self.note()
                print("busy", flush=True)
                threading.Event().wait()

        domain = Hanging()
        result = run(domain, n_workers=1, eval_concurrency=0, patience=9, shutdown_grace=0.2)
        print(json.dumps({"begun": domain.begun, "later": 0, "reason": result.stop_reason}))
        sys.stdout.flush()
    """

    assert "interrupted" == stopped(start(code, "say"), number)["reason"]
