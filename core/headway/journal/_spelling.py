"""
How a row of the journal is spelled: one line of JSON behind a checksum.

The checksum covers the line and all before it, so that a changed, missing or moved line is found and
named.  A row is ``[event, answers, witness]``.  What comes with every rollout is spelled by hand, the
rest by way of the codec; both are read by the codec's rules:

==========================================  ===============================================
``["D", now, call, value, answers, w]``     ``Done`` that was charged with nothing
``["U", now, call, value, usage, ...]``     ``Done`` that was charged
``["T", now, answers, w]``                  ``Tick``
``[event, answers, w]``                     any other event
==========================================  ===============================================
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from json.encoder import encode_basestring_ascii as _text
from typing import Any, cast
from zlib import crc32

from headway.codec import Decoder, Encoder, encode, is_plain
from headway.contracts import NO_USAGE, Json, Outcome, Proposal
from headway.contracts._depth import check_depth
from headway.errors import shown
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
        check_depth(value.output, "it")
        return _outcome(value)
    if value is None or (type(value) is float and value - value == 0):
        return None
    if type(value) is Proposal:
        check_depth(value.diff, "it")
        return _proposal(value)
    text = spell(value)
    return text if type(value) in _CHANGING else None


_CHANGING = (dict, list)
"""What somebody may change in place, and holds no artifact."""


_UNCHANGING = frozenset({type(None), bool, str})
"""What is spelled later; not whole numbers, which can be too long to be spelled."""


def _outcome(outcome: Outcome) -> str:
    output = outcome.output
    text = "null" if output is None else _text(output) if type(output) is str else spell(output)
    return f'{{"$":"Outcome","reward":{outcome.reward!r},"output":{text}}}'


def _proposal(proposal: Proposal) -> str:
    keys = ",".join(map(_text, proposal.keys))
    rest = ',"no_op":true' if proposal.no_op else ""
    if proposal.contract_breaking:
        rest += ',"contract_breaking":true'
    return (
        f'{{"$":"Proposal","diff":{spell(proposal.diff)},"digest":"{proposal.digest}",'
        f'"keys":{{"$t":[{keys}]}},"size":{proposal.size}{rest}}}'
    )


def _value(value: CallValue, encode: Encoder) -> str:
    if type(value) is Outcome:
        return _outcome(value)
    return repr(value) if type(value) is float else spell(value, encode)


def sealed(text: str, before: int) -> tuple[str, int]:
    """
    A row as a line behind its checksum, and that checksum.

    Args:
        text: The row.
        before: The checksum of all that came before.
    """
    checksum = crc32(text.encode(), before)
    line = "%08x %s" % (checksum, text)  # noqa: UP031 - an f-string takes twice as long
    return line, checksum


def spell_row(
    event: Event, answers: Sequence[Any], witness: str, values: dict[int, str], encode: Encoder
) -> str:
    """
    A row as JSON text.

    Args:
        event: The event.
        answers: The look-ups' answers.
        witness: The machine's.
        values: What ``spell_value`` said, by call; what is used is taken out.
        encode: What writes values as JSON.

    Raises:
        TypeError: it holds something that is neither JSON nor a value of Headway's.
        ValueError: it holds NaN or an infinity.
    """
    given = _answers(answers, encode) if answers else ""
    if type(event) is Done:
        known = values.pop(event.call, None) if values else None
        text = _value(event.value, encode) if known is None else known
        if event.usage is NO_USAGE:
            return f'["D",{event.now!r},{event.call},{text},[{given}],"{witness}"]'
        usage = spell(event.usage, encode)
        return f'["U",{event.now!r},{event.call},{text},{usage},[{given}],"{witness}"]'
    if type(event) is Tick:
        return f'["T",{event.now!r},[{given}],"{witness}"]'
    return f'[{spell(event, encode)},[{given}],"{witness}"]'


_SPELLED_PLAIN = spell(PLAIN)


def _answers(answers: Sequence[Any], encode: Encoder) -> str:
    return ",".join(
        [
            "null"
            if answer is None
            else _SPELLED_PLAIN
            if answer is PLAIN
            else _text(answer)
            if type(answer) is str
            else _answer(answer, encode)
            for answer in answers
        ]
    )


def _answer(answer: Any, encode: Encoder) -> str:
    if type(answer) is float and answer - answer == 0:
        return repr(answer)
    return spell(answer, encode)


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
        before = crc32(text.encode(), before)
        if line[:9] != f"{before:08x} ":
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
    if written[0] == "U":
        _, now, call, value, usage = written
        return Done(now, call, decode(value), decode(usage))
    if written[0] == "T":
        return Tick(written[1])
    event = decode(written[0])
    if not isinstance(event, Event):
        raise Damaged(f"it is of no kind that this version knows: {shown(event)}")
    return event
