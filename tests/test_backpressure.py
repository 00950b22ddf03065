"""
Backpressure alone.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import Backpressure
from headway.errors import OptionError

STALE, COMMITTED, NEITHER = (
    {"committed": 0, "stale": 1},
    {"committed": 1, "stale": 1},
    {
        "committed": 0,
        "stale": 0,
    },
)


def fires(pressure, *sweeps):
    return [pressure.swept(**sweep) for sweep in sweeps]


def test_stale_sweeps_in_a_row_ask_for_a_refresh():
    """
    At the last one of ``stall_patience``, and then the count begins again.
    """
    pressure = Backpressure(stall_patience=3)

    assert [False, False, True] * 2 == fires(pressure, *[STALE] * 6)


def test_a_commit_is_progress():
    """
    Also when cards of the same sweep were stale.
    """
    pressure = Backpressure(stall_patience=2)

    assert [False, False, False, True] == fires(pressure, STALE, COMMITTED, STALE, STALE)


def test_a_sweep_that_is_neither_changes_nothing():
    """
    Ordinary rejection is no stall, and no progress.
    """
    pressure = Backpressure(stall_patience=2)

    assert [False] * 50 == fires(pressure, *[NEITHER] * 50)
    assert [False, False, True] == fires(pressure, STALE, NEITHER, STALE)


@given(
    st.lists(st.sampled_from([STALE, COMMITTED, NEITHER]), max_size=60),
    st.integers(1, 5),
)
def test_a_refresh_is_asked_for_once_every_so_many_stale_sweeps(sweeps, patience):
    """
    Against the definition: the stale sweeps since the last commit, in groups of ``patience``.
    """
    pressure, expected, count = Backpressure(stall_patience=patience), [], 0
    for sweep in sweeps:
        count = 0 if sweep is COMMITTED else count + (sweep is STALE)
        expected.append(sweep is STALE and count % patience == 0)

    assert expected == fires(pressure, *sweeps)


@pytest.mark.parametrize(("limit", "expected"), [(0, (4, 7, 9)), (1, (4, 7)), (3, ()), (32, ())])
def test_the_oldest_beyond_the_limit_go(limit, expected):
    """
    As many as are too many.
    """
    assert expected == Backpressure(carry_limit=limit).overflow((4, 7, 9))


@pytest.mark.parametrize(
    "options",
    [{"stall_patience": 0}, {"stall_patience": 1.5}, {"carry_limit": -1}, {"carry_limit": True}],
)
def test_bad_options_are_refused(options):
    """
    The error names the option.
    """
    with pytest.raises(OptionError, match=next(iter(options))):
        Backpressure(**options)
