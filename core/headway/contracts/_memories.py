"""
What an optimizer remembers: a JSON value that may hold artifacts, which are never copied.

An optimizer that keeps many states holds them as artifacts: each of its steps is then given, and gives
back, as many digests and not as many states, and a journal writes a state once.
"""

from __future__ import annotations

import json

from headway.contracts._depth import DEEPEST, check_depth
from headway.contracts._values import Artifact, Json

_MARK = "$artifact"
_IN_TEXT = json.dumps(_MARK) + ":"


def memory_text(memory: Json, held: dict[str, Artifact] | None = None) -> str:
    """
    The one spelling of a memory, in which an artifact is its content digest.

    Args:
        memory: The memory.
        held: Filled with the artifacts that are in it, by their digest.

    Raises:
        TypeError: it is made of something else, or has a key that stands for artifacts.
        ValueError: it holds NaN or an infinity.
    """
    named = 0

    def name(value: object) -> Json:
        nonlocal named
        if not isinstance(value, Artifact):
            message = f"a memory holds JSON values and artifacts, and no {type(value).__name__}"
            raise TypeError(message)
        named += 1
        if held is not None:
            held[value.digest] = value
        return {_MARK: value.digest}

    encoder = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, default=name)
    text = encoder.encode(memory)
    # A key that only ends like that has a backslash before its quotation mark.
    if text.count(_IN_TEXT) - text.count("\\" + _IN_TEXT) != named:
        message = f"a memory has the key {_MARK!r}, which stands for artifacts; call it otherwise"
        raise TypeError(message)
    return text


def memory_copy(memory: Json) -> Json:
    """
    A copy as it would come back from a file, so that nobody can change what the machine keeps.

    Its artifacts are the same, since nobody changes an artifact.

    Raises:
        TypeError: it is made of something else, or has a key that stands for artifacts.
        ValueError: it holds NaN or an infinity, or is nested too deep.
    """
    if memory is None:
        return None
    held: dict[str, Artifact] = {}
    text = memory_text(memory, held)
    if text.count("[") + text.count("{") > DEEPEST:  # most have not that many in all
        check_depth(memory, "a memory")
    if not held:
        return json.loads(text)

    def read(value: dict[str, Json]) -> Json:
        return held[value[_MARK]] if _MARK in value else value

    return json.loads(text, object_hook=read)
