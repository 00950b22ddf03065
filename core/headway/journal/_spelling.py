"""
How a row of the journal is spelled: one line of JSON behind a checksum.

The checksum covers the line and all before it, so that a changed, missing or moved line is found and
named.  A row is ``[event, answers, witness]``.  What comes with every rollout is spelled by hand, the
rest by way of the codec; both are read by the codec's rules:

==========================================  ===============================================
``["D", now, call, value, answers, w]``     ``Done`` that was charged with nothing
``["T", now, answers, w]``                  ``Tick``
``[event, answers, w]``                     any other event
==========================================  ===============================================
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring_ascii as _text
from typing import Any, cast
from zlib import crc32

from headway.codec import Decoder, Encoder, encode, is_plain
from headway.contracts import NO_USAGE, Json, Outcome, Proposal
from headway.journal._rows import Row
from headway.machine import PLAIN, CallValue, Done, Event, Tick

_spell = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Damaged(ValueError):  # noqa: N818 - it never leaves the package
    """
    A line is not what was written.
    """


def spell(value: Any, encode: Encoder = encode) -> str:
    """
    A value as JSON text.

    Args:
        value: The value.
        encode: What writes it as JSON.

    Raises:
        TypeError: it is neither JSON nor a value of Headway's.
        ValueError: it holds NaN or an infinity.
    """
    return _spell(value if is_plain(value) else encode(value))


DEEPEST = 100
"""How deep a call's value may be nested: reading it again must not depend on whose stack that is on."""


def _check_depth(value: Any) -> None:
    """
    Raises:
        ValueError: a value is nested too deep.
    """
    level: list[Any] = [value]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner += cast("dict[str, Any]", item).values()
            elif isinstance(item, list | tuple):
                inner += cast("list[Any]", item)
        if not inner:
            return
        level = inner
    raise ValueError(f"it is nested more than {DEEPEST} deep")


def spell_value(value: CallValue) -> str | None:
    """
    What a call gave, as JSON text, before anybody changes it in place.

    None when nobody can, so that it may be spelled later, or when an artifact may be in it, which is
    written once.

    Raises:
        TypeError: it is neither JSON nor a value of Headway's.
        ValueError: it holds NaN or an infinity, or is nested too deep.
    """
    if type(value) is Outcome:
        if type(value.output) in _UNCHANGING:
            return None
        _check_depth(value.output)
        return _outcome(value)
    if value is None or (type(value) is float and value - value == 0):
        return None
    if type(value) is Proposal:
        _check_depth(value.diff)
    text = spell(value)
    return text if type(value) is Proposal else None


_UNCHANGING = frozenset({type(None), bool, str})
"""What is spelled later; not whole numbers, which can be too long to be spelled."""


def _outcome(outcome: Outcome) -> str:
    output = outcome.output
    text = "null" if output is None else _text(output) if type(output) is str else spell(output)
    return f'{{"$":"Outcome","reward":{outcome.reward!r},"output":{text}}}'


def _value(value: CallValue, encode: Encoder) -> str:
    if type(value) is Outcome:
        return _outcome(value)
    return repr(value) if type(value) is float else spell(value, encode)


def spell_row(
    event: Event, answers: tuple[Any, ...], witness: str, *, value: str | None, encode: Encoder
) -> str:
    """
    A row as JSON text.

    Args:
        event: The event.
        answers: The look-ups' answers.
        witness: The machine's after it.
        value: What ``spell_value`` said of the event's value, where that is known.
        encode: What writes values as JSON.
    """
    given = ",".join([_answer(answer, encode) for answer in answers]) if answers else ""
    if type(event) is Done and event.usage is NO_USAGE:
        text = _value(event.value, encode) if value is None else value
        return f'["D",{event.now!r},{event.call},{text},[{given}],"{witness}"]'
    if type(event) is Tick:
        return f'["T",{event.now!r},[{given}],"{witness}"]'
    return f'[{spell(event, encode)},[{given}],"{witness}"]'


_SPELLED_PLAIN = spell(PLAIN)


def _answer(answer: Any, encode: Encoder) -> str:
    if answer is None:
        return "null"
    if type(answer) is str:
        return _text(answer)
    if type(answer) is float and answer - answer == 0:
        return repr(answer)
    if answer is PLAIN:
        return _SPELLED_PLAIN
    return spell(answer, encode)


def seal(text: str, before: int) -> tuple[str, int]:
    """
    A line and its checksum, which also covers what came before.
    """
    checksum = crc32(text.encode(), before)
    return f"{checksum:08x} {text}", checksum


def read_rows(lines: Iterable[str], before: int, decode: Decoder) -> Iterator[Row]:
    """
    The rows that lines hold.

    Args:
        lines: The lines.
        before: The checksum of all that came before.
        decode: What reads values.

    Raises:
        Damaged: a line is not what was written; those before it have been given.
    """
    for line in lines:
        text = line[9:]
        sealed, before = seal(text, before)
        if sealed != line:
            raise Damaged("its checksum does not fit")
        *event, answers, witness = json.loads(text)
        yield Row(_event(event, decode), tuple(map(decode, answers)), witness)


def is_interruption(line: str) -> bool:
    """
    Whether a line holds the event by which somebody interrupted the run.
    """
    try:
        event = json.loads(line[9:])[0]
    except (ValueError, LookupError, TypeError):  # damage is told where rows are read
        return False
    said = cast("dict[str, Json]", event) if isinstance(event, dict) else {}
    return (said.get("$"), said.get("reason")) == ("Stop", "interrupted")


def _event(written: list[Json], decode: Decoder) -> Event:
    if written[0] == "D":
        _, now, call, value = written
        return Done(now, call, decode(value))
    if written[0] == "T":
        return Tick(written[1])
    event: Event = decode(written[0])
    return event
