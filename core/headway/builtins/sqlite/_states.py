"""
How states lie in the file: a mapping as what is different from the version before it.

Guarantees: a state is given back exactly as it was committed, also where Python calls two values
equal that JSON spells differently, and never without its content digest having been compared.

Only what a commit changed is written, and a whole copy when 64 differences have come together or
they have outgrown one, so that reading a version reads no more than two copies' worth.  A state that
is no mapping of names is always written whole.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import attrs

from headway.contracts import Artifact, Json, canonical_json, text_digest
from headway.errors import LedgerCorrupt, LedgerError

STATES = """
CREATE TABLE IF NOT EXISTS ledger_state (
    id INTEGER PRIMARY KEY,
    base INTEGER,
    blob INTEGER NOT NULL,
    body BLOB NOT NULL
)
"""
"""``base`` is the state that this is a difference from; from a ``blob`` no difference is taken."""

LONGEST_CHAIN = 64
"""After so many differences a state is written whole."""

_COMPRESSED_FROM = 4096
"""Bytes from which on a text is worth compressing."""

_SET, _DROP = "set", "drop"

Part: TypeAlias = str | tuple[str]
"""
What stands at a name: a text as it is, anything else by its spelling.

A spelling is kept, and not the value, since values that are equal to Python (1, 1.0, true) are not
all one, and since somebody may have changed a value in place.
"""


@attrs.frozen(eq=False)
class Stored:
    """
    A state that lies in the file, and what the next one is compared with.

    Args:
        id: Its row.
        artifact: The state.
        parts: What stands at each name; None when no difference can be taken from it.
        chain: How many differences lie between it and a whole copy.
        tail: The bytes of those differences.
        whole: The bytes of the whole copy.
    """

    id: int
    artifact: Artifact
    parts: Mapping[str, Part] | None
    chain: int
    tail: int
    whole: int


@attrs.define(eq=False)
class States:
    """
    Writes and reads states, inside the transactions of whoever calls.

    Args:
        path: The file, for errors.
        reads: How many states were read from it.
    """

    path: str
    reads: int = 0

    def put(
        self, connection: sqlite3.Connection, artifact: Artifact, before: Stored | None
    ) -> Stored:
        """
        Write a state, as a difference from the one before it where that is shorter.

        Raises:
            LedgerError: the state was changed in place after its digest had been made.
        """
        difference = None if before is None else _difference(before, artifact.value)
        if before is None or difference is None:
            return self._put_whole(connection, artifact)
        text, parts = difference
        if before.chain + 1 >= LONGEST_CHAIN or before.tail + len(text) > before.whole:
            return self._put_whole(connection, artifact)
        row = _insert(connection, before.id, False, text)
        tail = before.tail + len(text)
        return Stored(row, artifact, parts, before.chain + 1, tail, before.whole)

    def get(self, connection: sqlite3.Connection, row: int, digest: str, place: str) -> Stored:
        """
        Read a state.

        Args:
            connection: In a transaction.
            row: The state's row.
            digest: What its content digest must be.
            place: What the error names, such as ``version 7 of dev``.

        Raises:
            LedgerCorrupt: it is not there, or not what was written.
        """
        self.reads += 1
        rows = connection.execute(_CHAIN, (row,)).fetchall()
        try:
            stored = _rebuilt(row, rows, digest)
        except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
            # Damaged bytes may decode to anything.
            raise LedgerCorrupt(self.path, place, f"its state can't be read: {error}") from error
        if isinstance(stored, str):
            raise LedgerCorrupt(self.path, place, stored)
        return stored

    def _put_whole(self, connection: sqlite3.Connection, artifact: Artifact) -> Stored:
        text = canonical_json(artifact.value)
        if text_digest(text) != artifact.digest:
            raise LedgerError("the state was changed in place after it had been given its digest")
        parts = _parts(artifact.value, text)
        row = _insert(connection, None, parts is None, text)
        return Stored(row, artifact, parts, 0, 0, len(text))


_CHAIN = f"""
WITH RECURSIVE chain(step, base, blob, body) AS (
    SELECT 0, base, blob, body FROM ledger_state WHERE id = ?
    UNION ALL
    SELECT step + 1, state.base, state.blob, state.body
    FROM chain JOIN ledger_state AS state ON state.id = chain.base
    WHERE step < {LONGEST_CHAIN}
)
SELECT base, blob, body FROM chain ORDER BY step
"""  # noqa: S608 - a number of this module


def _insert(connection: sqlite3.Connection, base: int | None, blob: bool, text: str) -> int:
    body = text.encode()
    if len(body) >= _COMPRESSED_FROM:
        body = zlib.compress(body, 1)
    statement = "INSERT INTO ledger_state (base, blob, body) VALUES (?, ?, ?)"
    row = connection.execute(statement, (base, blob, body)).lastrowid
    if row is None:
        raise LedgerError("SQLite gave no number for a new row")
    return row


def _text(body: bytes) -> str:
    # No JSON text begins with the letter that zlib's header begins with.
    return (zlib.decompress(body) if body[:1] == b"x" else body).decode()


def _rebuilt(row: int, rows: list[tuple[int | None, int, bytes]], digest: str) -> Stored | str:
    """
    The state, or what is wrong with it.
    """
    if not rows:
        return "its state is missing"
    base, blob, body = rows[-1]
    if base is not None:
        return "the state that it is a difference from is missing"
    text = _text(body)
    value, whole, tail = json.loads(text), len(text), 0
    for _, _, body in reversed(rows[:-1]):
        difference = _text(body)
        tail += len(difference)
        _apply(value, json.loads(difference))
    if len(rows) > 1:
        text = canonical_json(value)
    if text_digest(text) != digest:
        return "its state does not have the content digest that it was committed with"
    parts = None if blob else _all_parts(value)
    return Stored(row, Artifact(value), parts, len(rows) - 1, tail, whole)


def _apply(value: dict[str, Json], difference: dict[str, Any]) -> None:
    for name in difference[_DROP]:
        del value[name]
    value.update(difference[_SET])


def _difference(before: Stored, value: Json) -> tuple[str, Mapping[str, Part]] | None:
    """
    What is different, spelled, and the parts that are there now; None when it can't be told.
    """
    there = before.parts
    if there is None or not isinstance(cast("object", value), dict):
        return None
    # Most parts are the very same texts, and a commit's time is the time of this loop.  A part is
    # never ``there`` itself, which stands for a name that is not there: None could be a new part.
    others = [name for name, item in value.items() if there.get(name, there) is not item]
    parts = {name: _part(value[name]) for name in others}
    changed = {name: part for name, part in parts.items() if there.get(name) != part}
    kept = len(value) - sum(name not in there for name in changed)
    gone = sorted(there.keys() - value.keys()) if kept < len(there) else []
    text = canonical_json({_DROP: gone, _SET: {name: value[name] for name in changed}})
    again = json.loads(text)
    if again[_SET].keys() != changed.keys() or canonical_json(again) != text:
        return None
    now = {**there, **changed}
    for name in gone:
        del now[name]
    return text, now


def _parts(value: Json, text: str) -> Mapping[str, Part] | None:
    """
    The parts of a mapping whose spelling stays the same when it is read and spelled again.

    With a number for a name, or half of a surrogate pair, it need not; such a state can be read
    back, but nothing can be put together from it.
    """
    if not isinstance(cast("object", value), dict):
        return None
    again = json.loads(text)
    same = again.keys() == value.keys() and canonical_json(again) == text
    return _all_parts(value) if same else None


def _all_parts(value: dict[str, Json]) -> Mapping[str, Part]:
    return {name: _part(item) for name, item in value.items()}


def _part(item: Json) -> Part:
    return item if type(item) is str else (canonical_json(item),)
