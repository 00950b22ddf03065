"""
Where published weights lie.

The ledger's state names weights by a *reference*; a store turns one into arrays.  What a reference
names never changes: it is made of the content, so that publishing again what lies there already, as a
step that is made again after a crash does, gives the same reference.
"""

from __future__ import annotations

import os
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import attrs
import numpy as np

from headway.contracts import Json, Structural
from headway.errors import LedgerCorrupt, OptionError, StorageError, shown
from headway_rl._arrays import Arrays, fingerprint, pack, unpack

INLINE_BYTES = 65_536
"""Bytes of arrays that a reference may hold itself."""

_UNREADABLE = (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)


@runtime_checkable
class WeightStore(Protocol, metaclass=Structural):
    """
    Keeps named arrays; safe to use from several threads at once.
    """

    def put(self, arrays: Arrays) -> Json:
        """
        Keep arrays; returns the reference that names them, a JSON value.
        """
        ...

    def get(self, reference: Json) -> Arrays:
        """
        The arrays that a reference names, as they were kept.

        Raises:
            LedgerCorrupt: what lies there is not what was kept.
            LookupError: nothing of that name lies there.
        """
        ...


@attrs.frozen
class InlineStore:
    """
    No place at all: the reference holds the arrays itself, for small policies.

    What it gives outlives the process with the run's own journal, and needs nothing else; each version
    in the ledger then is as large as the weights and the trainer's state.

    Args:
        most: Bytes that one reference may hold.
    """

    most: int = INLINE_BYTES

    def put(self, arrays: Arrays) -> Json:
        """
        The arrays themselves, packed.

        Raises:
            OptionError: they are larger than ``most``.
        """
        size = sum(array.nbytes for array in arrays.values())
        if size > self.most:
            remedy = f"{size} bytes are too many to lie in the ledger; give DirectoryStore(folder)."
            raise OptionError("store", self, remedy)
        return {name: pack(arrays[name]) for name in sorted(arrays)}

    def get(self, reference: Json) -> Arrays:
        """
        The arrays that a reference holds.

        Raises:
            LookupError: it holds none.
        """
        held: Mapping[str, Json] = reference
        if not isinstance(reference, dict):
            message = f"{shown(reference)} holds no weights; was it made by another store?"
            raise LookupError(message)  # noqa: TRY004 - what the protocol says of a name that is not there
        return {name: unpack(value) for name, value in held.items()}


@attrs.define(eq=False)
class MemoryStore:
    """
    Arrays in this process's memory, gone with it.

    A run that is to be taken up again needs another store.
    """

    _kept: dict[str, Arrays] = attrs.field(factory=dict[str, Arrays], init=False)

    def put(self, arrays: Arrays) -> Json:
        """
        Keep a copy; the reference is the fingerprint.
        """
        name = fingerprint(arrays)
        self._kept.setdefault(name, {key: array.copy() for key, array in arrays.items()})
        return name

    def get(self, reference: Json) -> Arrays:
        """
        Copies of the arrays.

        Raises:
            LookupError: this process has not published them.
        """
        if reference not in self._kept:
            message = f"weights {shown(reference)} are not in memory; publish them again, or keep them in a DirectoryStore"
            raise LookupError(message)
        return {key: array.copy() for key, array in self._kept[reference].items()}


def _folder(folder: Path | str) -> Path:
    return Path(folder)


@attrs.define(eq=False)
class DirectoryStore:
    """
    One file a version in a folder, written whole or not at all, and checked when it is read.

    A file is named by its fingerprint.  None is ever deleted: the ledger may be asked for any version.

    Args:
        folder: Where the files lie; made when it is first needed.
    """

    folder: Path = attrs.field(converter=_folder)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return DirectoryStore, (self.folder,)  # another process has a lock of its own

    def put(self, arrays: Arrays) -> Json:
        """
        Write the arrays to a file, on the disk when this returns; the reference is the fingerprint.

        Raises:
            StorageError: the file can't be written.
        """
        name = fingerprint(arrays)
        path = self._path(name)
        with self._lock:
            if not path.exists():
                try:
                    self.folder.mkdir(parents=True, exist_ok=True)
                    _write(path, arrays)
                except OSError as error:
                    raise _unwritable(path, error) from error
        return name

    def get(self, reference: Json) -> Arrays:
        """
        Read a file.

        Raises:
            LedgerCorrupt: it holds something else than its name says.
            LookupError: there is none.
        """
        path = self._path(reference)
        if not path.is_file():
            message = f"weights {shown(reference)} do not lie in {self.folder}; was the folder moved or emptied?"
            raise LookupError(message)
        try:
            # Opened here: numpy leaves a file open that it can't make sense of.
            with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
        except _UNREADABLE as error:
            raise LedgerCorrupt(str(path), "the file", f"it cannot be read: {error}") from error
        if fingerprint(arrays) != reference:
            raise LedgerCorrupt(str(path), "the file", "its numbers have another fingerprint")
        return arrays

    def _path(self, reference: Json) -> Path:
        if not isinstance(reference, str) or not reference.isalnum():
            message = (
                f"{shown(reference)} names no weights of a folder; was it made by another store?"
            )
            raise LookupError(message)
        return self.folder / f"{reference}.npz"


def _write(path: Path, arrays: Arrays) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-", suffix=".npz")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **{key: arrays[key] for key in sorted(arrays)})  # type: ignore[arg-type] # numpy's stub takes the names for its own options
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _unwritable(path: Path, error: OSError) -> StorageError:
    cause = error.strerror or str(error)
    return StorageError(str(path), cause, "Make room, or give another folder.")
