"""
Events and values as JSON and back: no pickle, nothing but what is listed here.

An attrs class becomes ``{"$": name, field: value, ...}``, a tuple ``{"$t": [...]}``; a dict that
itself has a key beginning with ``$`` is wrapped.
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
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(kind))


def encode(value: Any) -> Json:
    """
    A value as JSON.

    Raises:
        TypeError: it holds something that is neither JSON nor one of Headway's values.
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, tuple):
        return {"$t": [encode(item) for item in value]}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        plain = {key: encode(item) for key, item in value.items()}
        return {"$d": plain} if any(key.startswith(_MARK) for key in plain) else plain
    if value is KEEP:
        return {"$keep": True}
    name = type(value).__name__
    if _classes().get(name) is not type(value):
        message = f"{value!r} can't be journalled: it is neither JSON nor a value of Headway's"
        raise TypeError(message)
    kind: Any = type(value)
    fields = {field: encode(getattr(value, field)) for field in _fields(kind)}
    return {_MARK: name, **fields}


def decode(value: Json) -> Any:
    """
    The value that ``encode`` gave.
    """
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    read = next((_MARKED[key] for key in value if key in _MARKED), _decode_dict)
    return read(value)


def _decode_dict(value: dict[str, Json]) -> Any:
    return {key: decode(item) for key, item in value.items()}


def _decode_object(value: dict[str, Json]) -> Any:
    fields = {key: decode(item) for key, item in value.items() if key != _MARK}
    return _classes()[value[_MARK]](**fields)


_MARKED: dict[str, Callable[[dict[str, Json]], Any]] = {
    _MARK: _decode_object,
    "$t": lambda value: tuple(decode(item) for item in value["$t"]),
    "$d": lambda value: _decode_dict(value["$d"]),
    "$keep": lambda _: KEEP,
}
"""How to read a dict that is marked by one of these keys."""
