"""
Tests of the samplers that know what a round is.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.builtins._rounds import DataParallel, Ensemble
from headway.contracts import TaskBook
from headway.errors import OptionError

NAMES = tuple("abcdefghij")


def drawn(sampler, train, count, seed=0):
    return [sampler.pick(TaskBook(train, n, (), seed)) for n in range(count)]


@given(size=st.integers(1, 10), window=st.integers(1, 10), seed=st.integers(0, 99))
def test_a_round_of_data_parallel_rollouts_shares_no_task(size, window, seed):
    """
    Any draws in a row differ, up to the number of tasks, and all tasks come equally often.
    """
    train = NAMES[:size]
    names = drawn(DataParallel(window=window), train, 4 * size, seed)

    for n in range(3 * size):
        assert size == len(set(names[n : n + size]))


@given(size=st.integers(1, 10), window=st.integers(1, 10), seed=st.integers(0, 99))
def test_a_round_of_an_ensemble_shares_one_task(size, window, seed):
    """
    And so many rounds as there are tasks use each once.
    """
    train = NAMES[:size]
    names = drawn(Ensemble(window=window), train, size * window, seed)
    rounds = [names[n : n + window] for n in range(0, len(names), window)]

    assert all(1 == len(set(tasks)) for tasks in rounds)
    assert set(train) == {tasks[0] for tasks in rounds}


def test_a_task_to_be_retried_comes_first():
    """
    In either.
    """
    book = TaskBook(NAMES, 3, ("j", "a"), 0)

    assert ["j", "j"] == [sampler.pick(book) for sampler in (DataParallel(), Ensemble())]


@pytest.mark.parametrize("sampler", [DataParallel, Ensemble])
def test_a_round_has_at_least_one_rollout(sampler):
    """
    As everywhere.
    """
    with pytest.raises(OptionError, match="window=0"):
        sampler(window=0)
