"""
The checkpoints of a journal: what a run can be gone on with from, so that only what came after it
must be read.

They are a convenience: one that can't be read is passed over, and the journal has everything.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from zlib import compress, crc32, decompress, error

from headway.contracts import Json

if TYPE_CHECKING:
    import sqlite3

TABLE = """
CREATE TABLE IF NOT EXISTS journal_checkpoint (
    event INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, body BLOB NOT NULL
)
"""
"""``event``: how many events came before it."""

_KEPT = 2


def put(connection: sqlite3.Connection, event: int, checkpoint: Json) -> None:
    """
    Write a checkpoint, and let go of all but the newest ones.
    """
    body = compress(json.dumps(checkpoint, allow_nan=False).encode(), 1)
    row = (event, crc32(body), body)
    connection.execute("REPLACE INTO journal_checkpoint VALUES (?, ?, ?)", row)
    connection.execute(
        "DELETE FROM journal_checkpoint WHERE event NOT IN "
        "(SELECT event FROM journal_checkpoint ORDER BY event DESC LIMIT ?)",
        (_KEPT,),
    )


def last_event(connection: sqlite3.Connection) -> int:
    """
    How many events came before the newest checkpoint; 0 when there is none.
    """
    found = connection.execute("SELECT max(event) FROM journal_checkpoint").fetchone()
    return int(found[0] or 0)


def newest(connection: sqlite3.Connection) -> tuple[int, Json] | None:
    """
    The newest checkpoint that is what was written, and how many events came before it.
    """
    found = connection.execute("SELECT * FROM journal_checkpoint ORDER BY event DESC")
    for event, checksum, body in found.fetchall():
        if crc32(body) == checksum:
            try:
                return event, json.loads(decompress(body))
            except (error, ValueError):  # a checksum that fits by chance
                continue
    return None
