"""
The floor: workers that take the next duration, wait, and do nothing else.
"""

from __future__ import annotations

import asyncio
import threading
from itertools import count


def search(case, waits, search):
    del search
    call = waits.wait if case.driver == "threads" else waits.wait_async
    LOOPS[case.driver](call, case.workers, case.rollouts)
    return {}


def loop_threads(call, workers, times):
    """
    Call a function so many times in all, from so many threads.
    """
    tickets = count()

    def work():
        while next(tickets) < times:
            call()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def loop_asyncio(call, workers, times):
    """
    Await a coroutine function so many times in all, from so many tasks.
    """
    tickets = count()

    async def work():
        while next(tickets) < times:
            await call()

    async def main():
        await asyncio.gather(*(work() for _ in range(workers)))

    asyncio.run(main())


LOOPS = {"threads": loop_threads, "asyncio": loop_asyncio}
