"""
The ``asyncio`` driver: one event loop on a thread of its own.

The loop alone touches the machine, so no lock is needed.  Coroutines run on it; plain functions get
threads, one a slot.  A coroutine that nobody waits for any more is cancelled; a plain function goes
on and its answer is late.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from queue import SimpleQueue

import attrs

from headway.drivers._engine import Engine, Work
from headway.drivers._interrupt import SIGNALS, Interrupt
from headway.drivers.serial import CANCELLED
from headway.machine import Call, Cancel, Done, Event, Failed, Run, Started, Stop, Tick

LINGER = 0.2
"""Seconds that the caller waits, after the end, for the loop's own thread."""


@attrs.define(eq=False)
class AsyncioRun:
    """
    One run on an event loop.

    Args:
        engine: The run.
        now: Seconds since the run began, on a monotonic clock.
    """

    engine: Engine
    now: Callable[[], float]
    _coroutines: dict[int, asyncio.Task[None]] = attrs.field(
        factory=dict[int, asyncio.Task[None]], init=False
    )
    _others: set[asyncio.Task[None]] = attrs.field(factory=set[asyncio.Task[None]], init=False)
    _calls: SimpleQueue[tuple[Call, asyncio.Future[Done | Failed]] | None] = attrs.field(
        factory=SimpleQueue[tuple[Call, asyncio.Future[Done | Failed]] | None], init=False
    )
    _idle: int = attrs.field(default=0, init=False)
    _threads: int = attrs.field(default=0, init=False)
    _timer: asyncio.TimerHandle | None = attrs.field(default=None, init=False)
    _loop: asyncio.AbstractEventLoop = attrs.field(init=False)
    _over: asyncio.Event = attrs.field(init=False)
    _broken: BaseException | None = attrs.field(default=None, init=False)

    def run(self, started: Started, interrupt: Interrupt) -> None:
        """
        Bring the run to its end on a new thread, so that it also works inside a running loop.
        """
        ended: Future[None] = Future()
        thread = threading.Thread(
            target=self._serve,
            args=(started, interrupt, ended),
            name="headway-asyncio",
            daemon=True,
        )
        thread.start()
        while not ended.done():
            wait((ended,), SIGNALS)
        thread.join(LINGER)
        ended.result()

    def _serve(self, started: Started, interrupt: Interrupt, ended: Future[None]) -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(self._main(started, interrupt))
        except BaseException as error:  # noqa: BLE001 - it is raised on the calling thread
            ended.set_exception(error)
        else:
            ended.set_result(None)
        # The caller waits no longer; a coroutine that refuses to end keeps only this thread.
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(_gone())
        loop.close()

    async def _main(self, started: Started, interrupt: Interrupt) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        with interrupt.asking(self._ask):
            self._feed(started)
            await self._over.wait()
        if self._timer is not None:
            self._timer.cancel()
        for _ in range(self._threads):
            self._calls.put(None)
        if self._broken is not None:
            raise self._broken

    def _ask(self) -> None:
        self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self._feed(Stop(self.now(), "interrupted"))

    def _feed(self, event: Event) -> None:
        try:
            if not self._over.is_set():
                self._dispatch(self.engine.feed(event, self.now))
        except BaseException as error:  # noqa: BLE001 - a fault of Headway's own ends the run
            self._break(error)

    def _dispatch(self, work: list[Work]) -> None:
        for instruction in work:
            if isinstance(instruction, Run):
                self._begin(instruction.call)
            elif (task := self._coroutines.pop(instruction.call, None)) is not None:
                task.cancel()
                if isinstance(instruction, Cancel):
                    answer = Failed(self.now(), instruction.call, CANCELLED)
                    self._loop.call_soon(self._feed, answer)
        if self.engine.finished:
            self._over.set()
        else:
            self._set_timer()

    def _begin(self, call: Call) -> None:
        task = self._loop.create_task(self._perform(call))
        if self.engine.bench.is_coroutine(call):
            self._coroutines[call.id] = task
        else:
            self._others.add(task)
            task.add_done_callback(self._others.discard)

    async def _perform(self, call: Call) -> None:
        bench = self.engine.bench
        if bench.is_coroutine(call):
            answer = await bench.perform_async(call, self.now)
            self._coroutines.pop(call.id, None)
        else:
            answer = await self._on_a_thread(call)
        self._feed(attrs.evolve(answer, now=self.now()))

    async def _on_a_thread(self, call: Call) -> Done | Failed:
        """
        Perform a call on an idle thread, or a new one; one that never returns stays behind.
        """
        future: asyncio.Future[Done | Failed] = self._loop.create_future()
        if self._idle:
            self._idle -= 1
        else:
            self._threads += 1
            threading.Thread(target=self._worker, name="headway-worker", daemon=True).start()
        self._calls.put((call, future))
        return await future

    def _worker(self) -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody waits for this any more
            while (work := self._calls.get()) is not None:
                call, future = work
                try:
                    answer = self.engine.bench.perform(call, self.now)
                except BaseException as error:  # noqa: BLE001 - a fault of Headway's own ends the run
                    self._loop.call_soon_threadsafe(self._break, error)
                    return
                self._loop.call_soon_threadsafe(self._answered, future, answer)

    def _break(self, error: BaseException) -> None:
        self._broken = error
        self._over.set()

    def _answered(self, future: asyncio.Future[Done | Failed], answer: Done | Failed) -> None:
        self._idle += 1
        if not future.done():
            future.set_result(answer)

    def _set_timer(self) -> None:
        wake_at = self.engine.machine.wake_at
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wake_at is not None:
            delay = max(0.0, wake_at - self.now())
            self._timer = self._loop.call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._feed(Tick(self.now()))


async def _gone() -> None:
    """
    All other tasks have ended.
    """
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)
