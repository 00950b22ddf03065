"""
Tests of the built-in executor.
"""

from __future__ import annotations

import threading

import pytest

from headway.builtins._executor import ThreadExecutor
from headway.contracts import Executor


def test_work_runs_on_the_thread_that_asks():
    """
    No hand-over: the work sees the asking thread.
    """
    executor = ThreadExecutor()

    assert threading.get_ident() == executor.run(threading.get_ident)


def test_answers_and_errors_come_through_unchanged():
    """
    What the function returns is returned, what it raises is raised.
    """
    executor = ThreadExecutor()
    error = ValueError("no ink")

    def fail():
        raise error

    assert (3, 1) == executor.run(divmod, 7, 2)
    with pytest.raises(ValueError, match="no ink") as caught:
        executor.run(fail)
    assert error is caught.value


def test_it_keeps_its_contract():
    """
    Closing it twice is harmless.
    """
    executor = ThreadExecutor()
    executor.close()
    executor.close()

    assert isinstance(executor, Executor)
