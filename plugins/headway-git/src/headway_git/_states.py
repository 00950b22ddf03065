"""
How a state stands in a git tree.

A mapping from safe paths to texts is a folder of files that people can read.  Everything else is
one file, ``artifact.json``.  Which of the two it is stands in the commit, so they can't be
confused, and no path that some platform would misread ever reaches git.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import attrs

from headway.contracts import Artifact, Json, canonical_json
from headway.errors import UnsafeNameError
from headway.names import check_paths
from headway_git._objects import New, add
from headway_git._trees import EMPTY, Folder, files, read_folder, revised

Format: TypeAlias = Literal["files", "json"]

JSON_FILE = "artifact.json"

_EXPANDED = 3  # levels of a JSON value that have a line for each of their items


@attrs.frozen(eq=False)
class State:
    """
    One state, as a value and as a folder.
    """

    artifact: Artifact
    format: Format
    folder: Folder


def stored(artifact: Artifact, before: State | None, made: New) -> State:
    """
    The folder of a state, what is new in it added to ``made``.

    Args:
        artifact: The state.
        before: A state that is stored already; what both have in common is not built again.
        made: Takes the new objects.
    """
    value: Any = artifact.value
    old = _texts_of(before)
    changed = changed_texts(value, old)
    if changed is None:
        blob = add(made, "blob", readable_json(value).encode())
        return State(artifact, "json", revised(EMPTY, {JSON_FILE: blob}, made))
    changes: dict[str, bytes | None] = dict.fromkeys(old.keys() - value.keys())
    changes |= {path: add(made, "blob", text) for path, text in changed.items()}
    base = EMPTY if before is None or before.format != "files" else before.folder
    return State(artifact, "files", revised(base, changes, made) if changes else base)


def _texts_of(state: State | None) -> Mapping[str, str]:
    return {} if state is None or state.format != "files" else state.artifact.value


def changed_texts(value: Json, old: Mapping[str, str]) -> dict[str, bytes] | None:
    """
    The texts of a mapping that ``old`` does not have; None when it can't be a folder of files.

    ``old`` is a folder of files already.
    """
    if not value or not isinstance(value, dict):
        return None
    texts: dict[Any, Any] = value
    if not all(isinstance(text, str) for text in texts.values()):
        return None
    try:
        if texts.keys() != old.keys():  # else the paths were checked before
            check_paths(texts)
        return {path: text.encode() for path, text in texts.items() if old.get(path) != text}
    except (UnsafeNameError, UnicodeEncodeError):  # no file could be called or hold that
        return None


def loaded(
    tree: bytes, form: Format, read: Callable[[bytes, str], bytes], before: State | None
) -> State:
    """
    A state from its folder; what it has in common with ``before`` is not read again.

    Raises:
        ValueError: there is something else than was written.
    """
    known = before.folder if before is not None else EMPTY
    folder = read_folder(tree, read, known)
    if form == "json":
        blobs = dict(files(folder))
        value = json.loads(read(blobs.get(JSON_FILE, b""), "blob"))
        return State(Artifact(value), form, folder)
    old = _texts_of(before)
    at_hand = {blob: old[path] for path, blob in files(known)} if old else {}
    texts: dict[str, str] = {}
    for path, blob in files(folder):
        text = at_hand.get(blob)
        texts[path] = read(blob, "blob").decode() if text is None else text
    return State(Artifact(texts), form, folder)


def readable_json(value: Json) -> str:
    """
    A JSON value as text: a line for each item of the upper levels, so that git shows what changed.

    >>> print(readable_json({"b": {"y": 1, "x": [1.0, True]}, "a": []}), end="")
    {
     "a": [],
     "b": {
      "x": [1.0,true],
      "y": 1
     }
    }
    """
    return _spelled(json.loads(canonical_json(value)), 0) + "\n"


def _spelled(value: Any, level: int) -> str:
    items = _items(value) if level < _EXPANDED else None
    if not items:
        return canonical_json(value)
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    inner, outer = "\n" + " " * (level + 1), "\n" + " " * level
    lines = ("," + inner).join(name + _spelled(item, level + 1) for name, item in items)
    return f"{opened}{inner}{lines}{outer}{closed}"


def _items(value: Any) -> list[tuple[str, Any]] | None:
    if isinstance(value, dict):
        mapping: dict[str, Any] = value
        return [(f"{canonical_json(name)}: ", mapping[name]) for name in sorted(mapping)]
    if isinstance(value, list):
        items: list[Any] = value
        if items and isinstance(items[0], str | list | dict):
            return [("", item) for item in items]
    return None  # a vector of numbers stays on one line
