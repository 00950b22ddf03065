"""
The artifacts of a journal: each is written once, as what is different from the one before.

A run measures hundreds of candidates that differ from its head in a line; its rows only name them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import attrs

from headway.contracts import Artifact
from headway.errors import LedgerCorrupt

if TYPE_CHECKING:
    import sqlite3

    from headway.builtins.sqlite import Database, States, Stored

TABLE = """
CREATE TABLE IF NOT EXISTS journal_artifact (
    digest TEXT PRIMARY KEY, state INTEGER NOT NULL
) WITHOUT ROWID
"""

_RECENT = 64
"""How many of the artifacts that were read last are kept, whoever else holds them."""


@attrs.define(eq=False)
class Artifacts:
    """
    Writes and reads the artifacts of one journal; used under its owner's care for threads.

    Args:
        database: Where they lie.
    """

    database: Database
    _states: States = attrs.field(init=False)
    _written: set[str] = attrs.field(factory=set[str], init=False)
    _last: Stored | None = attrs.field(default=None, init=False)
    _read: WeakValueDictionary[str, Artifact] = attrs.field(
        factory=WeakValueDictionary[str, Artifact], init=False
    )
    _recent: deque[Artifact] = attrs.field(factory=lambda: deque(maxlen=_RECENT), init=False)

    def __attrs_post_init__(self) -> None:
        from headway.builtins.sqlite import States

        self._states = States(str(self.database.path))

    def look(self) -> None:
        """
        See what has been written before.
        """
        with self.database.reading() as connection:
            found = connection.execute("SELECT digest FROM journal_artifact")
            self._written = {digest for (digest,) in found}

    def put(self, connection: sqlite3.Connection, artifact: Artifact) -> str:
        """
        Write an artifact unless it was written; returns its digest, which stands for it.
        """
        digest = artifact.digest
        if digest not in self._written:
            self._last = self._states.put(connection, artifact, self._last)
            connection.execute(
                "INSERT INTO journal_artifact VALUES (?, ?)", (digest, self._last.id)
            )
            self._written.add(digest)
        return digest

    def get(self, digest: str) -> Artifact:
        """
        The artifact of a digest.

        Raises:
            LedgerCorrupt: it is missing, or not what was written.
        """
        known = self._read.get(digest)
        if known is None:
            place = f"the artifact {digest[:12]}"
            find = "SELECT state FROM journal_artifact WHERE digest = ?"
            with self.database.reading() as connection:
                row = connection.execute(find, (digest,)).fetchone()
                if row is None:
                    raise LedgerCorrupt(str(self.database.path), place, "it is missing")
                known = self._states.get(connection, row[0], digest, place).artifact
            self._read[digest] = known
        self._recent.append(known)
        return known
