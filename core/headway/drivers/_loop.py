"""
Where coroutines run: an event loop of the run's own, or the one of whoever awaits the run.

A task performs one call after the other, so that a rollout that ends costs no new task.  A
coroutine that is not waited for any more is cancelled, and its task ends with it.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TypeAlias

import attrs

from headway.drivers._bridge import run_until_stopped
from headway.machine import Abort, Call, Resume

StepWork: TypeAlias = Resume | Abort

FAN = 2
"""
Tasks that one task starts for calls that wait.

They start others in turn, so that many calls soon run at once, and few tasks find nothing to do when
the calls take no time.
"""

BREATH = 64
"""Calls that a task performs before it lets the loop look after others, waiting or not."""


@attrs.define(eq=False)
class Loop:
    """
    Performs coroutine calls.

    ``put``, ``ended``, ``lose`` and ``cancel`` are called with the owner's lock held.

    Args:
        serve: Performs a call and hands in its answer; raises nothing.
        refused: Told when the system starts no thread for it.
        home: The running loop of whoever awaits the run; None for a loop of its own.
    """

    serve: Callable[[Call], Awaitable[None]]
    refused: Callable[[RuntimeError], None]
    home: asyncio.AbstractEventLoop | None = None
    held: set[int] = attrs.field(factory=set[int], init=False)
    lost: set[int] = attrs.field(factory=set[int], init=False)
    _loop: asyncio.AbstractEventLoop | None = attrs.field(default=None, init=False)
    _ident: int = attrs.field(default=0, init=False)
    waiting: deque[Call] = attrs.field(factory=deque[Call], init=False)
    _tasks: set[asyncio.Task[None]] = attrs.field(factory=set["asyncio.Task[None]"], init=False)
    _running: dict[int, asyncio.Task[None]] = attrs.field(
        factory=dict[int, "asyncio.Task[None]"], init=False
    )
    _unborn: int = attrs.field(default=0, init=False)
    _breathing: int = attrs.field(default=0, init=False)
    _nudged: bool = attrs.field(default=False, init=False)
    _over: bool = attrs.field(default=False, init=False)
    _starting: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _gone: threading.Event = attrs.field(factory=threading.Event, init=False)

    def put(self, call: Call) -> None:
        """
        Have a call performed.
        """
        self.held.add(call.id)
        self.waiting.append(call)

    def ended(self, number: int) -> None:
        """
        A call has ended, be it that it was lost.
        """
        self.held.discard(number)
        self.lost.discard(number)

    def lose(self, number: int) -> None:
        """
        A call is not waited for any more; whether it is cancelled, the owner says.
        """
        self.lost.add(number)

    def nudge(self, *, own: bool) -> None:
        """
        See to it that what waits is begun.

        Args:
            own: The calling task is one of the loop's and is about to look itself.
        """
        if own:
            if len(self.waiting) > 1:
                self._spawn(len(self.waiting) - 1)
        elif self.waiting and not self._nudged:
            self._nudged = True
            self.soon(self._look)

    def soon(self, function: Callable[..., object], *arguments: object) -> None:
        """
        Call a function on the loop; not any more once the loop is closed.
        """
        loop = self._started()
        if loop is None:
            return
        if threading.get_ident() == self._ident:
            loop.call_soon(function, *arguments)
        else:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(function, *arguments)

    def _started(self) -> asyncio.AbstractEventLoop | None:
        """
        The loop; None when there was none at the end: nobody would end one that began later.
        """
        try:
            with self._starting:
                if self._loop is None and not self._over:
                    self._loop = self.home or _new_loop()
                return self._loop
        except RuntimeError as error:
            self._over = True
            self.refused(error)
            return None

    def _look(self) -> None:
        self._nudged = False
        self._ident = threading.get_ident()
        self._spawn(len(self.waiting))

    def _spawn(self, wanted: int) -> None:
        few = min(wanted - self._breathing, FAN)  # those come back for what waits
        while self._unborn < few and not self._over:  # else nobody would end them
            self._unborn += 1
            task = asyncio.get_running_loop().create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        self._unborn -= 1
        me = asyncio.current_task()
        assert me is not None
        done = 0
        while self.waiting:
            call = self.waiting.popleft()
            if not done:
                self._spawn(len(self.waiting))
            self._running[call.id] = me
            await self.serve(call)
            del self._running[call.id]
            if me.cancelling():  # what it was cancelled for has ended; the next one is not meant
                self._spawn(len(self.waiting))
                return
            done += 1
            if done % BREATH == 0:
                await self._breathe()

    async def _breathe(self) -> None:
        self._breathing += 1
        try:
            await asyncio.sleep(0)
        finally:
            self._breathing -= 1

    def cancel(self, calls: Iterable[int]) -> None:
        """
        Cancel those of some calls that run; the loop is woken once for all of them.
        """
        self.soon(self._cancel, calls)

    def _cancel(self, calls: Iterable[int]) -> None:
        for call in calls:
            task = self._running.get(call)
            if task is not None:
                task.cancel()

    def end(self) -> None:
        """
        Cancel what still runs; then a loop of its own ends.
        """
        with self._starting:
            self._over = True
        if self._loop is None:
            self._gone.set()
        else:
            self.soon(self._finish)

    def join(self, seconds: float) -> None:
        """
        Wait for that, but no longer than so many seconds: a coroutine may refuse to end.
        """
        self._gone.wait(seconds)

    def _finish(self) -> None:
        ending = asyncio.get_running_loop().create_task(self._leave())
        self._tasks.add(ending)

    async def _leave(self) -> None:
        mine = set(self._tasks) if self.home is not None else asyncio.all_tasks()
        others = mine - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        self._gone.set()
        if self.home is None:
            asyncio.get_running_loop().stop()


def _new_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=_serve_loop, args=(loop,), name="headway-loop", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        loop.close()
        raise
    return loop


def _serve_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        run_until_stopped(loop)
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


@attrs.define(eq=False)
class LoopSteps:
    """
    Runs the aggregator's steps on the loop.
    """

    loop: Loop
    serve: Callable[[StepWork], None]
    waiting: deque[StepWork] = attrs.field(factory=deque[StepWork], init=False)
    _nudged: bool = attrs.field(default=False, init=False)

    def put(self, piece: StepWork) -> None:
        """
        Have a step go on.
        """
        self.waiting.append(piece)

    def ended(self, number: int) -> None:
        """
        A step went on: nothing to count.
        """

    def nudge(self, *, own: bool) -> None:
        """
        See to it that what waits goes on.
        """
        if self.waiting and not own and not self._nudged:
            self._nudged = True
            self.loop.soon(self._serve_all)

    def _serve_all(self) -> None:
        self._nudged = False
        while self.waiting:
            self.serve(self.waiting.popleft())

    def end(self) -> None:
        """
        What waits is taken before the loop ends.
        """
        if self.waiting:
            self.loop.soon(self._serve_all)
