"""
Tests of the thread that keeps a real run's time: no alarm is missed, and no lock is waited for.
"""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from math import inf
from time import monotonic
from types import SimpleNamespace

import attrs
import pytest

from headway.drivers._interrupt import Interrupt
from headway.drivers._recovery import TakenUp
from headway.drivers.concurrent import NO_CALL, ConcurrentRun
from headway.machine import Finish, Tick

NOW = 10.0
TIMES = (None, 5.0, NOW, 12.0, 15.0)
"""Alarms around now: none, long over, just now, and two that are to come."""


@attrs.frozen
class Set:
    """
    Something that happened and moves the alarm.
    """

    now: float
    alarm: float | None


@attrs.define(eq=False, slots=False)
class Alarms:
    """
    Stands for an engine: nothing but an alarm that each event moves, and a ``Tick`` that takes it.

    Args:
        wake_at: The first one.
        next_alarm: Given the time of a ``Tick`` that was due, says when the next one is.
        left: After how many of those the run ends.
    """

    wake_at: float | None = None
    next_alarm: object = lambda now: None
    left: float = inf
    seen: Counter = attrs.field(factory=Counter)
    opening = after = None
    finished = False

    def __attrs_post_init__(self):
        self.machine = self
        self.halted_at, self.config = None, SimpleNamespace(shutdown_grace=0.0)
        self.tell = SimpleNamespace(wanted=False)
        self.bench = SimpleNamespace(coroutines=frozenset(), over=False)

    def recorder(self, notice):
        pass

    def settle_journal(self, *, urgent=False):
        pass

    def handle(self, event):
        self.seen[type(event)] += 1
        if isinstance(event, Set):
            self.wake_at = event.alarm
        elif self.wake_at is not None and self.wake_at <= event.now:
            self.seen["due"] += 1
            self.wake_at = self.next_alarm(event.now)
        self.finished = self.seen["due"] >= self.left
        return [Finish("max_iters")] if self.finished else []


@contextmanager
def still(alarms):
    """
    A run whose clock stands still at ``NOW``.
    """
    run = ConcurrentRun(engine=alarms, now=lambda: NOW)
    with run._waker:
        yield run


def put(run, alarm):
    """
    What any thread does that has an answer.
    """
    run._arrive((Set(NOW, alarm), None, NO_CALL))


def looked(run, *, before_line, meanwhile):
    """
    What the timekeeper comes to when something happens just before its n-th line; also how many
    lines it has had.
    """
    lines = 0

    def trace(frame, what, argument):
        nonlocal lines
        if frame.f_code is not ConcurrentRun._until_alarm.__code__:
            return None
        if what == "line":
            if lines == before_line:
                meanwhile()
            lines += 1
        return trace

    usual = sys.gettrace()
    sys.settrace(trace)
    try:
        wait = run._until_alarm()
    finally:
        sys.settrace(usual)
    return wait, lines


@pytest.mark.parametrize("before", TIMES)
@pytest.mark.parametrize("after", TIMES)
def test_an_alarm_that_moves_while_it_is_looked_at_is_not_missed(before, after):
    """
    Wherever the other thread comes between: the wait ends by then, or it has been woken.
    """
    moment, lines = 0, 1
    while moment < lines:
        with still(Alarms(before)) as run:
            wait, lines = looked(run, before_line=moment, meanwhile=lambda run=run: put(run, after))
        moment += 1
        due = run.engine.wake_at

        assert run._waker._woken or due is None or NOW + wait <= due
        assert not run._arrivals
    assert lines >= 4


@pytest.mark.parametrize("due", TIMES[1:3])
def test_a_tick_is_left_to_whoever_feeds_the_machine(due):
    """
    One only, for which nobody waits; whoever feeds it wakes when an alarm is left.
    """
    with still(Alarms(due, next_alarm=lambda now: now + 1.0)) as run:
        with run._lock:
            wait = run._until_alarm()
            left = len(run._arrivals)
        told_early = run._waker._woken
        run._feed(None)

    assert (inf, 1, False) == (wait, left, told_early)
    assert (1, True) == (run.engine.seen[Tick], run._waker._woken)
    assert 1.0 == run._until_alarm()


def test_ones_own_tick_wakes_nobody():
    """
    Who fed the machine itself looks again at once, as often as an alarm is due.
    """
    later = iter((6.0, 9.0, NOW, 11.0))
    with still(Alarms(5.0, next_alarm=lambda now: next(later))) as run:
        wait = run._until_alarm()

    assert 1.0 == wait
    assert (4, False) == (run.engine.seen[Tick], run._waker._woken)


def test_a_run_that_breaks_at_a_tick_keeps_no_time():
    """
    Its alarm stays due; nobody is left to take it.
    """

    def fault(now):
        raise ArithmeticError

    with still(Alarms(5.0, next_alarm=fault)) as run:
        wait = run._until_alarm()

    assert isinstance(run._broken, ArithmeticError)
    assert (inf, 1, True) == (wait, run.engine.seen[Tick], run._waker._woken)


def test_a_later_alarm_wakes_nobody():
    """
    Answers that put the alarm off, or leave it where it is, cost the timekeeper nothing.
    """
    with still(Alarms(12.0)) as run:
        waits = run._until_alarm()
        for alarm in (12.0, 15.0, None, 12.5):
            put(run, alarm)

    assert 2.0 == waits
    assert not run._waker._woken


@pytest.mark.parametrize("seed", range(6))
def test_every_alarm_rings(seed):
    """
    Threads move the alarm about while a run's own thread keeps the time; in the end only that can
    bring it on.  A missed alarm hangs the test.
    """
    rng, count, each = random.Random(seed), 300, 500
    began = monotonic()
    alarms = Alarms(0.0, lambda now: now + rng.random() * 1e-3, left=count)
    run = ConcurrentRun(engine=alarms, now=lambda: monotonic() - began)
    moves = [random.Random(f"{seed} {place}") for place in range(3)]

    def move(own):
        for _ in range(each):
            now = run.now()
            alarm = now + own.choice((-1e-3, 0.0, 1e-4, 1e-3, 2e-3))
            run._arrive((Set(now, alarm), None, NO_CALL))

    threads = [threading.Thread(target=move, args=(own,)) for own in moves]
    for thread in threads:
        thread.start()
    run.run(TakenUp(now=0.0, calls=(), cancelled=frozenset(), events=()), Interrupt())
    for thread in threads:
        thread.join()

    assert count == alarms.seen["due"]
    assert alarms.seen[Tick] <= 2 * (count + alarms.seen[Set])
