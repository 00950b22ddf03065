"""
Tells observers on a thread of their own, so that a slow one, or one that never returns, holds up
nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

import attrs

from headway.contracts import Notice
from headway.drivers._engine import Telling


@attrs.define(eq=False)
class Teller:
    """
    Passes notices on in order, one at a time; the thread starts with the first one.

    ``put`` and ``end`` are called with the owner's lock held.

    Args:
        telling: Who is told.
        done: Called once nothing more will be told.
        broken: Given what no run survives, when an observer raises that.
        settle: Returns once what a notice tells of will survive a crash.
    """

    telling: Telling
    done: Callable[[], None]
    broken: Callable[[BaseException], None]
    settle: Callable[[], None]
    idle: bool = attrs.field(default=True, init=False)
    _queue: SimpleQueue[Notice | None] = attrs.field(factory=SimpleQueue[Notice | None], init=False)

    def put(self, notice: Notice) -> None:
        """
        Have a notice told.

        Raises:
            RuntimeError: the system starts no thread for it.
        """
        if self.idle:
            threading.Thread(target=self._tell, name="headway-observers", daemon=True).start()
            self.idle = False
        self._queue.put(notice)

    def _tell(self) -> None:
        try:
            while (notice := self._queue.get()) is not None:
                self.settle()
                self.telling(notice)
        except BaseException as error:  # noqa: BLE001 - it ends the run and is raised there
            self.broken(error)
        self.idle = True
        self.done()

    def end(self) -> None:
        """
        There will be no further notice.
        """
        self._queue.put(None)
