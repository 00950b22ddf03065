"""
Events and values as JSON and back: no pickle, nothing but what is listed here.

An attrs class becomes ``{"$": name, field: value, ...}``, without the fields that are left at their
default; a tuple ``{"$t": [...]}``; a dict that itself has a key beginning with ``$`` is wrapped.  A
value of a class derived from a JSON type is read as one of that type.  An artifact may be written as something that stands for it, ``{"$a": ...}``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import attrs

from headway import contracts, machine
from headway.contracts import KEEP, Artifact, Json

_MARK = "$"


@cache
def _classes() -> dict[str, type]:
    names = {**vars(contracts), **vars(machine)}
    return {n: c for n, c in names.items() if isinstance(c, type) and attrs.has(c)}


def _is_ours(kind: type) -> bool:
    return _classes().get(kind.__name__) is kind


@cache
def _fields(kind: Any) -> tuple[tuple[str, object], ...] | None:
    """
    The fields of one of Headway's values and their defaults; None for any other class.
    """
    if not _is_ours(kind):
        return None
    return tuple((field.name, field.default) for field in attrs.fields(kind))


def _kind(value: object) -> type:
    return type(value)


@attrs.frozen
class Encoder:
    """
    Writes values as JSON.

    Args:
        artifact: How an artifact is written; None for as every other value is.
    """

    artifact: Callable[[Artifact], Json] | None = None

    def __call__(self, value: Any) -> Json:
        """
        A value as JSON.

        Raises:
            TypeError: it holds something that is neither JSON nor one of Headway's values.
        """
        kind = _kind(value)
        if kind in _LEAVES:
            return value
        write = _WRITERS.get(kind)
        return self._object(value) if write is None else write(self, value)

    def list(self, value: Any) -> Json:
        """
        A list as JSON.
        """
        return [item if type(item) in _LEAVES else self(item) for item in value]

    def dict(self, value: Any) -> Json:
        """
        A dict as JSON.
        """
        plain = {_checked_key(key): self(item) for key, item in value.items()}
        return {"$d": plain} if any(key.startswith(_MARK) for key in plain) else plain

    def _object(self, value: Any) -> Json:
        kind = _kind(value)
        if value is KEEP:
            return {"$keep": True}
        if kind is Artifact and self.artifact is not None:
            return self.artifact(value)
        fields = _fields(kind)
        if fields is None:
            for base in _BASES:
                if isinstance(value, base):  # as ``json`` takes it, such as a text of NumPy's
                    return _WRITERS[base](self, value)
            message = f"{value!r} can't be journalled: it is neither JSON nor a value of Headway's"
            raise TypeError(message)
        written: dict[str, Json] = {_MARK: kind.__name__}
        for name, default in fields:
            item = getattr(value, name)
            if item is not default:
                written[name] = item if type(item) in _LEAVES else self(item)
        return written


def _checked_key(key: object) -> str:
    if not isinstance(key, str):
        message = (
            f"{key!r} is the key of a dict, and can't be journalled: JSON has only texts there"
        )
        raise TypeError(message)
    return key


def is_plain(value: Any) -> bool:
    """
    Whether ``encode`` would give just this value; False only says that it is to be asked.
    """
    if _kind(value) is not dict:
        return _kind(value) in _LEAVES
    for key, item in value.items():
        if type(item) not in _LEAVES or type(key) is not str or key.startswith(_MARK):
            return False
    return True


_LEAVES = frozenset({type(None), bool, int, float, str})

_WRITERS: dict[type, Callable[[Encoder, Any], Json]] = {
    tuple: lambda encoder, value: {"$t": Encoder.list(encoder, value)},
    list: Encoder.list,
    dict: Encoder.dict,
    str: lambda _, value: value,
    int: lambda _, value: value,
    float: lambda _, value: value,
}
"""How to write a value of exactly this type that is no leaf; any other is an object."""

_BASES = (str, int, float, tuple, list, dict)
"""What a value of a class derived from it is written as."""

encode: Final[Encoder] = Encoder()
"""Writes a value as JSON, artifacts whole."""


@attrs.frozen
class Decoder:
    """
    Reads what an ``Encoder`` wrote.

    Args:
        artifact: How to read what stands for an artifact, by the key ``$a``.
    """

    artifact: Callable[[Json], Artifact] | None = None

    def __call__(self, value: Json) -> Any:
        """
        The value that was written.
        """
        kind = _kind(value)
        if kind is list:
            return [self(item) for item in value]
        return self._dict(value) if kind is dict else value

    def _dict(self, value: Any) -> Any:
        if _MARK in value:
            fields = {key: self(item) for key, item in value.items() if key != _MARK}
            return _classes()[value[_MARK]](**fields)
        if "$t" in value:
            return tuple(self(item) for item in value["$t"])
        if "$a" in value and self.artifact is not None:
            return self.artifact(value["$a"])
        if "$keep" in value:
            return KEEP
        return {key: self(item) for key, item in value.get("$d", value).items()}


decode: Final[Decoder] = Decoder()
"""Reads what ``encode`` wrote."""
