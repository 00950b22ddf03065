"""
Lets one thread wait until another thread, or a signal, wakes it.

Guarantee: a wake that comes before the wait is not lost, a signal included: the interpreter writes
its number into the same socket, so that a signal which comes just before the wait begins ends it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import threading
from types import TracebackType
from typing import Self

import attrs

_LONGEST = 86_400.0
"""Seconds that one wait may take; some systems can't wait longer."""

_NO_SIGNAL = b"\0"


@attrs.define(eq=False)
class Waker:
    """
    One thread enters it and waits; any thread, and any signal handler, may wake it.

    On the main thread it takes the place of the interpreter's wake-up descriptor, and hands what it
    has read to the one that was there before.
    """

    _read: socket.socket = attrs.field(init=False)
    _write: socket.socket = attrs.field(init=False)
    _selector: selectors.BaseSelector = attrs.field(init=False)
    _before: int = attrs.field(default=-1, init=False)
    _main: bool = attrs.field(default=False, init=False)
    _signals: bytes = attrs.field(default=b"", init=False)
    _woken: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._read, self._write = socket.socketpair()
        self._read.setblocking(False)
        self._write.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._read, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        self._main = threading.current_thread() is threading.main_thread()
        if self._main:
            mine = self._write.fileno()
            self._before = signal.set_wakeup_fd(mine, warn_on_full_buffer=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._main:
            signal.set_wakeup_fd(self._before)
            self._hand_on()
        self._selector.close()
        self._read.close()
        self._write.close()

    def _hand_on(self) -> None:
        self._drain()
        if self._before >= 0 and self._signals:
            with contextlib.suppress(OSError):  # full or closed: whoever left it there knows
                os.write(self._before, self._signals)  # a socket or a pipe

    def wait(self, seconds: float) -> None:
        """
        Wait until woken, or for so many seconds; it may also end early.

        Whoever wakes has changed something before; look for that after every wait.
        """
        self._selector.select(min(max(seconds, 0.0), _LONGEST))
        self._drain()
        self._woken = False  # last: whoever was too early to write has changed something already

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while got := self._read.recv(4096):
                self._signals = (self._signals + got.replace(_NO_SIGNAL, b""))[-64:]

    def wake(self) -> None:
        """
        End the wait, or the next one; does nothing once the waiting thread has left.
        """
        if not self._woken:
            self._woken = True
            with contextlib.suppress(OSError):  # full: it wakes anyway; closed: nobody waits
                self._write.send(_NO_SIGNAL)
