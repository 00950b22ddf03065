"""
The gates alone.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import Barrier, GateView, LagGate, Reservations
from headway.errors import OptionError

sizes = st.integers(0, 40)


@given(st.integers(1, 9), st.integers(0, 9), st.integers(1, 9), sizes, sizes, st.data())
def test_the_lag_gate_admits_below_its_bound_and_its_workers(n, ratio, batch, flying, cards, data):
    """
    Exactly then: workers free, and in flight and undecided together below the capacity.
    """
    gate = LagGate(n_workers=n, async_ratio=ratio, batch=batch)
    running = data.draw(st.integers(0, flying))
    view = GateView(running=running, in_flight=flying, undecided=cards)
    bound = n + ratio + batch - 1

    assert bound == gate.capacity
    assert (running < n and flying + cards < bound) == gate.admit(view)
    assert (flying + cards <= bound) == gate.within_bound(view)


@given(st.integers(1, 9), st.integers(0, 9), st.integers(1, 20))
def test_a_whole_batch_fits_below_the_bound(n, ratio, batch):
    """
    With one card less than a batch, and nothing in flight, a rollout may start.
    """
    gate = LagGate(n_workers=n, async_ratio=ratio, batch=batch)

    assert gate.admit(GateView(undecided=batch - 1, waiting=batch - 1, held=batch - 1))


@pytest.mark.parametrize(
    ("resync", "held", "head", "base"),
    [
        ("commit", 3, 3, 3),
        ("commit", 3, 4, 4),
        ("lag", 3, 4, 3),
        ("lag", 3, 5, 3),
        ("lag", 3, 6, 6),
        ("lag", 0, 9, 9),
    ],
)
def test_a_worker_is_refreshed_beyond_the_ratio_or_at_once(resync, held, head, base):
    """
    The drift at a rollout's start is at most the ratio, here 2.
    """
    assert base == LagGate(n_workers=1, async_ratio=2, resync=resync).base(held, head)


def test_a_ratio_of_nothing_refreshes_whenever_the_head_moved():
    """
    Under both ways of refreshing.
    """
    for resync in ("commit", "lag"):
        assert 4 == LagGate(n_workers=1, async_ratio=0, resync=resync).base(3, 4)


TAKES = {
    "nothing": ({}, False),
    "a whole batch": ({"waiting": 3, "held": 3}, True),
    "a whole batch while a sweep is open": ({"waiting": 3, "held": 3, "sweeping": True}, True),
    "less than a batch that has waited, while a sweep is open": (
        {"waiting": 1, "held": 4, "finished": 8, "sweeping": True},
        True,
    ),
    "what is left when it is quiet and a sweep is open": (
        {"waiting": 1, "held": 4, "sweeping": True, "quiet": True},
        False,
    ),
    "what is left while draining and a sweep is open": (
        {"waiting": 1, "held": 4, "sweeping": True, "draining": True},
        False,
    ),
    "nothing new while a sweep is open": ({"held": 4, "finished": 8, "sweeping": True}, False),
    "less than a batch": ({"waiting": 2, "held": 2, "in_flight": 1}, False),
    "less than a batch, nothing in flight": ({"waiting": 2, "held": 2}, False),
    "less than a batch that has waited": ({"waiting": 2, "held": 2, "finished": 8}, True),
    "less than a batch that has waited a little": ({"waiting": 2, "held": 2, "finished": 7}, False),
    "carried cards alone": ({"held": 5, "finished": 99}, False),
    "carried cards alone when it is quiet": ({"held": 5, "quiet": True}, True),
    "one card when it is quiet": ({"waiting": 1, "held": 1, "quiet": True}, True),
    "nothing when it is quiet": ({"quiet": True}, False),
    "one card while draining": ({"waiting": 1, "held": 1, "draining": True}, True),
    "one card while draining and flying": (
        {"waiting": 1, "held": 1, "draining": True, "in_flight": 1},
        False,
    ),
    "a batch while draining and flying": (
        {"waiting": 3, "held": 3, "draining": True, "in_flight": 1},
        True,
    ),
}


@pytest.mark.parametrize("name", TAKES)
def test_the_lag_gate_lets_a_sweep_take(name):
    """
    Batch 3, 4 workers, 2 waiting rounds: eight finished rollouts are patience enough.
    """
    view, expected = TAKES[name]
    gate = LagGate(n_workers=4, async_ratio=2, batch=3, max_wait_rounds=2)

    assert expected == gate.take(GateView(**view))


def test_a_barrier_admits_one_round():
    """
    And the next one when the endings of this one were applied.
    """
    gate = Barrier(n_workers=9, round_size=3)
    for _ in range(2):
        for _ in range(3):
            assert gate.admit(GateView())
            gate.admitted()
        assert not gate.admit(GateView())
        gate.applied()


@pytest.mark.parametrize(
    "view", [{"sweeping": True}, {"undecided": 1}, {"running": 2}, {"running": 3}]
)
def test_a_barrier_admits_nothing_beside_a_sweep_or_a_new_card(view):
    """
    Nor more at once than there are workers.
    """
    assert not Barrier(n_workers=2, round_size=9).admit(GateView(**view))


def test_a_barrier_takes_what_a_whole_round_brought():
    """
    Not while anything flies; carried cards alone make no sweep before the end.
    """
    gate = Barrier(n_workers=2, round_size=3)

    assert gate.take(GateView(waiting=1, held=1))
    assert not gate.take(GateView(waiting=1, held=1, in_flight=1))
    assert not gate.take(GateView(waiting=1, held=1, sweeping=True))
    assert not gate.take(GateView(held=1))
    assert gate.take(GateView(held=1, draining=True))
    assert gate.take(GateView(held=1, quiet=True))
    assert not gate.take(GateView(quiet=True))


def test_a_barrier_has_no_lag():
    """
    Every base is the head, and a round is the bound.
    """
    gate = Barrier(n_workers=2, round_size=3)

    assert 5 == gate.base(1, 5)
    assert gate.within_bound(GateView(in_flight=2, undecided=1))
    assert not gate.within_bound(GateView(in_flight=2, undecided=2))


BAD = [
    (LagGate, {"n_workers": 0, "async_ratio": 1}, "n_workers"),
    (LagGate, {"n_workers": 1, "async_ratio": -1}, "async_ratio"),
    (LagGate, {"n_workers": 1, "async_ratio": 1.5}, "async_ratio"),
    (LagGate, {"n_workers": 1, "async_ratio": 1, "batch": 0}, "batch"),
    (LagGate, {"n_workers": 1, "async_ratio": 1, "max_wait_rounds": -1}, "max_wait_rounds"),
    (LagGate, {"n_workers": 1, "async_ratio": 1, "resync": "never"}, "resync"),
    (Barrier, {"n_workers": True, "round_size": 1}, "n_workers"),
    (Barrier, {"n_workers": 1, "round_size": 0}, "round_size"),
]


@pytest.mark.parametrize(("gate", "options", "named"), BAD)
def test_bad_options_are_refused(gate, options, named):
    """
    The error names the option.
    """
    with pytest.raises(OptionError, match=named):
        gate(**options)


@pytest.mark.parametrize(
    ("price", "expected"), [(0.0, 2), (1.9, 2), (2.1, 3), (6.0, 6), (6.1, 6), (1e9, 6)]
)
def test_a_batch_grows_with_the_price_of_a_candidate(price, expected):
    """
    From the smallest to the largest; so many cards are taken, and fit below what is admitted.
    """
    gate = LagGate(n_workers=1, async_ratio=0, batch=2, most_batch=6)
    views = [GateView(waiting=n, held=n, undecided=n, price=price) for n in range(8)]

    assert [n >= expected for n in range(8)] == [gate.take(view) for view in views]
    assert [n < expected for n in range(8)] == [gate.admit(view) for view in views]
    assert gate.within_bound(GateView(undecided=6))
    assert not gate.within_bound(GateView(undecided=7))


def test_a_batch_that_is_given_does_not_grow():
    """
    Whatever a candidate costs.
    """
    gate = LagGate(n_workers=1, batch=2)

    assert 2 == gate.wants(GateView(price=50.0))


@pytest.mark.parametrize(
    ("gate", "priced"),
    [
        (LagGate(n_workers=1, async_ratio=0, batch=2), False),
        (LagGate(n_workers=1, async_ratio=0, batch=2, most_batch=2), False),
        (LagGate(n_workers=1, async_ratio=0, batch=2, most_batch=1), False),
        (LagGate(n_workers=1, async_ratio=0, batch=2, most_batch=3), True),
        (Barrier(n_workers=1, round_size=2), False),
        (Reservations(groups_per_step=1, max_staleness=1, admit_ahead=1), False),
    ],
)
def test_who_says_so_looks_at_the_price(gate, priced):
    """
    And nobody else, so that nobody need work it out for them.
    """

    def answers(price):
        views = [GateView(waiting=n, held=n, undecided=n, price=price) for n in range(5)]
        return [(gate.admit(view), gate.take(view)) for view in views]

    assert priced == gate.priced == (answers(0.0) != answers(9.0))


def test_the_largest_batch_is_no_smaller_than_the_smallest():
    """
    What is below counts as the smallest.
    """
    gate = LagGate(n_workers=1, async_ratio=0, batch=3, most_batch=2)

    assert (3, 3) == (gate.wants(GateView(price=9.0)), gate.capacity)
