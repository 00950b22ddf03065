"""
The contract of its kind, and what only this one does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import pytest

from headway._templates.sampler import NewcomerSampler
from headway.contracts import TaskBook
from headway.testing.conformance import SamplerContract


class TestNewcomerSampler(SamplerContract):
    """
    What every sampler must do; this one keeps to the order of the tasks, whatever the seed.
    """

    seeded: ClassVar[bool] = False

    @pytest.fixture
    def make(self) -> Callable[[], NewcomerSampler]:
        """
        A function that makes a new one.
        """
        return NewcomerSampler


def test_the_first_unsolved_tasks_take_turns() -> None:
    """
    Two at a time; what failed comes first, and when nothing is known all take turns.
    """
    sampler, tasks = NewcomerSampler(width=2), ("a", "b", "c", "d")
    book = partial(TaskBook, train=tasks, seed=0)
    known = [book(drawn=n, retry=(), solved=frozenset("a")) for n in range(4)]
    unknown = [book(drawn=n, retry=()) for n in range(4)]

    assert ["b", "c", "b", "c"] == [sampler.pick(one) for one in known]
    assert ["a", "b", "c", "d"] == [sampler.pick(one) for one in unknown]
    assert "d" == sampler.pick(book(drawn=0, retry=("d",)))
