"""
Folders as git stores them, kept in memory so that a commit writes only what changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import attrs

from headway_git._objects import New, add

_FILE, _FOLDER = b"100644 ", b"40000 "
_NAME = 20  # bytes of an object's name


@attrs.frozen(eq=False)
class Folder:
    """
    One folder; nobody changes it.

    Args:
        name: The name of its object.
        lines: What it holds, as its object spells it, by name; a folder's name ends in ``/``, for
            git sorts by that.
        folders: The folders in it, by the same names.
    """

    name: bytes
    lines: Mapping[bytes, bytes]
    folders: Mapping[bytes, Folder]


EMPTY = Folder(b"", {}, {})
"""What everything is built on; it has no object."""


def revised(folder: Folder, changes: Mapping[str, bytes | None], made: New) -> Folder:
    """
    A folder with some of its files changed; its new objects are added to ``made``.

    Args:
        folder: What to change.
        changes: The name of a file's object, or None for a file to leave out, by path.
        made: Takes the new folders.
    """
    lines, folders = dict(folder.lines), dict(folder.folders)
    deeper: dict[bytes, dict[str, bytes | None]] = {}
    for path, blob in changes.items():
        first, slash, rest = path.partition("/")
        name = first.encode()
        if slash:
            deeper.setdefault(name + b"/", {})[rest] = blob
        elif blob is None:
            lines.pop(name, None)
        else:
            lines[name] = _FILE + name + b"\0" + blob
    for name, inside in deeper.items():
        below = revised(folders.get(name, EMPTY), inside, made)
        if below.lines:
            folders[name] = below
            lines[name] = _FOLDER + name[:-1] + b"\0" + below.name
        else:
            folders.pop(name, None)
            lines.pop(name, None)
    if not lines:
        return EMPTY
    content = b"".join([lines[name] for name in sorted(lines)])
    return Folder(add(made, "tree", content), lines, folders)


def read_folder(name: bytes, read: Callable[[bytes, str], bytes], known: Folder = EMPTY) -> Folder:
    """
    A folder from its object; what ``known`` holds already is not read again.

    Raises:
        ValueError: it holds something that no ledger writes.
    """
    if known.name == name:
        return known
    lines = dict(_lines(read(name, "tree")))
    folders = {
        inside: read_folder(line[-_NAME:], read, known.folders.get(inside, EMPTY))
        for inside, line in lines.items()
        if inside.endswith(b"/")
    }
    return Folder(name, lines, folders)


def _lines(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    start = 0
    while start < len(content):
        zero = content.find(b"\0", start)
        end = zero + 1 + _NAME
        mode, space, name = content[start:zero].partition(b" ")
        if zero < 0 or end > len(content) or mode + space not in {_FILE, _FOLDER}:
            message = f"a folder holds {content[start : max(zero, start)]!r}, not a plain file"
            raise ValueError(message)
        yield name + (b"/" if mode + space == _FOLDER else b""), content[start:end]
        start = end


def files(folder: Folder, above: str = "") -> Iterator[tuple[str, bytes]]:
    """
    Path and object's name of every file below a folder.
    """
    for name, line in folder.lines.items():
        path = above + name.decode()
        if name in folder.folders:
            yield from files(folder.folders[name], path)
        else:
            yield path, line[-_NAME:]
