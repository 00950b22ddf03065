"""
A set of files as a folder on disk: all of it, or nothing.

The tree is written inside a fresh directory beside its target that nobody else may enter, and
renamed when all of it is on the disk.  So a reader sees no folder or a whole one, whoever is killed
when.  Every name is validated before anything is made, everything is made anew, relative to an open
directory where the system can do that, and no link is followed below the target's parent.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Self, TypeAlias, cast

import attrs

from headway.errors import StorageError
from headway.names import check_paths

_Tree: TypeAlias = dict[str, "_Tree | bytes"]

_RELATIVE = {os.mkdir, os.open, os.rename, os.stat} <= os.supports_dir_fd
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_HARDENED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_RIGHTS = {errno.EACCES, errno.EPERM, errno.EROFS}


def materialize(files: Mapping[str, str | bytes], target: str | os.PathLike[str]) -> None:
    """
    Write files below a new folder; a text is written as UTF-8, with its line ends as they are.

    The folder that is to hold the target must be there, and may be reached through links: that is
    the caller's choice, and it is looked up once.  The target itself may only be missing or an empty
    folder.  After a failure nothing is left.

    Args:
        files: What to write, by relative path.
        target: The folder to make.

    Raises:
        UnsafeNameError: a path would be misread somewhere, or two of them clash; nothing was written.
        StorageError: the target is there already or is a link, a text is no valid Unicode, or the
            disk is full, read-only or fails.
    """
    check_paths(files)
    path = Path(target)
    tree = _tree({name: _content(path / name, files[name]) for name in files})
    if path.name in ("", ".."):
        raise StorageError(str(path), "this names no new folder", "Give a name of its own.")
    with _telling(path), _Folder.at(path.parent) as parent:
        _refuse_what_is_there(parent, path)
        _place(tree, parent, path)
        parent.flush()


@attrs.define(eq=False)
class _Folder:
    """
    A directory: open, where the system can work relative to one, else by its path.
    """

    path: Path
    fd: int | None = None

    @classmethod
    def at(cls, path: Path, within: _Folder | None = None) -> Self:
        if not _RELATIVE:
            return cls(path)
        if within is None:
            return cls(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        flags = os.O_RDONLY | os.O_DIRECTORY | _HARDENED
        return cls(path, os.open(path.name, flags, dir_fd=within.fd))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.fd is not None:
            os.close(self.fd)

    def name(self, name: str) -> str:
        return name if self.fd is not None else os.fspath(self.path / name)

    def make(self, name: str, mode: int = 0o777) -> _Folder:
        os.mkdir(self.name(name), mode, dir_fd=self.fd)
        return _Folder.at(self.path / name, self)

    def write(self, name: str, content: bytes) -> None:
        fd = os.open(self.name(name), _NEW | _HARDENED, 0o666, dir_fd=self.fd)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(fd)

    def flush(self) -> None:
        if self.fd is None:
            return
        try:
            os.fsync(self.fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every disk has that
                raise


def _tree(files: Mapping[str, bytes]) -> _Tree:
    root: _Tree = {}
    for path, content in files.items():
        *folders, name = path.split("/")
        place = root
        for folder in folders:
            place = cast("_Tree", place.setdefault(folder, {}))
        place[name] = content
    return root


def _content(path: Path, content: object) -> bytes:
    if isinstance(content, bytes):
        return content
    if not isinstance(content, str):
        message = (
            f"{path} is to hold something of type {type(content).__name__}; give text or bytes"
        )
        raise TypeError(message)
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        cause = f"its text is no valid Unicode at {error.start}"
        raise StorageError(str(path), cause, "Decode it with errors='replace'.") from None


def _refuse_what_is_there(parent: _Folder, path: Path) -> None:
    name = parent.name(path.name)
    try:
        found = os.stat(name, dir_fd=parent.fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    kind = _kind(found.st_mode)
    if kind != "a folder":
        raise StorageError(str(path), f"{kind} is there already", "Give the name of a new folder.")
    with _Folder.at(path, parent) as there, os.scandir(there.fd or there.path) as entries:
        if next(entries, None) is not None:
            remedy = "Give a folder that is new or empty."
            raise StorageError(str(path), "this folder is not empty", remedy)


def _kind(mode: int) -> str:
    from stat import S_ISDIR, S_ISLNK

    if S_ISLNK(mode):
        return "a link"
    return "a folder" if S_ISDIR(mode) else "a file"


def _place(tree: _Tree, parent: _Folder, path: Path) -> None:
    draft = f".headway-{token_hex(8)}.part"
    try:
        # The outer folder is private; the inner one has the rights that the user's files have.
        with parent.make(draft, 0o700) as private:
            with private.make("tree") as root:
                _write(tree, root)
            _rename(private, parent, path.name)
    finally:
        shutil.rmtree(parent.name(draft), ignore_errors=True, dir_fd=parent.fd)


def _write(tree: _Tree, folder: _Folder) -> None:
    for name, held in tree.items():
        with _telling(folder.path / name):
            if isinstance(held, bytes):
                folder.write(name, held)
                continue
            with folder.make(name) as inner:
                _write(held, inner)
    folder.flush()


def _rename(private: _Folder, parent: _Folder, name: str) -> None:
    target = parent.name(name)
    if os.name == "nt" and Path(target).is_dir():
        Path(target).rmdir()  # systems of the other kind replace an empty folder by themselves
    os.rename(private.name("tree"), target, src_dir_fd=private.fd, dst_dir_fd=parent.fd)


@contextmanager
def _telling(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        cause = error.strerror or str(error)
        raise StorageError(str(path), cause, _remedy(error)) from error


def _remedy(error: OSError) -> str:
    if error.errno in _ROOM:
        return "Nothing was left there: make room and write it again."
    if error.errno in _RIGHTS:
        return "Nothing was left there: give a folder that can be written to."
    if error.errno == errno.ENOENT:
        return "Make the folder that is to hold it first."
    return "Nothing was left there: mend that and write it again."
