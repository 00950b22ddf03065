"""
Text files below a folder: read into a mapping, written from one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from headway.errors import UnsafeNameError, UsageError
from headway.names import check_path, check_paths

IGNORED = (".git", ".hg", ".svn", ".DS_Store", "__pycache__", "*.pyc")
"""Names of files and folders that are no part of what is improved."""


def read_folder(folder: str | os.PathLike[str], ignore: Sequence[str] = IGNORED) -> dict[str, str]:
    """
    The text files below a folder by their relative paths, sorted.

    Args:
        folder: The folder.
        ignore: Patterns of names to pass over, as ``fnmatch`` reads them.

    Raises:
        UsageError: there is no such folder, a file in it is no UTF-8 text or has an odd name, or a link
            leads out of it.
        UnsafeNameError: two names in it are one on some systems.
    """
    root = Path(folder)
    if not os.fspath(folder) or not root.is_dir():  # an empty name would be the current folder
        raise UsageError(f"{folder}: there is no such folder. Give one that exists.")
    found = {_name(path, root): path for path in _files(root, ignore)}
    return {name: _text(found[name]) for name in sorted(check_paths(found))}


def write_folder(files: Mapping[str, str], folder: str | os.PathLike[str]) -> None:
    """
    Write text files below a folder, which is made when it is not there; others in it are left alone.

    Raises:
        UsageError: a link below the folder leads out of it.
        UnsafeNameError: a path would be misread somewhere, or two of them clash.
    """
    root = Path(folder)
    check_paths(files)
    root.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        target = root / path
        _check_inside(target, root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="")


def patterns(given: str | Sequence[str]) -> tuple[str, ...]:
    """
    Patterns of names; one alone need not be in a list.
    """
    return (given,) if isinstance(given, str) else tuple(given)


def ignored(path: str, ignore: Sequence[str]) -> bool:
    """
    Whether a part of a relative path matches a pattern.
    """
    return any(fnmatch(name, pattern) for name in path.split("/") for pattern in ignore)


def _files(root: Path, ignore: Sequence[str]) -> Iterator[Path]:
    for where, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not ignored(name, ignore)]
        for name in folders:
            if (Path(where) / name).is_symlink():
                remedy = "Put a copy of the folder there, or ignore its name."
                raise UsageError(f"{Path(where) / name}: this folder is a link. {remedy}")
        for name in names:
            if not ignored(name, ignore):
                _check_inside(Path(where) / name, root)
                yield Path(where) / name


def _name(path: Path, root: Path) -> str:
    try:
        return check_path(path.relative_to(root).as_posix())
    except UnsafeNameError as error:
        told = str(error).encode("utf-8", "backslashreplace").decode()
        raise UsageError(f"{root}: {told} Rename it, or ignore its name.") from None


def _check_inside(path: Path, root: Path) -> None:
    if _leads_to_itself(path):
        remedy = "Remove it, or ignore its name."
        raise UsageError(f"{path}: this link leads nowhere. {remedy}")
    if not path.resolve().is_relative_to(root.resolve()):
        remedy = "Put a copy of the file there, or ignore its name."
        raise UsageError(f"{path}: this link leads out of {root}. {remedy}")


def _leads_to_itself(path: Path) -> bool:
    # Asked of the system: ``Path.resolve`` raises one error or another, or none, by the Python.
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _text(path: Path) -> str:
    if not path.is_file():
        raise UsageError(
            f"{path}: this is no file that can be read. Remove it, or ignore its name."
        )
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise _binary(path, f"byte {error.start} is not UTF-8") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}. Make it readable.") from error
    if "\0" in text:
        raise _binary(path, "it holds a zero byte")
    return text


def _binary(path: Path, fault: str) -> UsageError:
    remedy = "Only text files can be improved: move it elsewhere, or ignore its name."
    return UsageError(f"{path}: this is no text file, {fault}. {remedy}")
