"""
The contract of its kind, and what only this one does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from headway._templates.executor import NewcomerExecutor
from headway.testing.conformance import ExecutorContract


class TestNewcomerExecutor(ExecutorContract):
    """
    What every executor must do.
    """

    @pytest.fixture
    def make(self) -> Callable[[], NewcomerExecutor]:
        """
        A function that makes a new one.
        """
        return NewcomerExecutor


def test_no_more_calls_than_the_limit_run_at_once() -> None:
    """
    Of twelve threads that ask together, three run at a time.
    """
    executor = NewcomerExecutor(limit=3)
    lock, seen = threading.Lock(), [0, 0]

    def count(step: int) -> None:
        with lock:
            seen[0] += step
            seen[1] = max(seen)

    def work() -> None:
        count(1)
        full.wait(10)  # until as many run as may
        count(-1)

    full = threading.Barrier(3)
    threads = [threading.Thread(target=executor.run, args=(work,)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [0, 3] == seen
