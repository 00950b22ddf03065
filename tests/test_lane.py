"""
Tests of ``headway.drivers._lane``: pieces run at once, threads are replaced, and all of them end.
"""

from __future__ import annotations

import threading
from collections import Counter
from queue import SimpleQueue

import pytest

from headway.drivers._lane import Lane, _Idle

SOON = 30.0
"""Seconds within which everything here happens; only a fault takes as long."""


class Owner:
    """
    Owns a lane as a driver does: a lock for its counts, none for its nudges.
    """

    def __init__(self, serve, **more):
        self.lock = threading.Lock()
        self.serve_piece = serve
        self.refusals = []
        self.ended = SimpleQueue()
        self.by = Counter()
        self.lane = Lane("test", self.serve, self.refusals.append, **more)

    def put(self, *pieces):
        with self.lock:
            for piece in pieces:
                self.lane.put(piece)
        self.lane.nudge(own=False)

    def lose(self, piece):
        with self.lock:
            self.lane.lose(piece)

    def serve(self, piece):
        self.serve_piece(piece)
        with self.lock:
            self.lane.ended(piece)
            self.by[threading.current_thread().name] += 1
        self.lane.nudge(own=True)
        self.ended.put(piece)

    def wait(self, count):
        return sorted(self.ended.get(timeout=SOON) for _ in range(count))

    def end(self):
        with self.lock:
            self.lane.end()
        left = [t for t in threading.enumerate() if t.name.startswith("headway-test")]
        for thread in left:
            thread.join(SOON)
        return [thread.name for thread in left if thread.is_alive()]


@pytest.mark.parametrize("count", [1, 2, 7, 64, 300])
def test_as_many_run_at_once_as_were_put_in(count):
    """
    A barrier that only all of them together pass, twice: the second time on the same threads.
    """
    barrier = threading.Barrier(count)
    owner = Owner(lambda piece: barrier.wait(SOON))
    for _ in range(2):
        owner.put(*range(count))
        assert list(range(count)) == owner.wait(count)

    assert count == owner.lane.threads
    assert [] == owner.end()


def test_short_pieces_need_few_threads():
    """
    No more threads are started than pieces are open at once.
    """
    owner = Owner(lambda piece: None)
    for n in range(500):
        owner.put(n)
        owner.wait(1)

    assert 1 == owner.lane.threads
    assert {"headway-test-1": 500} == owner.by
    assert [] == owner.end()


class Own:
    """
    What a thread waits at, which says that it does.
    """

    def __init__(self, name, waits):
        self.name, self.waits = name, waits
        self.told = SimpleQueue()
        self.put = self.told.put

    def get(self):
        self.waits.put(self.name)
        return self.told.get()


def test_who_has_waited_for_the_shortest_time_is_told_first():
    """
    So that few threads do what few are enough for; a word that nobody waits for is kept.
    """
    idle, waits, told = _Idle(), SimpleQueue(), SimpleQueue()
    idle.tell(word=False)
    assert idle.wait(SimpleQueue()) is False

    for name in range(5):
        own = Own(name, waits)
        wait = threading.Thread(target=lambda own=own: told.put((own.name, idle.wait(own))))
        wait.start()
        assert name == waits.get(timeout=SOON)
    order = []
    for word in (True, True, False, True, False):
        idle.tell(word)
        order.append(told.get(timeout=SOON))

    assert [(4, True), (3, True), (2, False), (1, True), (0, False)] == order


def test_one_at_a_time_in_order():
    """
    ``most=1`` is one thread, which takes what waits in the order in which it was put in.
    """
    order, first = [], threading.Event()

    def serve(piece):
        first.wait(SOON)
        order.append(piece)

    owner = Owner(serve, most=1)
    owner.put(3, 1, 2)
    owner.put(0)
    first.set()
    owner.wait(4)

    assert [3, 1, 2, 0] == order
    assert 1 == owner.lane.threads
    assert [] == owner.end()


def test_a_lost_piece_gives_its_place_to_another_thread():
    """
    While it is lost, as many others run as before; when it is back, its thread is one of them.
    """
    back, barrier = threading.Event(), threading.Barrier(3)

    def serve(piece):
        if piece == 0:
            back.wait(SOON)
        elif piece < 100:
            barrier.wait(SOON)

    owner = Owner(serve)
    owner.put(0, 1, 2)  # the barrier waits for a third
    owner.lose(0)
    owner.put(3)
    assert [1, 2, 3] == owner.wait(3)
    assert {0} == owner.lane.lost
    back.set()
    assert [0] == owner.wait(1)
    assert set() == owner.lane.lost

    barrier.reset()
    owner.put(4, 5, 6)
    owner.wait(3)
    assert 4 == owner.lane.threads  # nobody had to be started for these
    assert [] == owner.end()


def test_many_are_lost_one_after_the_other():
    """
    Each is replaced; all of the threads end once they are back.
    """
    back = threading.Event()
    owner = Owner(lambda piece: back.wait(SOON) if piece < 50 else None)
    for n in range(50):
        owner.put(n)
        owner.lose(n)
        owner.put(100 + n)
        assert [100 + n] == owner.wait(1)
    assert owner.lane.threads <= 51
    back.set()
    owner.wait(50)

    assert [] == owner.end()


def test_threads_end_while_a_piece_is_lost():
    """
    The idle ones at once, the lost one when it is back.
    """
    back, reached = threading.Event(), threading.Event()

    def serve(piece):
        if piece == 0:
            reached.set()
            back.wait(SOON)

    owner = Owner(serve)
    owner.put(0, 1)
    reached.wait(SOON)
    owner.wait(1)
    owner.lose(0)
    with owner.lock:
        owner.lane.end()
    others = [t for t in threading.enumerate() if t.name.startswith("headway-test")]
    back.set()
    for thread in others:
        thread.join(SOON)

    assert not any(thread.is_alive() for thread in others)


def test_what_is_put_in_by_many_is_done_once():
    """
    Nothing is lost and nothing is done twice, whoever puts in.
    """
    owner = Owner(lambda piece: None)

    def put(start):
        for n in range(start, start + 500):
            owner.put(n)

    threads = [threading.Thread(target=put, args=(500 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    done = owner.wait(2000)
    for thread in threads:
        thread.join()

    assert list(range(2000)) == done
    assert [] == owner.end()


def test_the_system_starts_no_thread(monkeypatch):
    """
    The owner is told once, however many were wanted; the others are not tried.
    """
    tried = []

    def start(thread):
        tried.append(thread.name)
        raise RuntimeError("can't start new thread")

    owner = Owner(lambda piece: None)
    monkeypatch.setattr(threading.Thread, "start", start)
    owner.put(*range(600))

    assert ["can't start new thread"] == [str(error) for error in owner.refusals]
    assert ["headway-test-1"] == tried
