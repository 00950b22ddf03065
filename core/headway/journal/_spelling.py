"""
How a row of the journal is spelled: one line of JSON behind a checksum.

The checksum covers the line and all before it, so that a changed, missing or moved line is found and
named.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

from headway.codec import decode, encode
from headway.contracts import Json
from headway.journal._rows import Row
from headway.machine import Event

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
    return _spell(encode(value))


def spell_row(event: Event, answers: tuple[Any, ...], witness: str) -> str:
    """
    A row as JSON text.
    """
    return _spell([encode(event), [encode(answer) for answer in answers], witness])


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
        yield _row(json.loads(text))


def _row(written: Json) -> Row:
    event, answers, witness = written
    return Row(decode(event), tuple(decode(answer) for answer in answers), witness)
