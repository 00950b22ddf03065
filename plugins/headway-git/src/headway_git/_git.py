"""
The program git, called so that nothing but its arguments decides what it does.

Every variable ``GIT_*`` is taken away (some redirect even an explicit path), the user's and the
system's configuration are not read, hooks are off, and nothing is collected behind our back.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import attrs

from headway.errors import OptionError, StorageError

NAME, EMAIL = "Headway", "headway@localhost"

OLDEST = (2, 36)
"""The first git that flushes references to disk."""

_VARIABLES = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",  # a replaced object would come back under another one's name
    "GIT_AUTHOR_NAME": NAME,
    "GIT_AUTHOR_EMAIL": EMAIL,
    "GIT_COMMITTER_NAME": NAME,
    "GIT_COMMITTER_EMAIL": EMAIL,
    "LC_ALL": "C",
}
_SETTINGS = (
    f"core.hooksPath={os.devnull}",
    "core.autocrlf=false",
    "core.fsync=all",
    "core.fsyncMethod=fsync",
    # Somebody's own git command may hold a reference for a moment: git waits for it that long.
    "core.filesRefLockTimeout=5000",
    "commit.gpgsign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "safe.directory=*",  # the caller named this repository, whoever owns it
)


def environment() -> dict[str, str]:
    """
    The environment of every call of git.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | _VARIABLES


def find_git() -> str:
    """
    The program git.

    Raises:
        OptionError: there is none, or an old one.
    """
    program = shutil.which("git")
    if program is None:
        remedy = (
            "It needs the program git, and there is none on PATH. "
            "Install git (such as: apt install git), or take another ledger."
        )
        raise OptionError("ledger", "git", remedy)
    found = _version(program)
    if found < OLDEST:
        told, least = (".".join(map(str, v)) for v in (found, OLDEST))
        remedy = f"It needs git {least} or newer, and {program} is {told}. Install a newer one."
        raise OptionError("ledger", "git", remedy)
    return program


@lru_cache(maxsize=8)
def _version(program: str) -> tuple[int, ...]:
    asked = [program, "version"]
    done = subprocess.run(asked, env=environment(), capture_output=True, check=False)
    found = re.search(rb"(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else (0, 0)


@attrs.frozen
class Git:
    """
    Git commands on one repository.

    Args:
        directory: What ``--git-dir`` names.
        program: The program git.
    """

    directory: Path
    program: str = attrs.field(factory=find_git)

    def command(self, *arguments: str, settings: Sequence[str] = ()) -> list[str]:
        """
        The whole command line of a git command.
        """
        given = [part for text in (*_SETTINGS, *settings) for part in ("-c", text)]
        return [self.program, *given, f"--git-dir={self.directory}", *arguments]

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """
        What a command prints.

        Raises:
            StorageError: it failed.
        """
        command = self.command(*arguments)
        done = subprocess.run(
            command, input=given, env=environment(), capture_output=True, check=False
        )
        if done.returncode:
            raise self.failed(arguments[0], done.stderr)
        return done.stdout

    def failed(self, what: str, told: bytes) -> StorageError:
        """
        The error that tells what git said.
        """
        text = " ".join(told.decode(errors="replace").split()) or "it ended without a word"
        remedy = "What was acknowledged before is still there; look at it with git fsck."
        return StorageError(str(self.directory), f"git {what} failed: {text[:500]}", remedy)
