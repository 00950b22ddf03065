"""
Loops that are written once and run plainly or awaited.

A loop is a generator that yields an ``Ask`` - what is to be called - and is resumed with what that gave.
``run_plain`` calls; ``run_async`` awaits what has to be awaited.  Asks that sample are made under a limit of
their own, so that any number of tools may run while at most so many requests are with the engine.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias, TypeVar

import attrs

from headway.errors import ContractError

Answer = TypeVar("Answer")


@attrs.frozen
class Ask:
    """
    Something to be called.

    Args:
        call: What, without arguments.
        samples: Whether it is a sampling request, which counts against the limit.
    """

    call: Callable[[], Any]
    samples: bool = False


Asks: TypeAlias = Generator[Ask, Any, Answer]


@attrs.define(eq=False)
class RequestLimit:
    """
    How many sampling requests may be open at once; for threads and for coroutines.

    Threads wait on one counter, the coroutines of each event loop on one of their own.

    Args:
        most: That number; None bounds nothing.
    """

    most: int | None = None
    _threads: AbstractContextManager[Any] = attrs.field(init=False, repr=False)
    _loop: asyncio.AbstractEventLoop | None = attrs.field(default=None, init=False, repr=False)
    _tasks: asyncio.Semaphore | None = attrs.field(default=None, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._threads = nullcontext() if self.most is None else threading.Semaphore(self.most)

    @property
    def plain(self) -> AbstractContextManager[Any]:
        """
        To be entered by a thread around a request.
        """
        return self._threads

    def awaited(self) -> asyncio.Semaphore | None:
        """
        To be entered by a coroutine around a request; None bounds nothing.

        A run has one event loop; the loop of an earlier run is forgotten with its counter.
        """
        if self.most is None:
            return None
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._tasks = loop, asyncio.Semaphore(self.most)
        return self._tasks


def refuse(given: Any) -> Any:
    """
    What was given, unless it has to be awaited.

    Raises:
        ContractError: it has to.
    """
    if not inspect.isawaitable(given):
        return given
    if inspect.iscoroutine(given):
        given.close()  # else Python warns that it was never awaited
    message = "a policy or an environment is asynchronous; take AsyncRL instead of RL"
    raise ContractError(message)


def run_plain(
    asks: Asks[Answer], limit: RequestLimit, settle: Callable[[Any], Any] = refuse
) -> Answer:
    """
    Run a loop on this thread.

    Args:
        asks: The loop.
        limit: How many sampling requests may be open at once.
        settle: Makes of what a call gives what it comes to.

    Raises:
        ContractError: something has to be awaited, and nothing settles that.
    """
    given: Any = None
    try:
        while True:
            ask = asks.send(given)
            with limit.plain if ask.samples else nullcontext():
                given = settle(ask.call())
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    finally:
        asks.close()


class Awaiter:
    """
    Lets plain code await, on an event loop of its own that lives as long as this object.

    A client that keeps connections open finds the same loop every time.  Safe to use from several
    threads at once, but not from a coroutine that runs on it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def __call__(self, given: Any) -> Any:
        """
        What was given, or what comes of it where that has to be awaited.
        """
        if not inspect.isawaitable(given):
            return given
        return asyncio.run_coroutine_threadsafe(_awaited(given), self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = loop = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=_serve, args=(loop,), name="headway-rl-trainer", daemon=True
                )
                thread.start()
                weakref.finalize(self, loop.call_soon_threadsafe, loop.stop)
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


async def run_async(asks: Asks[Answer], limit: RequestLimit) -> Answer:
    """
    Run a loop, awaiting what has to be awaited.
    """
    given: Any = None
    gate = limit.awaited()
    try:
        while True:
            ask = asks.send(given)
            if ask.samples and gate is not None:
                async with gate:
                    given = await _awaited(ask.call())
            else:
                given = await _awaited(ask.call())
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    finally:
        asks.close()


async def _awaited(given: Any) -> Any:
    return await given if inspect.isawaitable(given) else given
