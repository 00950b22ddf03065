"""
A run that is awaited: its driver keeps time on a thread of its own, while the caller's loop goes on.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from headway.drivers._interrupt import Interrupt

T = TypeVar("T")


async def on_a_thread(work: Callable[[asyncio.AbstractEventLoop], T], interrupt: Interrupt) -> T:
    """
    Call a function, with the running loop, on a daemon thread, and await what it gives.

    Args:
        work: The run.
        interrupt: Ends it when the caller is cancelled.

    Raises:
        CancelledError: the caller was cancelled; the run has ended, unless it was cancelled twice.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def perform() -> None:
        try:
            settle = partial(ended.set_result, work(loop))
        except BaseException as error:  # noqa: BLE001 - it is raised where the run is awaited
            settle = partial(ended.set_exception, error)
        with suppress(RuntimeError):  # the loop has been closed: nobody awaits it
            loop.call_soon_threadsafe(settle)

    threading.Thread(target=perform, name="headway-run", daemon=True).start()
    try:
        return await asyncio.shield(ended)
    except asyncio.CancelledError:
        interrupt.request(signal.SIGINT)
        await asyncio.wait([ended])
        raise
