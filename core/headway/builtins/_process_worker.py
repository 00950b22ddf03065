"""
What runs in a process of the executor ``process``: one call after the other, until the pipe ends.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

WORKER = "headway-process"
"""What the processes are called."""


def serve(pipe: Connection) -> None:
    """
    Load functions and call them, as the messages of a pipe say.

    A message is a pickled function, which is called from then on; or it is empty, and the next one
    holds pickled arguments.  Each is answered with a pair of a value and an exception.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program, which ends this one
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # so that what work starts here can be ended with it
    threading.Thread(target=_follow_parent, name="headway-parent", daemon=True).start()
    function: Any = None
    with suppress(EOFError, OSError):
        while True:
            message = pipe.recv_bytes()
            if message:
                function, answer = _loaded(message)
            else:
                answer = _called(function, pipe.recv_bytes())
            pipe.send_bytes(answer)


def _loaded(message: bytes) -> tuple[Any, bytes]:
    try:
        return pickle.loads(message), _spelled(None, None)  # noqa: S301 - our own program wrote it
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in importing is told
        return None, _spelled(None, error)


def _called(function: Any, message: bytes) -> bytes:
    try:
        value = function(*pickle.loads(message))  # noqa: S301 - our own program wrote it
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - it is raised where it was asked for
        return _spelled(None, error)
    try:
        return _spelled(value, None)
    except Exception as error:  # noqa: BLE001 - as for importing
        text = f"what the work returned can't be sent back from its process: {error}"
        return _spelled(None, TypeError(text))


def _spelled(value: Any, error: BaseException | None) -> bytes:
    if error is not None:
        error = _as_it_arrives(error)
    return pickle.dumps((value, error), pickle.HIGHEST_PROTOCOL)


def _as_it_arrives(error: BaseException) -> BaseException:
    """
    The exception, or one that holds its type and its text, where it would not survive the way.
    """
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - we wrote it just now
    except Exception:  # noqa: BLE001 - an exception's own code may raise anything
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _follow_parent() -> None:
    """
    End with the program, also when that was killed and this one is busy.
    """
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        _end_group()


def _end_group() -> None:
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def end_process(process: BaseProcess) -> None:
    """
    Kill a process of ``serve``, with all that it started.
    """
    if process.pid is not None and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # also before it has a group of its own
