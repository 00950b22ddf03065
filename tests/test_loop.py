"""
Tests of ``headway.drivers._loop``: coroutines begin, end, are cancelled, and let each other run.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from queue import SimpleQueue

import attrs
import pytest

from headway.drivers import _loop as module
from headway.drivers._loop import Loop

SOON = 30.0
"""Seconds within which everything here happens; only a fault takes as long."""


@attrs.frozen
class Piece:
    """What a loop knows of a call."""

    id: int


class Owner:
    """
    Owns a loop as a driver does: a lock for its counts, and answers that are handed in.
    """

    def __init__(self, serve, home=None):
        self.lock = threading.Lock()
        self.serve_piece = serve
        self.refusals = []
        self.ended = SimpleQueue()
        self.seen = []
        self.loop = Loop(self.serve, self.refusals.append, home)

    def put(self, *numbers):
        with self.lock:
            for number in numbers:
                self.loop.put(Piece(number))
        self.loop.nudge(own=False)

    def lose(self, number):
        with self.lock:
            self.loop.lose(number)
            self.loop.cancel([number])

    async def serve(self, piece):
        try:
            await self.serve_piece(piece.id)
        except asyncio.CancelledError:
            self.seen.append(piece.id)
        with self.lock:
            self.loop.ended(piece.id)
        self.loop.nudge(own=True)
        self.ended.put(piece.id)

    def wait(self, count):
        return sorted(self.ended.get(timeout=SOON) for _ in range(count))

    def end(self):
        with self.lock:
            self.loop.end()
        self.loop.join(SOON)
        left = [t for t in threading.enumerate() if t.name == "headway-loop"]
        for thread in left:
            thread.join(SOON)
        return [thread for thread in left if thread.is_alive()]


async def nothing(number):
    del number


async def for_ever(number):
    await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("count", [1, 5, 200])
def test_as_many_run_at_once_as_were_put_in(count):
    """
    Coroutines that wait for each other; twice.
    """
    here = []

    async def meet(number):
        here.append(asyncio.get_running_loop().create_future())
        if len(here) == count:
            for future in here:
                future.set_result(None)
            here.clear()
        else:
            await here[-1]

    owner = Owner(meet)
    for _ in range(2):
        owner.put(*range(count))
        assert list(range(count)) == owner.wait(count)

    assert [] == owner.end()
    assert set() == owner.loop.held


def test_all_run_on_one_thread_of_its_own():
    """
    A loop without a home has one.
    """
    on = set()

    async def note(number):
        on.add(threading.current_thread().name)

    owner = Owner(note)
    owner.put(*range(20))
    owner.wait(20)

    assert {"headway-loop"} == on
    assert [] == owner.end()


def test_a_cancelled_call_ends_and_what_waits_is_done():
    """
    Its task ends with it, so that nothing of the cancelling reaches the next call.
    """
    tasks, begun = {}, SimpleQueue()

    async def serve(number):
        tasks[number] = asyncio.current_task()
        begun.put(number)
        if number == 0:
            await for_ever(number)

    owner = Owner(serve)
    owner.put(0)
    begun.get(timeout=SOON)
    owner.lose(0)
    owner.put(*range(1, 50))
    assert list(range(50)) == owner.wait(50)

    assert [0] == owner.seen
    assert all(tasks[0] is not tasks[number] for number in range(1, 50))
    assert set() == owner.loop.lost
    assert [] == owner.end()


def test_a_call_that_swallows_its_cancelling():
    """
    Its task ends all the same, and what waits is begun by another.
    """
    begun, tasks = SimpleQueue(), []

    async def serve(number):
        tasks.append(asyncio.current_task())
        begun.put(number)
        if number == 0:
            try:
                await for_ever(number)
            except asyncio.CancelledError:
                owner.put(1)

    owner = Owner(serve)
    owner.put(0)
    begun.get(timeout=SOON)
    owner.lose(0)

    assert [0, 1] == owner.wait(2)
    assert 2 == len(set(tasks))
    assert [] == owner.end()


def test_a_call_that_is_lost_before_it_began():
    """
    The owner sees that it is lost and serves it as it likes; nothing is cancelled.
    """
    go, begun = threading.Event(), threading.Event()

    async def serve(number):
        if number == 0:
            begun.set()
            go.wait(SOON)  # blocks the loop, so that 1 can't begin

    owner = Owner(serve)
    owner.put(0)
    begun.wait(SOON)
    owner.put(1, 2)
    owner.lose(1)
    go.set()

    assert [0, 1, 2] == owner.wait(3)
    assert [] == owner.seen
    assert [] == owner.end()


def test_calls_without_work_let_others_run():
    """
    A task that finds a next call each time gives way after a number of them.
    """
    left, turns, ran = deque(range(50 * module.BREATH)), [], SimpleQueue()

    async def beside():
        while left:
            turns.append(len(left))
            await asyncio.sleep(0)
        ran.put(True)

    async def serve(number):
        if number == 0:
            beside_task.append(asyncio.get_running_loop().create_task(beside()))
        left.popleft()
        if left:
            with owner.lock:
                owner.loop.put(Piece(left[0]))

    beside_task = []
    owner = Owner(serve)
    owner.put(0)
    ran.get(timeout=SOON)

    assert 40 <= len(turns) <= 60
    assert [] == owner.end()


@pytest.mark.parametrize("slots", [1, 2, 4, 32])
def test_calls_without_work_are_done_by_as_many_tasks_as_there_are_slots(slots):
    """
    A task that gives way comes back for what waits, so nobody begins another one for that; a turn of
    the loop is then never more than a breath of each.
    """
    left, tasks, turns, ran = deque(range(50 * slots * module.BREATH)), set(), [0], SimpleQueue()

    async def beside():
        while left:
            turns[0] += 1
            await asyncio.sleep(0)
        ran.put(True)

    async def serve(number):
        tasks.add(asyncio.current_task())
        if number == 0:
            beside_task.append(asyncio.get_running_loop().create_task(beside()))
        if left:
            with owner.lock:
                owner.loop.put(Piece(left.popleft() + slots))
            owner.loop.nudge(own=True)

    beside_task = []
    owner = Owner(serve)
    owner.put(*range(slots))
    ran.get(timeout=SOON)

    assert len(tasks) <= slots
    assert turns[0] >= 48  # it began in the first one, and the last may be short
    assert [] == owner.end()


def test_ending_cancels_what_runs():
    """
    Also what was begun beside the calls, on a loop of its own.
    """
    begun, cancelled = SimpleQueue(), []

    async def beside():
        try:
            await for_ever(0)
        finally:
            cancelled.append("beside")

    async def serve(number):
        task = asyncio.get_running_loop().create_task(beside())
        await asyncio.sleep(0)
        begun.put(task)
        await for_ever(number)

    owner = Owner(serve)
    owner.put(7)
    begun.get(timeout=SOON)

    assert [] == owner.end()
    assert [7] == owner.seen
    assert ["beside"] == cancelled


def test_ending_what_never_began():
    """
    No loop was made, and none is made afterwards: nobody would end it.
    """
    owner = Owner(nothing)
    owner.end()
    owner.put(1)
    owner.lose(1)

    assert [] == [t for t in threading.enumerate() if t.name == "headway-loop"]
    assert owner.ended.empty()


def test_a_home_goes_on():
    """
    On somebody else's loop only the run's own tasks are cancelled, and the loop is not stopped.
    """

    async def main():
        begun = asyncio.Event()

        async def serve(number):
            assert threading.current_thread() is threading.main_thread()
            begun.set()
            await for_ever(number)

        mine = asyncio.ensure_future(asyncio.sleep(SOON))
        owner = Owner(serve, asyncio.get_running_loop())
        owner.put(1)
        await begun.wait()
        owner.loop.end()
        await asyncio.to_thread(owner.loop.join, SOON)
        left = asyncio.all_tasks() - {mine, asyncio.current_task()}
        mine.cancel()
        return owner.seen, left

    assert ([1], set()) == asyncio.run(main())


def test_a_home_that_is_closed():
    """
    What comes for it is dropped: nobody awaits the run any more.
    """
    home = asyncio.new_event_loop()
    owner = Owner(nothing, home)
    home.close()
    owner.put(1)
    owner.lose(1)
    owner.loop.end()
    owner.loop.join(0.0)

    assert owner.ended.empty()


def test_the_system_starts_no_thread(monkeypatch):
    """
    The owner is told once, and nothing more is tried.
    """
    tried = []

    def start(thread):
        tried.append(thread.name)
        raise RuntimeError("can't start new thread")

    owner = Owner(nothing)
    monkeypatch.setattr(threading.Thread, "start", start)
    owner.put(1)
    owner.put(2)
    owner.lose(1)
    owner.end()

    assert ["can't start new thread"] == [str(error) for error in owner.refusals]
    assert ["headway-loop"] == tried
