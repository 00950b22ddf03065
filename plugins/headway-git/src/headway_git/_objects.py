"""
Git objects: what they are called, and how new ones reach the disk.

Each file is flushed before it gets its name, so an object under its name is whole; once ``flush`` has
returned, too, the object survives the loss of power.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

import attrs

from headway_git._git import Git

BULK = 100
"""More new objects than that go into one pack: one flush instead of one each."""

TEMPORARY = "tmp_obj_headway_"
"""How the names of unfinished objects begin; git itself clears up ``tmp_obj_*`` when it prunes."""

_REMOVED_AGAIN = 100
"""How often a folder may be removed between the moment it is made and that of its first object."""

FLUSHES = 8
"""Files that are flushed at the same time."""

# Compression of files: folders are full of names of objects, which do not shrink, and all is packed
# later.
_LEVELS = {"commit": 1, "tree": 0, "blob": 1}
_KINDS = {"commit": 1, "tree": 2, "blob": 3}  # the numbers that packs have for them

New = dict[bytes, tuple[str, bytes]]
"""Objects to be written, their kind and content by name."""


def named(kind: str, content: bytes) -> bytes:
    """
    The name of an object, 20 bytes.
    """
    return hashlib.sha1(_header(kind, content) + content, usedforsecurity=False).digest()


def add(made: New, kind: str, content: bytes) -> bytes:
    """
    Add an object to what is to be written, and say its name.
    """
    name = named(kind, content)
    made[name] = (kind, content)
    return name


def _header(kind: str, content: bytes) -> bytes:
    return f"{kind} {len(content)}\0".encode()


def unpacked(raw: bytes) -> tuple[str, bytes]:
    """
    Kind and content of an object in a file of its own.

    Raises:
        ValueError: the file does not hold one.
    """
    try:
        header, zero, content = zlib.decompress(raw).partition(b"\0")
    except zlib.error as error:
        raise ValueError(str(error)) from None
    kind, _, size = header.decode("ascii", "replace").partition(" ")
    if not zero or size != str(len(content)):
        message = "its header does not fit its content"
        raise ValueError(message)
    return kind, content


def flush_folder(folder: Path) -> None:
    """
    Make the names in a folder survive the loss of power.
    """
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@attrs.define(eq=False)
class Writer:
    """
    Writes objects; one at a time may write into a repository.

    Args:
        objects: The repository's folder of objects.
        git: Its git.
    """

    objects: Path
    git: Git
    _number: count[int] = attrs.field(factory=count)
    # What is flushed at the same time shares the disk's work: several times as fast as in turn.
    _pool: ThreadPoolExecutor = attrs.field(factory=partial(ThreadPoolExecutor, FLUSHES))

    def path(self, name: bytes) -> Path:
        """
        Where an object that has a file of its own has it.
        """
        text = name.hex()
        return self.objects / text[:2] / text[2:]

    def write(self, made: New) -> None:
        """
        Bring objects to the disk, each whole; ``flush`` has to follow.

        Raises:
            OSError: the disk is full, or can't be written.
            StorageError: git could not write a pack.
        """
        if len(made) > BULK:
            self.git.run("index-pack", "--stdin", given=packed(made.values()))
        else:
            self._write_files(made)

    def _write_files(self, made: New) -> None:
        missing = [n for n, (kind, content) in made.items() if not self._is_there(n, kind, content)]
        temporary = {
            n: self.objects / f"{TEMPORARY}{os.getpid()}_{next(self._number)}" for n in missing
        }
        try:
            writing = [self._pool.submit(_write_file, temporary[n], made[n]) for n in missing]
            wait(writing)  # for all of them, whatever becomes of one
            for one in writing:
                one.result()
            for name, path in temporary.items():
                _place(path, self.path(name))
        except BaseException:
            for path in temporary.values():
                path.unlink(missing_ok=True)
            raise

    def flush(self, made: New) -> None:
        """
        Have the names of written objects survive the loss of power.

        Also of those that were there already: whoever wrote them may not be so far yet.

        Raises:
            OSError: a folder can't be flushed.
        """
        folders = {self.path(name).parent for name in made}
        if len(made) > BULK:
            folders = {self.objects / "pack"}
        for _ in self._pool.map(flush_folder, folders):
            pass

    def _is_there(self, name: bytes, kind: str, content: bytes) -> bool:
        """
        Whether an object has its file already; a damaged one is written anew.
        """
        path = self.path(name)
        with suppress(OSError, ValueError):
            if unpacked(path.read_bytes()) == (kind, content):
                os.utime(path)  # git prunes what is old and in no branch
                return True
        return False

    def clear(self) -> None:
        """
        Remove what a process left unfinished that ended while it wrote.
        """
        for path in self.objects.glob(f"{TEMPORARY}*"):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """
        End its threads; twice is harmless.
        """
        self._pool.shutdown()


def _place(path: Path, final: Path) -> None:
    """
    Give a written object its name.

    Whoever packs meanwhile removes folders that have become empty, also one that was just made.
    """
    for _ in range(_REMOVED_AGAIN):
        final.parent.mkdir(exist_ok=True)
        try:
            path.rename(final)
        except FileNotFoundError:
            if not path.exists():
                raise
        else:
            return
    path.rename(final)


def _write_file(path: Path, new: tuple[str, bytes]) -> None:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
    with os.fdopen(opened, "wb") as file:
        file.write(zlib.compress(_header(*new) + new[1], _LEVELS[new[0]]))
        file.flush()
        os.fsync(opened)


def packed(objects: Iterable[tuple[str, bytes]]) -> bytes:
    """
    A pack of objects, without deltas.
    """
    entries = [_entry(kind, content) for kind, content in objects]
    body = b"PACK" + struct.pack(">II", 2, len(entries)) + b"".join(entries)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _entry(kind: str, content: bytes) -> bytes:
    # Four bits of the size beside the kind, then seven a byte, the lowest first.
    size, byte = len(content), _KINDS[kind] << 4 | len(content) & 15
    size >>= 4
    header = bytearray()
    while size:
        header.append(byte | 128)
        byte, size = size & 127, size >> 7
    header.append(byte)
    return bytes(header) + zlib.compress(content, _LEVELS[kind])
