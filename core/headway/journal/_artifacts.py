"""
The artifacts of a journal: each is written once, as what is different from the one before.

A run measures hundreds of candidates that differ from its head in a line; its rows only name them.
What is read has the content digest that names it, or it is damaged.
"""

from __future__ import annotations

import json
import zlib
from collections import deque
from itertools import compress, repeat
from operator import is_not
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary

import attrs

from headway.contracts import Artifact, Json, canonical_json
from headway.errors import LedgerCorrupt

if TYPE_CHECKING:
    import sqlite3

    from headway.builtins.sqlite import Database

TABLE = """
CREATE TABLE IF NOT EXISTS journal_artifact (
    digest TEXT PRIMARY KEY, base TEXT, body BLOB NOT NULL
) WITHOUT ROWID
"""
"""``base`` is the artifact that this is a difference from; without one it is whole."""

_LONGEST_CHAIN = 64
"""After so many differences an artifact is written whole."""

_RECENT = 128
"""How many of the artifacts that were read last are kept, whoever else holds them."""

_COMPRESSED_FROM = 4096
"""Bytes from which on a text is worth compressing."""

_AT_ONCE = 256
"""How many artifacts are written by one statement."""

_spell = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode

_Line: TypeAlias = tuple[str, "str | None", bytes]


@attrs.define(eq=False)
class Artifacts:
    """
    Writes and reads the artifacts of one journal.

    One thread at a time names them, one at a time writes them down, and one at a time reads.

    Args:
        database: Where they lie.
    """

    database: Database
    _written: set[str] = attrs.field(factory=set[str], init=False)
    _last: Artifact | None = attrs.field(default=None, init=False)
    _chain: int = attrs.field(default=0, init=False)
    _named: list[Artifact] = attrs.field(factory=list[Artifact], init=False)
    _lines: list[_Line] = attrs.field(factory=list[_Line], init=False)
    _read: WeakValueDictionary[str, Artifact] = attrs.field(
        factory=WeakValueDictionary[str, Artifact], init=False
    )
    _recent: deque[Artifact] = attrs.field(factory=lambda: deque(maxlen=_RECENT), init=False)

    def look(self) -> None:
        """
        See what has been written before.
        """
        with self.database.reading() as connection:
            found = connection.execute("SELECT digest FROM journal_artifact")
            self._written = {digest for (digest,) in found}

    # ------------------------------------------------------------------ writing

    def name(self, artifact: Artifact) -> Json:
        """
        What stands for an artifact; one that was not written yet is with the next ``flush``.
        """
        digest = artifact.digest
        if digest not in self._written:
            self._named.append(artifact)
            self._written.add(digest)
        return {"$a": digest}

    def _line(self, artifact: Artifact) -> _Line:
        digest = artifact.digest
        if self._last is not None and self._chain < _LONGEST_CHAIN:
            difference = _difference(self._last.value, artifact.value)
            if difference is not None:
                self._chain += 1
                return digest, self._last.digest, difference.encode()
        self._chain = 0
        body = canonical_json(artifact.value).encode()
        return digest, None, zlib.compress(body, 1) if len(body) >= _COMPRESSED_FROM else body

    def flush(self, connection: sqlite3.Connection) -> None:
        """
        Write down what was named since the last time that it ``landed``.
        """
        for artifact in self._named[len(self._lines) :]:
            self._lines.append(self._line(artifact))
            self._last = artifact
        # Each statement lets go of the interpreter and must wait to have it back, so they are few.
        for at in range(0, len(self._lines), _AT_ONCE):
            lines = self._lines[at : at + _AT_ONCE]
            places = ",".join(["(?, ?, ?)"] * len(lines))
            connection.execute(
                f"INSERT INTO journal_artifact VALUES {places}",  # noqa: S608 - holds no values
                [part for line in lines for part in line],
            )

    def landed(self) -> None:
        """
        What was flushed is on the disk.
        """
        del self._named[: len(self._lines)]
        self._lines = []

    # ------------------------------------------------------------------ reading

    def get(self, digest: str) -> Artifact:
        """
        The artifact of a digest.

        Raises:
            LedgerCorrupt: it is missing, or not what was written.
        """
        known = self._read.get(digest)
        if known is None:
            try:
                known = Artifact(self._value(digest))
                damage = "" if known.digest == digest else "its content digest is another"
            except (ValueError, TypeError, KeyError, zlib.error) as error:
                damage = str(error)
            if known is None or damage:
                place = f"the artifact {digest[:12]}"
                raise LedgerCorrupt(str(self.database.path), place, damage)
            self._read[digest] = known
        self._recent.append(known)
        return known

    def _value(self, digest: str) -> Json:
        """
        A state, put together from the nearest one that is known or whole.
        """
        name: str | None = digest
        differences: list[dict[str, Any]] = []
        value: Json = None
        with self.database.reading() as connection:
            while name is not None:
                if (near := self._read.get(name)) is not None:
                    value = dict(near.value)
                    break
                find = "SELECT base, body FROM journal_artifact WHERE digest = ?"
                row = connection.execute(find, (name,)).fetchone()
                if row is None or len(differences) > _LONGEST_CHAIN:
                    raise ValueError("it is missing")
                name, content = row[0], json.loads(_text(row[1]))
                if name is None:
                    value = content
                else:
                    differences.append(content)
        for difference in reversed(differences):
            for gone in difference["drop"]:
                del value[gone]
            value.update(difference["set"])
        return value


def _text(body: bytes) -> str:
    # No JSON text begins with the letter that zlib's header begins with.
    return (zlib.decompress(body) if body[:1] == b"x" else body).decode()


def _is_mapping(value: object) -> bool:
    return type(value) is dict


def _is_text(value: object, text: str) -> bool:
    return type(value) is str and value == text


def _difference(before: Json, after: Json) -> str | None:
    """
    What is set and dropped between two mappings, spelled; None when it can't be told or is no less.
    """
    if not (_is_mapping(before) and _is_mapping(after)):
        return None
    # A part that is the very same object is the same; of any other only texts are compared, since
    # Python calls values equal that JSON spells differently.  ``before`` stands for what is not there.
    olds = map(before.get, after, repeat(before))
    others = compress(after, map(is_not, after.values(), olds))
    changed = {
        name: part
        for name in others
        if not (type(part := after[name]) is str and _is_text(before.get(name), part))
    }
    if 2 * len(changed) > len(after) or not all(type(name) is str for name in changed):
        return None
    gone = [] if len(before.keys() & after.keys()) == len(before) else [*(before.keys() - after)]
    return _spell({"set": changed, "drop": sorted(gone)})
