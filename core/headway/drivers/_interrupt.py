"""
Ctrl-C and its like: remembered at once, acted upon where nothing is half done.

An exception that a signal handler raises may come between any two steps of the interpreter: in the
middle of an event, or of a lock's release.  So a handler raises nothing while a driver is at work;
it asks the driver, which stops between two events.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

import attrs

IMPATIENT = 1.0
"""
Seconds after which a second request gives up the result.

Some launchers pass on a signal that the terminal has sent to everybody already.
"""


@attrs.define(eq=False)
class Interrupt:
    """
    A request to end a run, made by a signal handler, before, during or after that run.

    Before the run it raises ``KeyboardInterrupt``; from ``begin`` on it asks the driver, as soon as
    there is one; after ``end`` it is only remembered.
    """

    number: int | None = attrs.field(default=None, init=False)
    _ask: Callable[[], None] | None = attrs.field(default=None, init=False)
    _begun: bool = attrs.field(default=False, init=False)
    _over: bool = attrs.field(default=False, init=False)
    _at: float = attrs.field(default=0.0, init=False)

    def request(self, number: int) -> None:
        """
        End the run.

        Args:
            number: The signal's number; the first one is kept.

        Raises:
            KeyboardInterrupt: the run has not begun, or this is asked for the second time.
        """
        first = self.number is None
        if first:
            self.number, self._at = number, time.monotonic()
        if self._over:
            return
        if not self._begun or time.monotonic() - self._at > IMPATIENT:
            raise KeyboardInterrupt
        ask = self._ask  # a driver that ends on another thread takes it away
        if first and ask is not None:
            ask()

    def begin(self) -> None:
        """
        The run begins: from now on there is a result to be had.
        """
        self._begun = True

    @contextmanager
    def asking(self, ask: Callable[[], None]) -> Generator[None, None, None]:
        """
        Have a driver asked, which calls nothing that a signal handler may not.
        """
        self._ask = ask
        try:
            if self.number is not None:  # it came before the driver did
                ask()
            yield
        finally:
            self._ask = None

    def end(self) -> None:
        """
        The run is over: from now on requests are only remembered.
        """
        self._over = True

    @contextmanager
    def catching(self, *numbers: signal.Signals) -> Generator[None, None, None]:
        """
        Let signals make the request; puts back what handled them before.

        On another thread than the main one it does nothing, since Python handles signals there.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._handle) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.request(number)


@contextmanager
def catching_signals() -> Generator[Interrupt, None, None]:
    """
    An interrupt that Ctrl-C and SIGTERM make, unless the program handles them in its own way.
    """
    interrupt = Interrupt()
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    numbers = [number for number, handler in usual.items() if signal.getsignal(number) is handler]
    with interrupt.catching(*numbers):
        yield interrupt
