"""
The files that somebody has committed in a repository of theirs, to start from.

Only objects are read: no work tree, no index and no link, so nothing outside the repository and
nothing that is not committed can come in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from headway.errors import LedgerCorrupt, OptionError, UnsafeNameError
from headway.names import check_paths
from headway_git._git import Git
from headway_git._repository import DamagedError, Repository, is_free, open_repository

_OPTION = "repo_path"
_FILES = (b"100644", b"100755")
_OTHERS = {b"120000": "a link", b"160000": "a repository within the repository"}
_REMEDY = (
    "Only plain text files can be improved: give strategy=FileTree.load(folder, ignore=[...]), which "
    "leaves out what it is told to."
)
_NO_GIT = (
    "To improve the files of a folder without git, give strategy=FileTree.load(folder, as_folder=True) "
    "and leave this out."
)


def committed(
    path: str | os.PathLike[str], leave_out: Callable[[str], bool]
) -> dict[str, str] | None:
    """
    The text files of the commit that HEAD names, by path, sorted.

    None where there is no repository yet, or one that was made for a ledger and for nothing else.

    Args:
        path: The repository.
        leave_out: Whether a path is no part of what is improved.

    Raises:
        OptionError: there is something else than a repository, nothing is committed in it, or what is
            committed holds a link, another repository, a file that is no text or an odd name.
        LedgerCorrupt: an object is not what its name says.
    """
    if is_free(Path(path).absolute()):
        return None
    try:
        repository = open_repository(path, "headway")
    except OptionError as error:
        remedy = f"{error.remedy} {_NO_GIT}"
        raise OptionError(_OPTION, error.value, remedy) from error
    try:
        return None if repository.is_ours else _texts(repository, str(path), leave_out)
    except DamagedError as error:
        raise LedgerCorrupt(str(error.path), "HEAD", error.reason) from error
    finally:
        repository.close()


def _texts(repository: Repository, place: str, leave_out: Callable[[str], bool]) -> dict[str, str]:
    found = {
        path: (mode, name)
        for path, mode, name in _entries(repository.git, place)
        if not leave_out(path)
    }
    for path, (mode, _) in found.items():
        if mode not in _FILES:
            raise _refused(place, path, f"is {_OTHERS.get(mode, 'no file')}")
    try:
        paths = sorted(check_paths(found))
    except UnsafeNameError as error:
        remedy = f"{error} Rename it and commit that."
        raise OptionError(_OPTION, place, remedy) from None
    return {path: _text(place, path, repository.read(found[path][1], "blob")) for path in paths}


def _entries(git: Git, place: str) -> list[tuple[str, bytes, bytes]]:
    """
    Path, mode and object's name of all that a commit holds but folders.
    """
    commit, *rest = git.run("cat-file", "--batch-check", given=b"HEAD^{commit}\n").split()
    if rest[:1] != [b"commit"]:
        remedy = "Nothing is committed in it: commit the files to be improved, or give a strategy."
        raise OptionError(_OPTION, place, remedy)
    listed = git.run("ls-tree", "-r", "-z", "--full-tree", commit.decode()).split(b"\0")
    return [_entry(line, place) for line in listed if line]


def _entry(line: bytes, place: str) -> tuple[str, bytes, bytes]:
    about, _, path = line.partition(b"\t")
    mode, _, name = about.split()
    try:
        return path.decode(), mode, bytes.fromhex(name.decode())
    except UnicodeDecodeError:
        raise _refused(place, repr(path)[2:-1], "has a name that is no UTF-8") from None


def _text(place: str, path: str, content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        fault = f"is no text file, byte {error.start} is not UTF-8"
        raise _refused(place, path, fault) from None
    if "\0" in text:
        raise _refused(place, path, "is no text file, it holds a zero byte")
    return text


def _refused(place: str, path: str, fault: str) -> OptionError:
    return OptionError(_OPTION, place, f"{path} in it {fault}. {_REMEDY}")
