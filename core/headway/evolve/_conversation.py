"""
A step's generator around a plain function that asks by calling.

The function runs on a thread of its own, and only while the step waits for it: the two take turns,
so nothing depends on the order in which threads run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

import attrs

from headway.contracts import Request

T = TypeVar("T")
Ask: TypeAlias = Callable[[Request], Any]


class StepAbandoned(BaseException):
    """
    Raised where a function waits for an answer that will not come: its step was abandoned.
    """


@attrs.frozen
class _Said:
    """
    What the function's thread hands over: a request, its result, or what it raised.
    """

    request: Request | None = None
    result: Any = None
    error: BaseException | None = None


def conversation(function: Callable[[Ask], T]) -> Generator[Request, Any, T]:
    """
    Yield what a function asks for, and send it the answers.

    Args:
        function: Called with ``ask``, which takes a request and returns its answer.

    Raises:
        Exception: what the function raised.
    """
    said: SimpleQueue[_Said] = SimpleQueue()
    heard: SimpleQueue[Any] = SimpleQueue()
    abandoned = threading.Event()

    def ask(request: Request) -> Any:
        if not abandoned.is_set():
            said.put(_Said(request=request))
            answer = heard.get()
            if not abandoned.is_set():
                return answer
        raise StepAbandoned

    def perform() -> None:
        try:
            said.put(_Said(result=function(ask)))
        except BaseException as error:  # noqa: BLE001 - it is raised where the step is resumed
            said.put(_Said(error=error))

    threading.Thread(target=perform, name="headway-old-style", daemon=True).start()
    try:
        while (now := said.get()).request is not None:
            heard.put((yield now.request))
    except GeneratorExit:
        abandoned.set()
        heard.put(None)
        said.get()  # the function has let go before anybody else uses what it uses
        raise
    if now.error is not None:
        raise now.error
    result: T = now.result
    return result
