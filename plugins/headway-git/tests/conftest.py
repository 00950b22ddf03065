"""
What the tests of the git ledger share.

Without the program git they are skipped, and the reason says so; with ``HEADWAY_REQUIRE=git`` they
fail instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REQUIRED = "git" in os.environ.get("HEADWAY_REQUIRE", "").split(",")


def pytest_collection_modifyitems(items):
    """
    Skip this plug-in's tests where there is no git, unless it is required.
    """
    if shutil.which("git") or REQUIRED:
        return
    skip = pytest.mark.skip(reason="needs the program git; HEADWAY_REQUIRE=git makes it an error")
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(skip)


@pytest.fixture
def git():
    """
    Runs git on a repository, as somebody does who looks at it, and says what it printed.
    """

    def run(path, *arguments, **options):
        command = ["git", "-C", str(path), *arguments]
        done = subprocess.run(command, capture_output=True, check=True, text=True, **options)
        return done.stdout

    return run


@pytest.fixture
def users(tmp_path, git):
    """
    Somebody's repository with a commit, a changed file, a staged one and one that git ignores not.
    """
    path = tmp_path / "users"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    git(path, "config", "user.name", "Somebody")
    git(path, "config", "user.email", "somebody@example.org")
    (path / "a.txt").write_text("one\n")
    git(path, "add", "a.txt")
    git(path, "commit", "-qm", "first")
    (path / "a.txt").write_text("two\n")
    (path / "b.txt").write_text("staged\n")
    git(path, "add", "b.txt")
    (path / "c.txt").write_text("new\n")
    return path
