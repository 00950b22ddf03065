"""
What the commits of a ledger say, kept beside them, so that opening need not read each from git.

A commit's name is the digest of its content, so what is kept of it stays true for ever: the file can
lack commits, which are then read from git, and never be out of date.  Each line has its own checksum;
one that was cut off or altered counts for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from zlib import crc32

import attrs

from headway.contracts import LedgerEntry
from headway_git._commits import Commit
from headway_git._states import Format

_CHECKSUM = 9  # characters of a line before its JSON


@attrs.frozen
class Known:
    """
    The file; only who holds the ledger's lock adds to it.

    Args:
        path: Where it is.
    """

    path: Path

    def read(self) -> list[Commit]:
        """
        The commits that are in it; none when it can't be read.
        """
        try:
            lines = self.path.read_bytes().split(b"\n")
        except OSError:
            return []
        sound = [
            line[_CHECKSUM:] for line in lines if line[:_CHECKSUM] == _checksum(line[_CHECKSUM:])
        ]
        return [_commit(*held) for held in json.loads(b"[" + b",".join(sound) + b"]")]

    def add(self, commits: Iterable[Commit]) -> None:
        """
        Add commits; on a full disk they are left out.
        """
        lines = (_line(commit) for commit in commits)
        # Each begins on a new line, whatever the one before it came to.
        text = b"".join(b"\n" + _checksum(line) + line for line in lines)
        with suppress(OSError), self.path.open("ab") as file:
            file.write(text)


def _line(commit: Commit) -> bytes:
    entry = commit.entry
    of_entry = (entry.version, entry.parent, entry.digest, entry.message, entry.key)
    held = (commit.name, commit.tree, commit.parents, commit.format, *of_entry)
    return json.dumps(held, separators=(",", ":")).encode()


def _commit(
    name: str,
    tree: str,
    parents: list[str],
    form: Format,
    version: int,
    parent: int,
    digest: str,
    message: str,
    key: str,
) -> Commit:
    entry = LedgerEntry(version=version, parent=parent, digest=digest, message=message, key=key)
    return Commit(name, tree, tuple(parents), form, entry)


def _checksum(line: bytes) -> bytes:
    return b"%08x " % crc32(line)
