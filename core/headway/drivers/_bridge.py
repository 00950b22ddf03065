"""
Lets threads wait for coroutines: all ``async def`` work of a run shares one private event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from typing import Any

import attrs


@attrs.define(eq=False)
class Bridge:
    """
    A private event loop on one daemon thread, started when it is first needed.

    Safe to use from several threads at once, but not from a coroutine that runs on it.
    """

    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _loop: asyncio.AbstractEventLoop | None = attrs.field(default=None, init=False)

    def wait(self, awaitable: Awaitable[Any]) -> Any:
        """
        Run an awaitable to its end; returns or raises what it does.
        """
        return asyncio.run_coroutine_threadsafe(_awaited(awaitable), self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self._serve, args=(self._loop,), name="headway-loop", daemon=True
                ).start()
            return self._loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            run_until_stopped(loop)
        finally:
            loop.close()

    def close(self) -> None:
        """
        Cancel what still runs and end the loop; calling it twice is harmless.
        """
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            asyncio.run_coroutine_threadsafe(_end(loop), loop)


def run_until_stopped(loop: asyncio.AbstractEventLoop) -> None:
    """
    Run a loop until it is stopped, also when a task that user code made would end it.
    """
    while True:
        try:
            loop.run_forever()
        except (KeyboardInterrupt, SystemExit):
            continue  # whoever awaits the task is told, too
        return


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except SystemExit as error:  # it would end the loop, and everybody's coroutines with it
        message = f"the coroutine wants to exit: {error!r}"
        raise RuntimeError(message) from error


async def _end(loop: asyncio.AbstractEventLoop) -> None:
    """
    Whoever waits for a coroutine is let go before the loop stops.
    """
    others = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    loop.call_soon(loop.stop)
