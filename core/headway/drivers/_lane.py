"""
A lane: daemon threads that perform pieces of work, one after the other, each in its own loop.

A thread that has finished takes the next piece itself; no other thread is woken for it.  Where
several pieces wait, each thread that takes one wakes one other, and never two at once, so that short
pieces are done by the few threads that are awake, and the thread that was busy last is woken first.
A thread that never comes back is replaced.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from math import inf
from queue import SimpleQueue
from typing import Generic, TypeVar

import attrs

W = TypeVar("W")


@attrs.define(eq=False)
class _Idle:
    """
    Threads that wait for a word; the one that waits for the shortest time is told first.

    So where few pieces are about, few threads do all of them, and what each of the others keeps for
    itself, such as the heap that the C library gives it, stays small.  A word that comes before
    anybody waits is kept.
    """

    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _early: deque[bool] = attrs.field(factory=deque[bool], init=False)
    _waiting: list[SimpleQueue[bool]] = attrs.field(factory=list["SimpleQueue[bool]"], init=False)

    def tell(self, word: bool) -> None:
        """
        Tell one thread, now or when one waits.
        """
        with self._lock:
            if self._waiting:
                self._waiting.pop().put(word)
            else:
                self._early.append(word)

    def wait(self, own: SimpleQueue[bool]) -> bool:
        """
        The next word for the calling thread.

        Args:
            own: What that thread is told by; nobody else's.
        """
        with self._lock:
            if self._early:
                return self._early.popleft()
            self._waiting.append(own)
        return own.get()


@attrs.define(eq=False)
class Lane(Generic[W]):
    """
    Threads, and the pieces of work that wait for them.

    Guarantee: a piece that was put in is taken at once, unless ``most`` threads are busy.

    ``put``, ``ended`` and ``lose`` are called with the owner's lock held, ``nudge`` without it.

    Args:
        name: What its threads are called.
        serve: What a thread does with a piece; it raises nothing.
        refused: Told when the system starts no further thread.
        most: How many threads there may be.
    """

    name: str
    serve: Callable[[W], None]
    refused: Callable[[RuntimeError], None]
    most: float = inf
    threads: int = attrs.field(default=0, init=False)
    lost: set[int] = attrs.field(factory=set[int], init=False)
    _busy: int = attrs.field(default=0, init=False)
    waiting: deque[W] = attrs.field(factory=deque[W], init=False)
    _called: bool = attrs.field(default=False, init=False)
    _unborn: deque[int] = attrs.field(factory=deque[int], init=False)
    _idle: _Idle = attrs.field(factory=_Idle, init=False)

    def put(self, piece: W) -> None:
        """
        Have a piece of work performed.
        """
        self.waiting.append(piece)
        self._busy += 1
        if self._busy + len(self.lost) > self.threads < self.most:
            self.threads += 1
            self._unborn.append(self.threads)

    def ended(self, number: int) -> None:
        """
        A thread came back from a piece, be it that it was lost.
        """
        if number in self.lost:
            self.lost.discard(number)
        else:
            self._busy -= 1

    def lose(self, number: int) -> None:
        """
        A piece is not waited for any more; the thread that has it does not count until it is back.
        """
        self._busy -= 1
        self.lost.add(number)

    def nudge(self, *, own: bool) -> None:
        """
        See to it that what waits is taken.

        Args:
            own: The calling thread is one of the lane's and is about to look itself.
        """
        while self._unborn and self.waiting:  # else those that are awake were fast enough
            self._bear()
        if self.waiting and not own:
            self._call()

    def _call(self) -> None:
        """
        Wake one thread, unless one has been woken that has not looked yet.
        """
        if not self._called:
            self._called = True
            self._idle.tell(True)

    def _bear(self) -> None:
        try:
            number = self._unborn.popleft()
        except IndexError:  # another thread was faster
            return
        name = f"headway-{self.name}-{number}"
        try:
            threading.Thread(target=self._loop, name=name, daemon=True).start()
        except RuntimeError as error:
            self._unborn.clear()  # no further one would be started either
            self.refused(error)

    def _loop(self) -> None:
        own = SimpleQueue[bool]()
        while (piece := self._take(own)) is not None:
            self.serve(piece)

    def _take(self, own: SimpleQueue[bool]) -> W | None:
        while True:
            try:
                piece = self.waiting.popleft()
            except IndexError:
                if self._idle.wait(own):
                    self._called = False  # before it looks: what comes from now on calls again
                elif self.waiting:
                    self._idle.tell(False)  # for later: what waits comes first
                else:
                    return None
            else:
                if self.waiting:
                    self._call()
                return piece

    def end(self) -> None:
        """
        Let all threads end that are idle, and the others once they come back; what waits is taken
        before.
        """
        for _ in range(self.threads):
            self._idle.tell(False)
