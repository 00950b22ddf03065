"""
Tests of ``headway.drivers._waker``: no wake and no signal is lost, and the descriptor is put back.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from time import monotonic

import pytest

from headway.drivers._waker import Waker

FOR_EVER = 1e9
"""Seconds; a wait that does not end at once hangs the test until pytest's own deadline."""


@pytest.fixture
def waker():
    with Waker() as entered:
        yield entered


@pytest.fixture
def handled():
    """Signals that a handler of the program's own has seen."""
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    yield seen
    signal.signal(signal.SIGUSR1, before)


@pytest.fixture(params=["socket", "pipe"])
def ends(request):
    """The reading and the writing descriptor of somebody else's wake-up."""
    if request.param == "pipe":
        pair = os.pipe()
        for end in pair:
            os.set_blocking(end, False)
        yield pair
        for end in pair:
            os.close(end)
        return
    reading, writing = socket.socketpair()
    with reading, writing:
        reading.setblocking(False)
        writing.setblocking(False)
        yield reading.fileno(), writing.fileno()


def test_a_wake_before_the_wait_ends_it(waker):
    """
    It is remembered, once: the next wait lasts again.
    """
    waker.wake()
    waker.wake()
    waker.wait(FOR_EVER)
    began = monotonic()
    waker.wait(0.05)

    assert monotonic() - began >= 0.04


def test_a_wake_from_another_thread_ends_the_wait(waker):
    """
    Each time again.
    """
    for _ in range(100):
        thread = threading.Thread(target=waker.wake)
        thread.start()
        waker.wait(FOR_EVER)
        thread.join()


def test_whoever_changes_something_and_wakes_is_seen(waker):
    """
    Threads that count and wake, and a waiter that looks after every wait: it sees all of it.
    """
    counts, each = [0] * 4, 2000

    def count(place):
        for _ in range(each):
            counts[place] += 1
            waker.wake()

    threads = [threading.Thread(target=count, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    while sum(counts) < 4 * each:
        waker.wait(FOR_EVER)
    for thread in threads:
        thread.join()

    assert [each] * 4 == counts


def test_a_signal_before_the_wait_ends_it(waker, handled):
    """
    Also one whose handler wakes nobody.
    """
    signal.raise_signal(signal.SIGUSR1)
    waker.wait(FOR_EVER)

    assert [signal.SIGUSR1] == handled


def test_a_signal_during_the_wait_ends_it(waker, handled):
    """
    The handler runs at once, not when the wait is over.
    """
    thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1))
    thread.start()
    while not handled:
        waker.wait(FOR_EVER)
    thread.join()

    assert [signal.SIGUSR1] == handled


@pytest.mark.parametrize("wait", [True, False])
def test_what_was_there_before_gets_its_signals(ends, handled, wait):
    """
    The descriptor is put back, and what came meanwhile is written to it, be it a socket or a pipe.
    """
    reading, writing = ends
    signal.set_wakeup_fd(writing)
    try:
        with Waker() as waker:
            signal.raise_signal(signal.SIGUSR1)
            waker.wake()
            if wait:
                waker.wait(FOR_EVER)
        between = signal.set_wakeup_fd(writing)
    finally:
        signal.set_wakeup_fd(-1)

    assert writing == between
    assert bytes([signal.SIGUSR1]) == os.read(reading, 16)


def test_nothing_is_written_when_nothing_came(ends):
    """
    A wake of one's own is nobody else's business.
    """
    reading, writing = ends
    signal.set_wakeup_fd(writing)
    try:
        with Waker() as waker:
            waker.wake()
    finally:
        signal.set_wakeup_fd(-1)

    with pytest.raises(BlockingIOError):
        os.read(reading, 16)


def test_what_was_there_before_may_be_closed():
    """
    Its owner may have closed it meanwhile.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    usual = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    try:
        with Waker():
            signal.raise_signal(signal.SIGUSR1)
            os.close(reading)
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGUSR1, usual)
        os.close(writing)


def test_on_another_thread_the_descriptor_is_left_alone(ends):
    """
    Python allows it on the main thread only.
    """
    _, writing = ends
    signal.set_wakeup_fd(writing)
    worked = []

    def work():
        with Waker() as waker:
            waker.wake()
            waker.wait(FOR_EVER)
            worked.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert writing == signal.set_wakeup_fd(-1)
    assert [True] == worked


def test_a_wake_after_the_end_does_nothing():
    """
    A thread that comes late finds nobody.
    """
    with Waker() as waker:
        pass
    waker.wake()


def test_waits_end_by_themselves(waker):
    """
    After the time, or at once when that is over; longer than a system can wait is no fault.
    """
    waker.wait(0.001)
    waker.wait(-5.0)
    waker.wake()
    waker.wait(float("inf"))
