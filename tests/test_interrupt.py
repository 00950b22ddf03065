"""
Tests of ``headway.drivers._interrupt``: who is asked, and when.
"""

from __future__ import annotations

import signal
import threading

import pytest

from headway.drivers import Interrupt, catching_signals
from headway.drivers import _interrupt as module


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


def test_a_program_that_handles_ctrl_c_itself_goes_on_doing_so(monkeypatch):
    """
    The library takes over the interpreter's own handler only.
    """
    caught = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
    try:
        with catching_signals() as interrupt:
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, usual)

    assert [signal.SIGINT] == caught
    assert interrupt.number is None


def test_on_another_thread_nothing_is_caught():
    """
    Python allows handlers on the main thread only.
    """
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work():
        with catching_signals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert [before] == seen
