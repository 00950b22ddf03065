"""
The built-in executor that runs work in other processes, and ends one that nobody waits for.
"""

from __future__ import annotations

import atexit
import pickle
import threading
from collections.abc import Callable
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any, TypeAlias

from headway.builtins._process_worker import WORKER, end_process, serve
from headway.errors import OptionError, WorkerLostError

Context: TypeAlias = ForkServerContext | SpawnContext

_ENDING = 5.0
"""Seconds that a killed process has to be gone; only a system in trouble takes longer."""

_ASKING = threading.Lock()
"""
Held while ``multiprocessing`` asks how processes ended, which it does of all of them whenever it
starts one: each answer is there once, and of two threads that ask at once one is given a wrong one.
"""


class ProcessExecutor:
    """
    Runs work in processes of its own, one for each thread that asks at the same time.

    For rollouts that compute in Python, which hold the interpreter's lock, and for such as may hang or
    crash: what nobody waits for any more is killed, with all processes that it started.

    Functions, arguments and results are copies, sent by ``pickle``, so classes and functions must be
    found by importing their module.  What work changes in its process stays there.  A process serves
    one call after the other, and is started when it is first needed.

    Safe to use from several threads at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: dict[int, _Worker] = {}
        self._context: Context = _context()
        self._pickled: tuple[object, bytes] = (None, b"")
        atexit.register(self.close)  # a process that hangs would be waited for

    def begin(self, function: Callable[..., Any]) -> None:
        """
        Try whether a function arrives in another process, so that it is known before a run begins.

        Raises:
            OptionError: it doesn't.
        """
        if self._context.get_start_method() == "forkserver":  # what all will need is imported once
            modules = ["__main__", serve.__module__, type(function).__module__]
            self._context.set_forkserver_preload(modules)
        worker = _Worker(self._context)
        try:
            worker.load(*self._spelled(function))
        except Exception as error:
            worker.kill()
            remedy = (
                f"its process can't be given the domain: {error}.  Put the domain's class, or the "
                "functions of evolve, into a module that can be imported, begin the program behind if "
                "__name__ == '__main__':, and let the domain hold nothing that can't be pickled; or take "
                "executor='thread'."
            )
            raise OptionError("executor", "process", remedy) from error
        with self._lock:
            self._idle.append(worker)

    def run(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """
        Call the function in another process.

        Raises:
            WorkerLostError: the process ended before it had answered.
            TypeError: the function, an argument or the result can't be sent.
        """
        spelled = self._spelled(function)
        sent = _pickled(arguments, "arguments")
        thread = threading.get_ident()
        with self._lock:
            worker = self._idle.pop() if self._idle else _Worker(self._context)
            self._busy[thread] = worker
        try:
            worker.load(*spelled)
            answer = worker.ask(sent)
        except BaseException:
            worker.kill()  # what it would answer later belongs to nobody
            raise
        finally:
            with self._lock:
                del self._busy[thread]
                if not worker.ended:
                    self._idle.append(worker)
        value, error = answer
        if error is not None:
            raise error
        return value

    def kill(self, thread: int) -> None:
        """
        End the process that works for a thread; ``run`` raises there.

        Args:
            thread: As ``threading.get_ident`` says it; one that waits for nothing is let be.
        """
        with self._lock:
            worker = self._busy.get(thread)
        if worker is not None:
            worker.kill()

    def close(self) -> None:
        """
        End all processes, busy ones too; calling it twice is harmless.
        """
        with self._lock:
            workers = [*self._idle, *self._busy.values()]
            self._idle.clear()
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.join()
        atexit.unregister(self.close)

    def _spelled(self, function: Callable[..., Any]) -> tuple[object, bytes]:
        known = self._pickled
        if known[0] is not function:  # nearly always the same one: the calls of a run's domain
            known = self._pickled = (function, _pickled(function, "work"))
        return known


def _context() -> Context:
    """
    How processes are started: never by forking this one, which has threads.
    """
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    return get_context("forkserver")


def _pickled(value: object, what: str) -> bytes:
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        message = f"the {what} can't be sent to another process: {error}"
        raise TypeError(message) from error


class _Worker:
    """
    One process, and the pipe to it.  Used by one thread at a time; ``kill`` may come from any.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._process: BaseProcess | None = None
        self._loaded: object = None
        self.ended = False
        self._pipe, self._other_end = context.Pipe()

    def load(self, function: object, pickled: bytes) -> None:
        """
        Have it call a function from now on.

        Raises:
            WorkerLostError: it is gone.
        """
        if function is self._loaded:
            return
        self._start()
        _, error = self._answer_to(pickled)
        if error is not None:
            raise error
        self._loaded = function

    def ask(self, arguments: bytes) -> tuple[Any, BaseException | None]:
        """
        What the function returns, or what it raises.

        Raises:
            WorkerLostError: the process is gone.
        """
        return self._answer_to(b"", arguments)

    def _answer_to(self, *messages: bytes) -> tuple[Any, BaseException | None]:
        try:
            for message in messages:
                self._pipe.send_bytes(message)
            received = self._pipe.recv_bytes()
        except (EOFError, OSError) as error:
            raise self._lost() from error
        answer: tuple[Any, BaseException | None] = pickle.loads(received)  # noqa: S301 - we wrote it
        return answer

    def _start(self) -> None:
        if self._process is not None:
            return
        process = self._context.Process(target=serve, args=(self._other_end,), name=WORKER)
        with _ASKING:  # takes its time; who kills it meanwhile holds other locks, and must not wait
            process.start()
        self._other_end.close()
        with self._lock:
            self._process = process
            if self.ended:
                end_process(process)

    def _lost(self) -> WorkerLostError:
        return WorkerLostError(self.join())

    def kill(self) -> None:
        """
        End it at once; twice is harmless.
        """
        with self._lock:
            if self.ended:
                return
            self.ended = True
            if self._process is not None:
                end_process(self._process)

    def join(self) -> int | None:
        """
        Wait until it is gone, and say how it ended; None when it never began, or takes too long.
        """
        process = self._process
        if process is None or not wait([process.sentinel], _ENDING):
            return None
        if not _ASKING.acquire(timeout=_ENDING):  # another one's start hangs
            return None
        try:
            process.join(0)
            return process.exitcode
        finally:
            _ASKING.release()
