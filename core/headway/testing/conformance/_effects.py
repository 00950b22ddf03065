"""
Watches what a plug-in's code calls: the clock, files, threads, and random numbers that are not its own.

Python's profiler hook sees each call by the thing that is called, whatever name it was imported by.
"""

from __future__ import annotations

import builtins
import datetime as dt
import gc
import io
import random
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, cast

import attrs

_GLOBAL: random.Random = cast("Any", random)._inst
"""The generator behind the functions of the module ``random``."""

_MODULES = {
    "time": "the clock",
    "_thread": "a thread",
    "_posixsubprocess": "another process",
    "_socket": "the network",
    "posix": "the system",
    "nt": "the system",
}
"""Modules in C, by what a call of theirs amounts to."""

_HARMLESS = {
    ("posix", "fspath"),
    ("nt", "fspath"),
    ("_thread", "allocate_lock"),
    ("_thread", "get_ident"),
    ("_thread", "RLock"),
}
_NOW = {"now", "utcnow", "today"}


@attrs.define(eq=False)
class Watch:
    """
    Notes each call that a pure function does not make, with its place.

    Used around the calls of a plug-in, again and again, on one thread.
    """

    seen: list[str] = attrs.field(factory=list[str], init=False)

    @contextmanager
    def __call__(self) -> Generator[None, None, None]:
        """
        Watch what is called inside.
        """
        before, random_before = sys.getprofile(), random.getstate()
        numbers = _numpy_state()
        with _nothing_collected():
            sys.setprofile(self._note)
            try:
                yield
            finally:
                sys.setprofile(before)
                self._look_at_random(random_before, numbers)

    def _look_at_random(self, before: object, numbers: object) -> None:
        if random.getstate() != before:
            self._add("the global random generator, whose state has changed")
        if numbers is not None and _numpy_state() != numbers:
            self._add("numpy's global random generator, whose state has changed")

    def _add(self, what: str) -> None:
        if what not in self.seen:
            self.seen.append(what)

    def _note(self, frame: FrameType, event: str, called: Any) -> None:
        what = None
        if event == "c_call":
            what = _amounts_to(called)
        elif event == "call":
            what = _amounts_to_python(frame)
            frame = frame.f_back or frame
        if what is not None:
            code = frame.f_code
            self._add(f"{what} in {code.co_qualname} ({code.co_filename}:{frame.f_lineno})")


@contextmanager
def _nothing_collected() -> Generator[None, None, None]:
    """
    Keep the garbage collector from running here: what it calls is not the plug-in's.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _amounts_to(called: Any) -> str | None:
    name = getattr(called, "__name__", "")
    module = getattr(called, "__module__", None) or ""
    owner = getattr(called, "__self__", None)
    if called is builtins.open or called is io.open_code:
        return "a file: open"
    if called is builtins.print:
        return "the output: print"
    if owner is _GLOBAL:
        return f"the global random generator: random.{name}"
    if isinstance(owner, type) and issubclass(owner, dt.date) and name in _NOW:
        return f"the clock: {owner.__name__}.{name}"
    if module in _MODULES and (module, name) not in _HARMLESS:
        return f"{_MODULES[module]}: {module}.{name}"
    return None


def _amounts_to_python(frame: FrameType) -> str | None:
    code, local = frame.f_code, frame.f_locals
    if code is random.Random.seed.__code__ and local.get("a") is None:
        return "a random generator that nothing seeds"
    if local.get("self") is _GLOBAL:
        return f"the global random generator: random.{code.co_name}"
    return None


def _numpy_state() -> object:
    numpy = cast("Any", sys.modules.get("numpy.random"))
    return None if numpy is None else repr(numpy.get_state())


def lines_of(function: Callable[[], object], most: int) -> int:
    """
    How many lines of Python a call runs; it is broken off after so many, and one more is given.
    """
    count = 0

    def local(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        del frame, argument
        if event == "line":
            count += 1
            if count > most:
                raise _TooMany
        return local

    before = sys.gettrace()
    with _nothing_collected():
        sys.settrace(local)
        try:
            function()
        except _TooMany:
            pass
        finally:
            sys.settrace(before)
    return count


class _TooMany(BaseException):
    """
    Enough has been seen.
    """


_PLAIN = (str, bytes, int, float, complex, bool, type(None))


def state_of(value: Any, seen: frozenset[int] = frozenset()) -> Any:
    """
    What an object holds, all the way down, to be compared with what it holds later.
    """
    kind = type(value).__name__
    if isinstance(value, _PLAIN):
        return (kind, value)
    if id(value) in seen:
        return "itself"
    if isinstance(value, random.Random):
        return value.getstate()
    if callable(value):
        return id(value)
    seen |= {id(value)}
    held: list[Any] = [kind]
    if isinstance(value, dict):
        held += [(repr(key), state_of(item, seen)) for key, item in _items(value)]
    elif isinstance(value, list | tuple | set | frozenset):
        held += [state_of(item, seen) for item in cast("list[Any]", value)]
    else:
        held += [(name, state_of(item, seen)) for name, item in attributes(value).items()]
    return held


def _items(mapping: Any) -> Any:
    return mapping.items()


def attributes(value: Any) -> dict[str, Any]:
    """
    What is kept on an object, in its ``__dict__`` or its slots.
    """
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    kept = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**kept, **getattr(value, "__dict__", {})}


def _slots(kind: type) -> tuple[str, ...]:
    slots: Any = kind.__dict__.get("__slots__", ())
    named = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in named if name not in ("__dict__", "__weakref__"))
