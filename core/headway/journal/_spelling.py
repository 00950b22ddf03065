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
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from zlib import crc32

from headway.codec import decode, encode, is_plain
from headway.contracts import NO_USAGE, Json, Outcome
from headway.journal._rows import Row
from headway.machine import PLAIN, CallValue, Done, Event, Tick

_spell = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Damaged(ValueError):  # noqa: N818 - it never leaves the package
    """
    A line is not what was written.
    """


def spell(value: Any) -> str:
    """
    A value as JSON text.

    Raises:
        TypeError: it is neither JSON nor a value of Headway's.
        ValueError: it holds NaN or an infinity.
    """
    return _spell(value if is_plain(value) else encode(value))


def spell_value(value: CallValue) -> str:
    """
    What a call gave, as JSON text.

    Raises:
        TypeError: it is neither JSON nor a value of Headway's.
        ValueError: it holds NaN or an infinity.
    """
    if type(value) is float and value - value == 0:
        return repr(value)
    if type(value) is Outcome and type(value.reward) is float:
        output = "null" if value.output is None else spell(value.output)
        return f'{{"$":"Outcome","reward":{value.reward!r},"output":{output}}}'
    return spell(value)


def spell_row(event: Event, answers: tuple[Any, ...], witness: str, value: str | None) -> str:
    """
    A row as JSON text.

    Args:
        event: The event.
        answers: The look-ups' answers.
        witness: The machine's after it.
        value: What ``spell_value`` said of the event's value, where that is known.
    """
    given = ",".join([_answer(answer) for answer in answers]) if answers else ""
    if type(event) is Done and event.usage is NO_USAGE:
        text = spell_value(event.value) if value is None else value
        return f'["D",{event.now!r},{event.call},{text},[{given}],"{witness}"]'
    if type(event) is Tick:
        return f'["T",{event.now!r},[{given}],"{witness}"]'
    return f'[{spell(event)},[{given}],"{witness}"]'


_SPELLED_PLAIN = spell(PLAIN)


def _answer(answer: Any) -> str:
    if answer is None:
        return "null"
    if type(answer) is float and answer - answer == 0:
        return repr(answer)
    if answer is PLAIN:
        return _SPELLED_PLAIN
    return spell(answer)


def seal(text: str, before: int) -> tuple[str, int]:
    """
    A line and its checksum, which also covers what came before.
    """
    checksum = crc32(text.encode(), before)
    return f"{checksum:08x} {text}", checksum


def read_rows(lines: Iterable[str], before: int) -> Iterator[Row]:
    """
    The rows that lines hold.

    Raises:
        Damaged: a line is not what was written; those before it have been given.
    """
    for line in lines:
        text = line[9:]
        sealed, before = seal(text, before)
        if sealed != line:
            raise Damaged("its checksum does not fit")
        *event, answers, witness = json.loads(text)
        yield Row(_event(event), tuple(decode(answer) for answer in answers), witness)


def _event(written: list[Json]) -> Event:
    read = _EVENTS.get(written[0]) if len(written) > 1 else None
    event: Event = decode(written[0]) if read is None else read(*written[1:])
    return event


_EVENTS: dict[str, Callable[..., Event]] = {
    "D": lambda now, call, value: Done(now, call, decode(value)),
    "T": Tick,
}
"""How to read what was spelled by hand."""
