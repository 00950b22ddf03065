"""
When the backend is left alone, and for how long.
"""

from __future__ import annotations

import pytest

from headway.machine import BEARABLE
from headway.machine._backoff import (
    FIRST_PAUSE,
    LONGEST_ASKED,
    LONGEST_COLD_PAUSE,
    LONGEST_PAUSE,
    Backoff,
)


def backoff(*proven):
    made = Backoff()
    for kind in proven:
        made.worked(kind)
    return made


def fail(backoff, call, *, now=0.0, next_call=None, at_once=1, kind="rollout", retry_after=None):
    return backoff.failed(
        call,
        kind=kind,
        now=now,
        next_call=call + 1 if next_call is None else next_call,
        at_once=at_once,
        retry_after=retry_after,
    )


def test_a_few_failures_are_no_streak():
    """Up to three in a row begin no pause."""
    made = backoff("rollout")
    told = [fail(made, call) for call in range(BEARABLE)]

    assert [False] * BEARABLE == told
    assert (0.0, False) == (made.until, made.failing)


@pytest.mark.parametrize("at_once", [1, 4, 12])
def test_a_streak_is_longer_than_what_runs_at_once(at_once):
    """The first pause begins with one failure more, and is told once."""
    made = backoff("rollout")
    most = max(BEARABLE, at_once)
    told = [fail(made, call, at_once=at_once) for call in range(most + 1)]

    assert [False] * most + [True] == told
    assert FIRST_PAUSE == made.until


def test_the_end_of_a_round_is_no_outage():
    """
    The calls of a round that fail one after the other are fewer and fewer: what counts is how many
    they were, until one succeeds.
    """
    made = backoff("rollout")
    round_of_eight = [fail(made, call, at_once=8 - call) for call in range(8)]
    assert ([False] * 8, 0.0) == (round_of_eight, made.until)
    assert fail(made, 8, at_once=1)

    made.worked("rollout")
    few = [fail(made, call, at_once=1) for call in range(20, 20 + BEARABLE + 1)]
    assert [False] * BEARABLE + [True] == few


def test_a_success_begins_the_count_again():
    """Failures that are not in a row never begin a pause."""
    made = backoff("rollout")
    for call in range(0, 100, 2):
        fail(made, call)
        made.worked("rollout")

    assert (0.0, False) == (made.until, made.failing)


def test_pauses_double_up_to_a_bound():
    """Each failed trial begins a pause twice as long; nothing is told any more."""
    made = backoff("rollout")
    for call in range(BEARABLE + 1):
        fail(made, call)
    told = [fail(made, call, now=100.0 * call) for call in range(10, 18)]
    pauses = [FIRST_PAUSE * 2**n for n in range(1, 9)]
    fail(made, 20, now=5000.0)

    assert not any(told)
    assert 5000.0 + LONGEST_PAUSE == made.until
    assert max(pauses) > LONGEST_PAUSE


def test_a_wave_is_one_step():
    """Failures of calls that began before the last pause lengthen nothing."""
    made = backoff("rollout")
    for call in range(BEARABLE + 1):
        fail(made, call, next_call=20)
    until = made.until
    for call in range(BEARABLE + 1, 20):
        fail(made, call, now=1.0, next_call=20)

    assert until == made.until


def test_what_never_worked_is_found_out_fast():
    """Pauses stay short while no call of the kind has succeeded."""
    made = backoff("measure")
    for call in range(30):
        fail(made, call)

    assert LONGEST_COLD_PAUSE == made.until


@pytest.mark.parametrize("asked", [0.0, 5.0, 1e9])
def test_the_backend_is_believed(asked):
    """At the first failure that says so, up to an hour; a success changes nothing about it."""
    made = backoff("rollout")
    fail(made, 0, now=10.0, retry_after=asked)
    made.worked("rollout")

    assert 10.0 + min(asked, LONGEST_ASKED) == made.until
    assert not made.failing


def test_an_outage_is_seen_by_rollouts():
    """Measurements alone may fail because of what they measure."""
    made = backoff("rollout")
    for call in range(BEARABLE + 1):
        fail(made, call, kind="measure")
    before = made.outage
    fail(made, 10)

    assert (False, True) == (before, made.outage)


def test_a_streak_has_one_trial():
    """Only what begins in a streak is a trial, and an answer ends both."""
    made = backoff("rollout")
    made.started(0)
    none = made.trial
    for call in range(BEARABLE + 1):
        fail(made, call)
    made.started(7)
    trial = made.trial
    made.answered()

    assert (None, 7, None) == (none, trial, made.trial)
