"""
Changes of a state that maps keys to values, and the three-way rule by key.

A change is ``{"set": {key: new value}, "was": {key: mark}}``.  None as a new value removes the key.
A mark is a short digest of the value that the change replaces, None where there was none; it is
what lets a change be fitted to a newer state without the state that it was made against.  A plain
``{key: new value}`` is a change, too, which does not know what it replaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

import attrs

from headway._checks import check_choice
from headway.contracts import Json, content_digest
from headway.errors import shown

Conflict: TypeAlias = Literal["theirs", "mine"]
"""Whose value a key keeps that both sides have changed: the newer state's, or the change's."""

CONFLICTS: tuple[Conflict, ...] = ("theirs", "mine")

MARK_LENGTH = 16
"""Hexadecimal digits of a mark: enough to tell the values of one key apart."""


def as_conflict(given: Any) -> Conflict:
    """
    One of the two words.

    Raises:
        OptionError: it is another one.
    """
    check_choice("conflict", given, CONFLICTS)
    word: Conflict = given
    return word


def mark(value: Json) -> str | None:
    """
    A short digest of a value; None for no value.
    """
    return None if value is None else content_digest(value)[:MARK_LENGTH]


@attrs.frozen
class Parsed:
    """
    A change, read.

    Args:
        new: The new value of each key, None to remove it.
        was: The mark of what each key held; a key without one is not known.
    """

    new: Mapping[str, Any]
    was: Mapping[str, str | None]


def parsed(diff: Json) -> Parsed:
    """
    Read a change in either of its forms.

    Raises:
        TypeError: it is no mapping.
    """
    if not isinstance(diff, Mapping):
        message = f"{shown(diff)} is no change by key; give a mapping from keys to new values"
        raise TypeError(message)
    held = cast("Mapping[str, Any]", diff)
    if set(held) == {"set", "was"} and all(isinstance(half, Mapping) for half in held.values()):
        return Parsed(held["set"], held["was"])
    return Parsed(held, {})


def change(new: Mapping[str, Json], state: Mapping[str, Json]) -> Json | None:
    """
    The change that gives keys new values; None when each has its value already.

    Args:
        new: The new values by key; None removes a key.
        state: What the change is made against.

    >>> change({"greeting": "hi", "place": "here"}, {"place": "here"})
    {'set': {'greeting': 'hi'}, 'was': {'greeting': None}}
    """
    left = {key: value for key, value in new.items() if state.get(key) != value}
    return {"set": left, "was": {key: mark(state.get(key)) for key in left}} if left else None


def apply_change(state: Mapping[str, Json], diff: Json) -> dict[str, Json]:
    """
    A new state with the new values, whatever the keys held; the old state stays as it is.

    Raises:
        TypeError: the diff is no change by key.
    """
    new = parsed(diff).new
    kept = {key: value for key, value in state.items() if new.get(key, value) is not None}
    return kept | {key: value for key, value in new.items() if value is not None}


def change_keys(diff: Json) -> tuple[str, ...]:
    """
    The keys that a change gives new values, sorted.

    Raises:
        TypeError: the diff is no change by key.
    """
    return tuple(sorted(parsed(diff).new))


def rebase_change(
    diff: Json, state: Mapping[str, Json], conflict: Conflict = "theirs"
) -> Json | None:
    """
    A change, fitted to a newer state by the three-way rule; None when nothing of it is left.

    For each key: where the state is as the change found it, the change stands; where the state has
    the change's value already, nothing is left to do; where both sides changed it to different
    values, ``conflict`` says which stays.

    Args:
        diff: The change.
        state: The newer state.
        conflict: Whose value stays.

    Raises:
        TypeError: the diff is no change by key.

    >>> mine = change({"a": "2"}, {"a": "1"})
    >>> rebase_change(mine, {"a": "1", "b": "new"}) == mine
    True
    >>> rebase_change(mine, {"a": "3"}) is None
    True
    """
    read = parsed(diff)

    def stands(key: str) -> bool:
        known = key in read.was
        return conflict == "mine" or not known or read.was[key] == mark(state.get(key))

    return change({key: value for key, value in read.new.items() if stands(key)}, state)
