"""
What a version's git commit says.

The message is the committer's, word for word; the last paragraph holds trailers from which log, keys
and versions can be rebuilt::

    better at dates

    Headway-Version: 7
    Headway-Parent: 6
    Headway-Digest: 3f1c...
    Headway-Format: files
    Headway-Key: run-1/step-9
"""

from __future__ import annotations

import json
import re
from typing import Literal

import attrs

from headway.contracts import LedgerEntry
from headway_git._git import EMAIL, NAME
from headway_git._states import Format

_PLAIN = re.compile(r"[!#-~](?:[ -~]*[!-~])?")
"""What a trailer holds as it is; everything else is spelled as JSON, which begins with a quote."""


@attrs.frozen
class Commit:
    """
    One commit of a branch.

    Args:
        name: The name of its object, 40 hexadecimal digits.
        tree: The name of its folder.
        parents: The commits it was made on: the branch's own, then the one that was promoted.
        format: How the folder holds the state.
        entry: What the ledger's log says of it; version 0 has an entry that no log shows.
    """

    name: str
    tree: str
    parents: tuple[str, ...]
    format: Format
    entry: LedgerEntry


def spelled_commit(
    entry: LedgerEntry, form: Format, tree: bytes, parents: tuple[str, ...], seconds: int
) -> bytes:
    """
    The content of a commit's object.
    """
    made = f"{NAME} <{EMAIL}> {seconds} +0000"
    lines = [f"tree {tree.hex()}", *(f"parent {name}" for name in parents)]
    head = "\n".join([*lines, f"author {made}", f"committer {made}", "", ""])
    return head.encode() + message_of(entry, form)


def message_of(entry: LedgerEntry, form: Format) -> bytes:
    """
    A commit's message with its trailers.
    """
    trailers = {
        "Version": str(entry.version),
        "Parent": str(entry.parent),
        "Digest": entry.digest,
        "Format": form,
    }
    if entry.key:
        trailers["Key"] = _trailer(entry.key)
    message = entry.message
    if not _is_text(message):
        trailers["Message"] = json.dumps(message)
        shown = message.encode("utf-8", "replace").decode().replace("\0", "?")
        message = shown if shown.strip() else f"version {entry.version}"
    lines = "".join(f"Headway-{name}: {value}\n" for name, value in trailers.items())
    return f"{message}\n\n{lines}".encode()


def _is_text(message: str) -> bool:
    """
    Whether git can hold a message as it is, and people see something.
    """
    try:
        message.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in message and bool(message.strip())


def _trailer(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def read_commit(name: str, content: bytes) -> Commit:
    """
    A commit from its object's content.

    Raises:
        ValueError: no ledger made it.
    """
    head, _, body = content.partition(b"\n\n")
    text, _, last = body.decode().rpartition("\n\n")
    fields = [line.partition(" ") for line in head.decode("utf-8", "replace").split("\n")]
    said = _trailers(last)
    try:
        entry = LedgerEntry(
            version=int(said["Version"]),
            parent=int(said["Parent"]),
            digest=said["Digest"],
            message=json.loads(said["Message"]) if "Message" in said else text,
            key=_value(said.get("Key", "")),
        )
        return Commit(
            name=name,
            tree=next(value for field, _, value in fields if field == "tree"),
            parents=tuple(value for field, _, value in fields if field == "parent"),
            format=_format(said["Format"]),
            entry=entry,
        )
    except (KeyError, StopIteration, ValueError):
        message = f"commit {name} was not made by a ledger: it lacks the trailers Headway-..."
        raise ValueError(message) from None


def _trailers(paragraph: str) -> dict[str, str]:
    lines = (line.partition(": ") for line in paragraph.rstrip("\n").split("\n"))
    return {name.removeprefix("Headway-"): value for name, _, value in lines}


def _value(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def _format(text: str) -> Literal["files", "json"]:
    if text == "files":
        return "files"
    if text == "json":
        return "json"
    raise ValueError(text)
