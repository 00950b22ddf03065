"""
The evidence buffer alone.
"""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headway import EvidenceBuffer
from headway.contracts import Card


def card(number, **more):
    return Card(number=number, tickets=(number,), task="t", base=0, diff=None, digest="", **more)


def filled(*numbers):
    buffer = EvidenceBuffer()
    for number in numbers:
        buffer.put(card(number))
    return buffer


def counts(buffer):
    """
    (waiting, undecided, carried, held)
    """
    statistics = buffer.statistics()
    return statistics.waiting, statistics.undecided, statistics.carried, len(buffer)


def test_a_lease_takes_all_that_waits_oldest_first():
    """
    And says how many are taken for the first time.
    """
    buffer = filled(3, 1, 2)
    cards, first = buffer.lease()

    assert [1, 2, 3] == [c.number for c in cards]
    assert 3 == first
    assert (0, 3, 0, 3) == counts(buffer)
    assert ((), 0) == buffer.lease()


def test_a_card_that_was_given_back_is_not_first_again():
    """
    It waits again, and the next lease takes it together with what is new.
    """
    buffer = filled(0, 1)
    buffer.lease()
    buffer.give_back([1])
    buffer.put(card(2))
    cards, first = buffer.lease()

    assert [1, 2] == [c.number for c in cards]
    assert 1 == first
    assert buffer.seen(1)


def test_carried_cards_stand_beside_the_others():
    """
    They are held, marked, and neither waiting nor undecided; also when they are leased again.
    """
    buffer = filled(0, 1)
    buffer.lease()
    buffer.carry([0])

    assert (0, 1, 1, 2) == counts(buffer)
    cards, first = buffer.lease()
    assert [(0, True)] == [(c.number, c.carried) for c in cards]
    assert 0 == first
    buffer.give_back([0, 1])
    assert (1, 1, 1, 2) == counts(buffer)
    assert (0,) == buffer.carried
    buffer.settle(0)
    assert (1, 1, 0, 1) == counts(buffer)


def test_settling_lets_a_card_go_for_good():
    """
    From wherever it is; afterwards nothing is known about it.
    """
    buffer = filled(0, 1, 2)
    buffer.settle(0)
    buffer.lease()

    assert card(1) == buffer.settle(1)
    assert not buffer.seen(1)
    assert (0, 1, 0, 1) == counts(buffer)
    assert (3, 2) == (buffer.statistics().put, buffer.statistics().settled)
    assert (2,) == buffer.held


def test_an_update_replaces_what_is_leased():
    """
    Only that.
    """
    buffer = filled(0)
    with pytest.raises(KeyError):
        buffer.update(card(0, eta=1))
    buffer.lease()
    buffer.update(card(0, eta=1))

    assert (card(0, eta=1),) == buffer.leased


def test_misuse_is_refused():
    """
    A card is put in once; what is not held cannot be settled, given back or carried.
    """
    buffer = filled(0)
    with pytest.raises(ValueError, match="card 0 is in the buffer already"):
        buffer.put(card(0))
    for method in (buffer.settle, lambda n: buffer.give_back([n]), lambda n: buffer.carry([n])):
        with pytest.raises(KeyError):
            method(7)

    assert (1, 1, 0, 1) == counts(buffer)


class Model(RuleBasedStateMachine):
    """
    The buffer against three plain sets.
    """

    def __init__(self):
        super().__init__()
        self.buffer = EvidenceBuffer()
        self.waiting, self.leased, self.carried, self.seen = set(), set(), set(), set()
        self.number = self.gone = 0

    @rule()
    def put(self):
        self.buffer.put(card(self.number))
        self.waiting.add(self.number)
        self.number += 1

    @rule()
    def lease(self):
        cards, first = self.buffer.lease()

        assert sorted(self.waiting) == [c.number for c in cards]
        assert len(self.waiting - self.seen) == first
        assert {c.number for c in cards if c.carried} == self.carried & self.waiting
        self.seen |= self.waiting
        self.leased |= self.waiting
        self.waiting = set()

    def some(self, data, numbers):
        return data.draw(st.sets(st.sampled_from(sorted(numbers)), min_size=1))

    @precondition(lambda self: self.leased)
    @rule(data=st.data())
    def give_back(self, data):
        numbers = self.some(data, self.leased)
        self.buffer.give_back(numbers)
        self.leased -= numbers
        self.waiting |= numbers

    @precondition(lambda self: self.leased)
    @rule(data=st.data())
    def carry(self, data):
        numbers = self.some(data, self.leased)
        self.buffer.carry(numbers)
        self.leased -= numbers
        self.waiting |= numbers
        self.carried |= numbers

    @precondition(lambda self: self.leased | self.waiting)
    @rule(data=st.data())
    def settle(self, data):
        number = data.draw(st.sampled_from(sorted(self.leased | self.waiting)))

        assert number == self.buffer.settle(number).number
        for numbers in (self.leased, self.waiting, self.carried, self.seen):
            numbers.discard(number)
        self.gone += 1

    @invariant()
    def counts_are_those_of_the_model(self):
        held = self.waiting | self.leased

        assert tuple(sorted(held)) == self.buffer.held
        assert sorted(self.leased) == [c.number for c in self.buffer.leased]
        assert tuple(sorted(self.carried)) == self.buffer.carried
        assert len(self.waiting - self.carried) == self.buffer.waiting
        assert len(held - self.carried) == self.buffer.undecided
        assert [n in self.seen for n in self.buffer.held] == list(
            map(self.buffer.seen, self.buffer.held)
        )
        statistics = self.buffer.statistics()
        assert self.number == statistics.put == statistics.settled + len(self.buffer)


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=60, stateful_step_count=30)
