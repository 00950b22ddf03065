"""
Events and values as JSON and back: no pickle, nothing but what is listed here.

An attrs class becomes ``{"$": name, field: value, ...}``, without the fields that are left at their
default; a tuple ``{"$t": [...]}``; a dict that itself has a key beginning with ``$`` is wrapped.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import attrs

from headway import contracts, machine
from headway.contracts import KEEP, Json

_MARK = "$"


@cache
def _classes() -> dict[str, type]:
    names = {**vars(contracts), **vars(machine)}
    return {n: c for n, c in names.items() if isinstance(c, type) and attrs.has(c)}


@cache
def _fields(kind: Any) -> tuple[tuple[str, object], ...]:
    return tuple((field.name, field.default) for field in attrs.fields(kind))


def encode(value: Any) -> Json:
    """
    A value as JSON.

    Raises:
        TypeError: it holds something that is neither JSON nor one of Headway's values.
    """
    write = _WRITERS.get(type(value))
    return _encode_object(value) if write is None else write(value)


def _kind(value: object) -> type:
    return type(value)


def _same(value: Any) -> Json:
    return value


def _encode_dict(value: Any) -> Json:
    plain = {_checked_key(key): encode(item) for key, item in value.items()}
    return {"$d": plain} if any(key.startswith(_MARK) for key in plain) else plain


def _checked_key(key: object) -> str:
    if type(key) is not str:
        message = (
            f"{key!r} is the key of a dict, and can't be journalled: JSON has only texts there"
        )
        raise TypeError(message)
    return key


def is_plain(value: Any) -> bool:
    """
    Whether ``encode`` would give just this value; False only says that it is to be asked.
    """
    if type(value) is not dict:
        return type(value) in _LEAVES
    for key, item in value.items():
        if type(item) not in _LEAVES or type(key) is not str or key.startswith(_MARK):
            return False
    return True


def _encode_object(value: Any) -> Json:
    kind = _kind(value)
    if value is KEEP:
        return {"$keep": True}
    if _classes().get(kind.__name__) is not kind:
        message = f"{value!r} can't be journalled: it is neither JSON nor a value of Headway's"
        raise TypeError(message)
    held = ((name, getattr(value, name), default) for name, default in _fields(kind))
    fields = {name: encode(item) for name, item, default in held if item is not default}
    return {_MARK: kind.__name__, **fields}


_LEAVES = frozenset({type(None), bool, int, float, str})

_WRITERS: dict[type, Callable[[Any], Json]] = {
    **dict.fromkeys(_LEAVES, _same),
    tuple: lambda value: {"$t": [encode(item) for item in value]},
    list: lambda value: [encode(item) for item in value],
    dict: _encode_dict,
}
"""How to write a value of exactly this type; any other is an object."""


def decode(value: Json) -> Any:
    """
    The value that ``encode`` gave.
    """
    read = _READERS.get(_kind(value))
    return value if read is None else read(value)


def _decode_dict(value: Any) -> Any:
    mark = next((key for key in value if key in _MARKED), None)
    return _decode_plain(value) if mark is None else _MARKED[mark](value)


def _decode_plain(value: Any) -> Any:
    return {key: decode(item) for key, item in value.items()}


def _decode_object(value: Any) -> Any:
    fields = {key: decode(item) for key, item in value.items() if key != _MARK}
    return _classes()[value[_MARK]](**fields)


_READERS: dict[type, Callable[[Any], Any]] = {
    list: lambda value: [decode(item) for item in value],
    dict: _decode_dict,
}

_MARKED: dict[str, Callable[[Any], Any]] = {
    _MARK: _decode_object,
    "$t": lambda value: tuple(decode(item) for item in value["$t"]),
    "$d": lambda value: _decode_plain(value["$d"]),
    "$keep": lambda _: KEEP,
}
"""How to read a dict that is marked by one of these keys."""
