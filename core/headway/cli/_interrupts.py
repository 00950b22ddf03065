"""
Ctrl-C and SIGTERM during a command that has something to finish.

Both raise ``KeyboardInterrupt`` on the main thread while the run is on, and are only remembered once
it is over, so that a result is written whole or not at all.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

import attrs

from headway.contracts import Notice, RunFinished

_Handler = Callable[[int, FrameType | None], Any] | int | None


@attrs.define(eq=False)
class Interrupts:
    """
    Handles both signals inside ``with``, and puts back what handled them before.

    On another thread than the main one it does nothing, since Python allows handlers there only.
    As an observer it learns when the run is over.
    """

    caught: int | None = attrs.field(default=None, init=False)
    deferred: bool = attrs.field(default=False, init=False)
    _before: dict[signal.Signals, _Handler] = attrs.field(factory=dict, init=False)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self, notice: Notice) -> None:
        """
        Only remember what comes after the end of the run.
        """
        if isinstance(notice, RunFinished):
            self.deferred = True

    @property
    def exit_code(self) -> int | None:
        """
        130 after Ctrl-C, 143 after SIGTERM, None when neither came.
        """
        return None if self.caught is None else 128 + self.caught

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.caught is None:
            self.caught = number
        if not self.deferred:
            raise KeyboardInterrupt
