"""
An optimizer that learns from outcomes may say how old they may be.
"""

import pytest

from groups import Better, Slope, options
from headway import run
from headway.errors import OptionError


class Careful(Better):
    """As the other, and it bears no outcome that is more than one update old."""

    max_lag = 1


def ran(bound, **more):
    given = {"mode": "async", "max_staleness": bound, "admit_ahead": bound, "driver": "simulated"}
    return run(Slope(), aggregator=Careful(), **options(**{**given, **more}))


def test_a_run_that_would_let_outcomes_grow_older_is_refused():
    """The refusal names the bound of both; nothing is run."""
    with pytest.raises(OptionError, match="max_staleness=2: The aggregator bears at most 1"):
        ran(2)


def test_what_it_bears_runs():
    """At its bound, and in sync mode, whatever max_staleness says."""

    assert ["updates"] * 2 == [ran(1).stop_reason, ran(2, mode="sync", admit_ahead=1).stop_reason]


def test_a_bound_that_is_none_is_refused(monkeypatch):
    """It is a whole number, as every count is."""
    monkeypatch.setattr(Careful, "max_lag", -1)
    with pytest.raises(OptionError, match="max_lag=-1"):
        ran(1)
