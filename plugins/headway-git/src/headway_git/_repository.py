"""
Opening a repository, or making a bare one; reading its objects.

An object in a file of its own is read from there, a packed one by ``git cat-file``.  What is read is
held against its name, for git does not do so.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import attrs

from headway.errors import OptionError
from headway_git._git import Git, environment, find_git
from headway_git._objects import Writer, flush_folder, named, unpacked

_PACKS = "objects/pack"
_FOUND = 3  # fields of what git says of an object that it has
_UNFINISHED = "headway-unfinished"
"""Stands in a folder while a repository is made in it."""


class DamagedError(Exception):
    """
    An object is not what its name says; becomes a ``LedgerCorrupt`` where the version is known.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


@attrs.define(eq=False)
class Repository:
    """
    An open repository, for one thread at a time.

    Args:
        path: What ``git --git-dir`` takes.
        prefix: What the ledger's branches stand below.
    """

    path: Path
    git: Git
    common: Path
    is_ours: bool
    writer: Writer
    _reader: subprocess.Popen[bytes] | None = None

    def read(self, name: bytes, kind: str) -> bytes:
        """
        The content of an object.

        Raises:
            DamagedError: there is none, or it is not what its name says.
        """
        path = self.writer.path(name)
        try:
            found, content = unpacked(path.read_bytes())
        except FileNotFoundError:
            found, content = self._from_pack(name, path)
        except (OSError, ValueError) as error:
            raise DamagedError(path, f"{kind} {name.hex()} can't be read: {error}") from error
        if found != kind or named(found, content) != name:
            raise DamagedError(path, f"{kind} {name.hex()} is not what its name says")
        return content

    def _from_pack(self, name: bytes, path: Path) -> tuple[str, bytes]:
        try:
            answer = self._asked(name)
        except BaseException:
            self._end_reader()  # else its answer would be taken for that of the next question
            raise
        if answer is None:
            self._end_reader()  # git ends at what it can't read
            raise DamagedError(path, f"object {name.hex()} can't be read from its pack")
        if not answer[0]:
            raise DamagedError(path, f"object {name.hex()} is missing")
        return answer

    def _asked(self, name: bytes) -> tuple[str, bytes] | None:
        """
        Kind and content of a packed object, no kind where there is none; None for no answer.
        """
        if self._reader is None:
            self._reader = self._started()
        into, out = self._reader.stdin, self._reader.stdout
        assert into is not None  # noqa: S101 - both are pipes
        assert out is not None  # noqa: S101 - both are pipes
        try:
            into.write(name.hex().encode() + b"\n")
            into.flush()
        except BrokenPipeError:
            return None
        header = out.readline().decode().split()
        if header[1:] == ["missing"]:
            return "", b""
        size = int(header[2]) if len(header) == _FOUND else 0
        content = out.read(size + 1) if header else b""
        return (header[1], content[:-1]) if len(content) == size + 1 else None

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.git.command("cat-file", "--batch"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            process_group=0,  # Ctrl-C is for the program, which ends this one by its pipe
        )

    def _end_reader(self) -> None:
        if self._reader is not None:
            with suppress(BrokenPipeError), self._reader:
                pass
            self._reader = None

    def close(self) -> None:
        """
        End the process that reads packs and the writer's threads; twice is harmless.
        """
        self._end_reader()
        self.writer.close()


def open_repository(path: str | os.PathLike[str], prefix: str) -> Repository:
    """
    The repository at a path; a bare one is made where there is nothing yet.

    Raises:
        OptionError: there is something else, or a repository of a form that is not supported; or
            there is no git.
    """
    folder = Path(path).absolute()
    program = find_git()
    if is_free(folder):
        _make(folder, program, prefix)
    own, common = _folders(folder, program)
    git = Git(own, program)
    settings = _settings(git)
    for name, wanted in (("objectformat", "sha1"), ("refstorage", "files")):
        value = settings.get(f"extensions.{name}", wanted)
        if value != wanted:
            remedy = f"Its {name} is {value}; give a repository with {wanted}."
            raise OptionError("path", str(path), remedy)
    ours = settings.get("headway.ledger") == "true"
    return Repository(folder, git, common, ours, Writer(common / "objects", git))


def _folders(folder: Path, program: str) -> tuple[Path, Path]:
    """
    The folder of a repository, and that of what all its work trees share.

    Git itself says so, with nothing but the path to go by.
    """
    asked = ("rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
    command = [program, "-c", "safe.directory=*", "-C", str(folder), *asked]
    # A folder inside somebody's repository is not that repository.
    surroundings = environment() | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(command, env=surroundings, capture_output=True, check=False)
    if done.returncode:
        remedy = "Give a git repository, or a folder that is empty or does not exist yet."
        raise OptionError("path", str(folder), remedy)
    own, common = os.fsdecode(done.stdout).splitlines()
    return Path(own), Path(common)


def _settings(git: Git) -> dict[str, str]:
    told = git.run("config", "--local", "--list", "--null").decode(errors="replace")
    pairs = (setting.partition("\n") for setting in told.split("\0"))
    return {name: value for name, _, value in pairs}


def is_free(folder: Path) -> bool:
    """
    Whether a repository may be made there: there is nothing, or what a killed maker has left.
    """
    if not folder.exists():
        return True
    # In this order: a maker's first file may appear between the two.
    return folder.is_dir() and (not any(folder.iterdir()) or (folder / _UNFINISHED).exists())


def _make(folder: Path, program: str, prefix: str) -> None:
    """
    Make a bare repository; a killed maker's work is done again, and of several makers one does it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        if not is_free(folder):
            return
        (folder / _UNFINISHED).touch()
        git = Git(folder, program)
        for left in folder.rglob("*.lock"):
            left.unlink()
        git.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1")
        git.run("symbolic-ref", "HEAD", f"refs/heads/{prefix}/dev")
        git.run("config", "gc.auto", "0")
        git.run("config", "headway.ledger", "true")
        (folder / _PACKS).mkdir(parents=True, exist_ok=True)
        for below in (*folder.rglob("*"), folder, folder.parent):
            _flush(below)
        (folder / _UNFINISHED).unlink()
        flush_folder(folder)
    finally:
        os.close(opened)


def _flush(path: Path) -> None:
    if path.is_dir():
        with suppress(PermissionError):  # the folder above may be somebody else's
            flush_folder(path)
    else:
        with path.open("rb") as file:
            os.fsync(file.fileno())
