"""
Fixtures that several test files share.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import sqlite3
import sys
import threading
from functools import partial
from pathlib import Path
from textwrap import dedent

import pytest
from sqlite_files import Watched

LETTERS = """
    from headway.contracts import Domain, Outcome, Splits, Task
    from headway.registry import hookimpl

    print("a domain that talks while it is imported")

    WORD = "headway"

    class Letters(Domain):
        name = "letters"
        deterministic = True
        options = {"reward": "what a wrong letter is worth, 0 by default"}
        defaults = {"max_rollouts": 200}

        def __init__(self, reward="0", ids="a b c d e f g", held_out="8", path="letters.txt"):
            self.wrong = float(reward)
            self.ids, self.held_out, self.path = ids.split(), int(held_out), path

        def tasks(self):
            tasks = [Task(id=name, data=n) for n, name in enumerate(self.ids)]
            held_out = [Task(id=f"held-out {n}", data=n) for n in range(self.held_out)]
            return Splits(train=tasks, held_out=held_out)

        def initial(self):
            return ""

        def rollout(self, state, task):
            print("a domain that talks")
            right = state[task.data : task.data + 1] == WORD[task.data]
            return Outcome(reward=1.0 if right else self.wrong, output=task.data)

        def measure(self, state, task):
            return 1.0 if state[: task.data] == WORD[: task.data] else self.wrong

        def propose(self, state, task, outcome):
            return WORD[: len(state) + 1]

        def apply(self, state, diff):
            return diff

        def render(self, state):
            return {self.path: state + "\\n"}

    @hookimpl
    def headway_domains():
        return {"letters": Letters}

    @hookimpl
    def headway_observers():
        return {"silent": lambda: (lambda notice: None)}
"""


PATIENCE = 5.0
"""Seconds that a thread has to end, once nothing keeps it any more."""


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left():
    """
    When all tests of a process are over, no run has left a thread, nor a task that is not done.
    """
    yield
    gc.collect()
    threads = [t for t in threading.enumerate() if t.name.startswith("headway")]
    for thread in threads:
        thread.join(PATIENCE)
    tasks = [t for t in gc.get_objects() if isinstance(t, asyncio.Task) and not t.done()]

    assert [] == [thread.name for thread in threads if thread.is_alive()]
    assert [] == tasks


@pytest.fixture(scope="session", autouse=True)
def no_database_is_left_open():
    """
    When all tests of a process are over, each connection to a database that one of them opened was
    closed; from Python 3.13 on the test that opened it is told, by a warning.
    """
    if sys.version_info >= (3, 13):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
        yield
    gc.collect()

    assert [] == Watched.left


def write_distribution(
    site: Path, distribution: str, code: str, *, version="1.0", entries=None, requires=()
) -> Path:
    """
    Write what an installer would write: one module, and the metadata beside it.
    """
    module = distribution.replace("-", "_")
    (site / f"{module}.py").write_text(dedent(code), encoding="utf-8")
    info = site / f"{module}-{version}.dist-info"
    info.mkdir()
    metadata = ["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    (info / "METADATA").write_text("\n".join(metadata) + "\n", encoding="utf-8")
    lines = entries or [f"{distribution.removeprefix('headway-')} = {module}"]
    text = "\n".join(["[headway]", *lines]) + "\n"
    (info / "entry_points.txt").write_text(text, encoding="utf-8")
    (info / "RECORD").write_text(f"{module}.py,,\n", encoding="utf-8")
    return info


@pytest.fixture
def site(tmp_path, monkeypatch):
    """
    A folder for distributions, first on ``sys.path``; what is imported from it is forgotten.
    """
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.delenv("HEADWAY_PLUGINS", raising=False)
    monkeypatch.delenv("HEADWAY_PLUGINS_STRICT", raising=False)
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def install(site):
    """
    ``install("headway-x", code)`` puts a tiny distribution where importlib finds it.
    """

    def put(distribution, code, **more):
        info = write_distribution(site, distribution, code, **more)
        importlib.invalidate_caches()
        return info

    return put


@pytest.fixture
def letters(install, tmp_path, monkeypatch):
    """
    A tiny domain, installed, and a folder of its own to run in.
    """
    install("headway-letters", LETTERS, version="2.5")
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
