"""
Tests of the built-in samplers.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.builtins._sampler import ShuffledEpochs, UnsolvedEpochs
from headway.contracts import Sampler, TaskBook
from headway.errors import UsageError

TRAIN = tuple(f"t{i}" for i in range(7))


def book(drawn=0, *, train=TRAIN, retry=(), seed=7, solved=()):
    return TaskBook(train=train, drawn=drawn, retry=retry, seed=seed, solved=frozenset(solved))


def draws(count, *, sampler=None, **more):
    sampler = sampler or ShuffledEpochs()
    return [sampler.pick(book(i, **more)) for i in range(count)]


def test_every_epoch_has_every_task_once():
    """
    Three epochs: each a permutation, no two alike.
    """
    picked = draws(21)
    epochs = [tuple(picked[i : i + 7]) for i in (0, 7, 14)]

    assert [sorted(TRAIN)] * 3 == [sorted(epoch) for epoch in epochs]
    assert 3 == len(set(epochs))


def test_a_task_to_be_retried_comes_first_and_takes_no_place():
    """
    The oldest first; the epoch goes on where it was.
    """
    sampler = ShuffledEpochs()
    before = sampler.pick(book(3))

    assert "t5" == sampler.pick(book(3, retry=("t5", "t1")))
    assert before == sampler.pick(book(3))


def test_orders_depend_on_the_seed():
    """
    Equal seeds, equal orders; another seed, another order.
    """
    assert draws(14) == draws(14)
    assert draws(14) != draws(14, seed=8)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=30))
def test_picks_depend_on_the_book_alone(asked):
    """
    Whatever was asked before, in whatever order, a book has one answer.
    """
    old = ShuffledEpochs()

    assert [ShuffledEpochs().pick(book(drawn, seed=seed)) for drawn, seed in asked] == [
        old.pick(book(drawn, seed=seed)) for drawn, seed in asked
    ]


def test_another_set_of_tasks_is_another_order():
    """
    The order that is kept is not mistaken for that of other tasks.
    """
    sampler = ShuffledEpochs()
    draws(7, sampler=sampler)

    assert draws(3, train=("a", "b", "c")) == draws(3, train=("a", "b", "c"), sampler=sampler)


def test_no_training_task_is_the_callers_error():
    """
    Said in words, not as a division by zero.
    """
    with pytest.raises(UsageError, match="no training task"):
        ShuffledEpochs().pick(book(train=()))


def test_it_keeps_its_contract():
    """
    It is a sampler.
    """
    assert isinstance(ShuffledEpochs(), Sampler)


def test_solved_tasks_are_left_out():
    """
    Each of the others comes as often as any other, in every epoch.
    """
    sampler = UnsolvedEpochs()
    picked = draws(21, sampler=sampler, solved=("t0", "t2", "t3", "t5"))

    assert dict.fromkeys(("t1", "t4", "t6"), 7) == Counter(picked)


@pytest.mark.parametrize("solved", [(), TRAIN], ids=["none", "all"])
def test_every_task_takes_its_turn_when_none_is_left_out(solved):
    """
    With nothing solved, and with everything, the sampler is the one that shuffles.
    """
    assert draws(21) == draws(21, sampler=UnsolvedEpochs(), solved=solved)


@given(st.lists(st.tuples(st.integers(0, 20), st.sets(st.sampled_from(TRAIN))), max_size=20))
def test_picks_among_the_unsolved_depend_on_the_book_alone(asked):
    """
    Whatever was asked before, a book has one answer.
    """
    sampler = UnsolvedEpochs()
    books = [book(drawn, solved=solved) for drawn, solved in asked]

    assert [UnsolvedEpochs().pick(b) for b in books] == [sampler.pick(b) for b in books]
