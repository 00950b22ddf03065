"""
Calls of the functions that a user gives: checked once, before anything runs, and made as they ask.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

import attrs

from headway.errors import OptionError

T = TypeVar("T")

BY_NAME = ("rng", "ticket", "payload")
"""What is given to a function that names it."""

Given: TypeAlias = Mapping[str, Any]
"""A value for each of ``BY_NAME``."""


@attrs.frozen(kw_only=True)
class UserCall:
    """
    A user's function, and how it wants to be called.

    Args:
        option: The option that it was given as.
        function: The function, or an object that can be called.
        wants: Which of ``BY_NAME`` it names.
        is_async: Whether it is ``async def``.
    """

    option: str
    function: Callable[..., Any]
    wants: tuple[str, ...]
    is_async: bool

    @classmethod
    def checked(
        cls,
        option: str,
        function: object,
        arguments: Sequence[str],
        by_name: Sequence[str] = BY_NAME,
    ) -> UserCall:
        """
        A function that was held against what it will be called with.

        Args:
            option: The option that it was given as.
            function: What was given.
            arguments: The names of what it is called with, in order.
            by_name: What it is given beside these when it names it.

        Raises:
            OptionError: it cannot be called like that.
        """
        expected = f"{option}({', '.join(arguments)})"
        if not callable(function):
            raise OptionError(option, function, f"Give a function that is called as {expected}.")
        if any(map(_yields, _faces(function))):
            remedy = "It yields, so a call of it gives no value yet: return one."
            raise OptionError(option, _name(function), remedy)
        wants = _wants(function, option, arguments, expected, by_name)
        return cls(option=option, function=function, wants=wants, is_async=_is_async(function))

    def __call__(self, *arguments: Any, given: Given) -> Any:
        """
        Call it; an ``async def`` gives its coroutine.

        Raises:
            TypeError: a plain function gave something to be awaited.
        """
        answer = self.function(*arguments, **{name: given[name] for name in self.wants})
        if not self.is_async and inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()  # else Python warns that nobody awaited it
            message = f"{self.option} returned something to be awaited; write it as async def"
            raise TypeError(message)
        return answer

    async def awaited(self, *arguments: Any, given: Given) -> Any:
        """
        Its answer, without holding up the running loop: a plain function has a thread of its own.
        """
        if self.is_async:
            return await self(*arguments, given=given)
        return await on_a_thread(partial(self, *arguments, given=given))


def on_a_thread(function: Callable[[], T]) -> Awaitable[T]:
    """
    What a plain function gives, called on a daemon thread with the caller's context variables.

    A thread whose answer nobody awaits any more keeps neither the loop nor the interpreter.
    """
    import asyncio  # costs, and only coroutines need it
    import threading
    from contextlib import suppress
    from contextvars import copy_context

    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(give: Callable[[], None]) -> None:
        if not answer.done():
            give()

    def perform() -> None:
        try:
            give = partial(answer.set_result, function())
        except StopIteration as error:  # no future can hold one
            give = partial(answer.set_exception, _without_stop(error))
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is awaited
            give = partial(answer.set_exception, error)
        with suppress(RuntimeError):  # the loop has been closed: nobody awaits it
            loop.call_soon_threadsafe(settle, give)

    context = copy_context()
    threading.Thread(target=context.run, args=(perform,), name="headway-call", daemon=True).start()
    return answer


def _without_stop(error: StopIteration) -> RuntimeError:
    found = RuntimeError(f"the function raised {error!r}")
    found.__cause__ = error
    return found


def _wants(
    function: Callable[..., Any],
    option: str,
    arguments: Sequence[str],
    expected: str,
    by_name: Sequence[str],
) -> tuple[str, ...]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some callables have no signature; the call itself will tell
        return ()
    named = {
        name
        for name, parameter in signature.parameters.items()
        if parameter.kind in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}
    }
    wants = tuple(name for name in by_name if name in named)
    try:
        signature.bind(*arguments, **dict.fromkeys(wants))
        _check_order(signature, arguments)
    except TypeError as error:
        called = f"{_name(function)}{signature}"
        beside = (
            f" Beside these it may only ask for {', '.join(by_name)}, by name." if by_name else ""
        )
        remedy = f"It is called as {expected}, which does not fit: {_unfit(error)}.{beside}"
        raise OptionError(option, called, remedy) from None
    return wants


def _unfit(error: TypeError) -> str:
    told = str(error)
    return "it takes fewer arguments" if told == "too many positional arguments" else told


def _check_order(signature: inspect.Signature, arguments: Sequence[str]) -> None:
    """
    Refuse the right names in another order, which a call would mix up without a word.

    Raises:
        TypeError: that is how they stand.
    """
    first = tuple(signature.parameters)[: len(arguments)]
    if first != tuple(arguments) and sorted(first) == sorted(arguments):
        message = "its parameters stand in another order"
        raise TypeError(message)


def _name(function: object) -> str:
    inner = function.func if isinstance(function, partial) else function
    name = getattr(inner, "__name__", None) or type(inner).__name__
    return str(name)


def _yields(function: object) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _is_async(function: Callable[..., Any]) -> bool:
    return any(map(inspect.iscoroutinefunction, _faces(function)))


def _faces(function: Callable[..., Any]) -> tuple[Any, ...]:
    """
    What a call of an object may run: itself, or its ``__call__``; without ``partial`` around it.
    """
    inner: Any = function
    while isinstance(inner, partial):
        inner = cast("Any", inner).func
    return inner, getattr(inner, "__call__", None)  # noqa: B004 - of an object
