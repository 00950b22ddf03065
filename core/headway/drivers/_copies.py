"""
Copies of JSON values, and whether somebody who had one changed it.

A copy has containers of its own and shares the rest, scalars and artifacts, which nobody changes; so it
is as it was while everything else in it is the very same object.
"""

from __future__ import annotations

import copy
import json
from operator import is_
from typing import Any

from headway.contracts import Artifact, Json, canonical_json
from headway.contracts._depth import check_depth

_SHARED = frozenset({str, int, float, bool, type(None), Artifact})
_CONTAINERS = frozenset({dict, list, tuple})


def copied(value: Json) -> Json:
    """
    A copy that may be changed without changing the original.
    """
    kind = _kind(value)
    if kind in _SHARED:
        return value
    if kind is dict:
        if _SHARED.issuperset(map(type, value.values())):  # as most are
            return value.copy()
        return {k: item if type(item) in _SHARED else copied(item) for k, item in value.items()}
    if kind is list or kind is tuple:
        items = [item if type(item) in _SHARED else copied(item) for item in value]
        return items if kind is list else tuple(items)
    return copy.deepcopy(value)


def json_copy(value: Any) -> Json:
    """
    A copy as it would come back from a file.

    Raises:
        TypeError: it is not made of JSON types.
        ValueError: it holds NaN or an infinity, or is nested too deep.
    """
    check_depth(value, "it")
    return json.loads(canonical_json(value))


def longer_than(value: Json, limit: int) -> bool:
    """
    Whether a value's one spelling is for sure longer than so many characters; spells nothing out.
    """
    left, todo = limit, [value]
    while todo and left >= 0:
        item = todo.pop()
        kind = _kind(item)
        if kind is str:
            left -= len(item) + 2
        elif kind is dict:
            left -= 1 + 2 * len(item)
            todo += [*item, *item.values()] if left >= 0 else ()
        elif kind is list or kind is tuple:
            left -= 1 + len(item)
            todo += item if left >= 0 else ()
        else:
            left -= 1
    return left < 0


def untouched(mine: Any, value: Json) -> bool:
    """
    Whether a copy is for sure as it was made from this value.

    False only says that it must be looked at closely: equal content may be made of other objects.
    """
    if mine is value:
        return True
    if _kind(mine) is not _kind(value) or _kind(value) not in _CONTAINERS:
        return False
    if len(mine) != len(value):
        return False
    if _kind(value) is dict:
        if list(mine) != list(value):
            return False
        mine, value = mine.values(), value.values()
    return all(map(is_, mine, value)) or all(map(untouched, mine, value))


def _kind(value: object) -> type:
    return type(value)
