"""
The rules of MiniTerm, one command and one test at a time, in plain Python.

Everything else follows these: the tables that populations run on are held against every line here,
for each of the 62,500 worlds and each command.

1. There are four directories.  Each holds one file or none, and a file is one of four tokens.
2. A command works on the directory that one is in, and prints one line.  Only ``look`` prints
   what a file holds.
3. What cannot be done prints ``failed`` and changes nothing.
4. An episode ends with ``submit``, or after 16 commands.  Then the task's tests are run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import attrs

DIRECTORIES: Final = 4
TOKENS: Final = 4
TURNS: Final = 16
"""Commands that an episode has at most."""

KINDS: Final = ("link", "remove", "copy", "move")
"""What a task may ask for."""

COMMANDS: Final = (
    *("cd 0", "cd 1", "cd 2", "cd 3"),
    *("look", "copy", "paste", "remove", "link", "wait", "wipe", "submit"),
)
LOOK, COPY, PASTE, REMOVE, LINK, WAIT, WIPE, SUBMIT = range(DIRECTORIES, len(COMMANDS))

PRINTS: Final = ("", "token 0", "token 1", "token 2", "token 3", "empty", "done", "failed")
"""Every line that a command may print; a token's line stands at its number plus 1."""
NOTHING, _, _, _, _, EMPTY, DONE, FAILED = range(len(PRINTS))

NONE: Final = 4
"""In place of a token: no file, an empty clipboard.  In place of a directory: no link."""

TESTS: Final = (("found", 0.2), ("changed", 0.2), ("clean", 0.6))
"""The tests of every task, with their weights."""


@attrs.frozen(kw_only=True)
class World:
    """
    All that commands can change.

    Args:
        files: The token in each directory, or ``NONE``.
        cwd: The directory that one is in.
        clipboard: The token that was copied last, or ``NONE``.
        link: The directory that the link points to, or ``NONE``.
    """

    files: tuple[int, ...]
    cwd: int
    clipboard: int = NONE
    link: int = NONE

    @property
    def here(self) -> int:
        """
        The token in the directory that one is in, or ``NONE``.
        """
        return self.files[self.cwd]


@attrs.frozen(kw_only=True)
class Goal:
    """
    What a task asks for, and how its episode begins.

    Args:
        kind: A number into ``KINDS``.
        token: The token of the file that it is about.
        to: Where ``copy`` and ``move`` bring it; never where it is.  Told by every task, though
            ``link`` and ``remove`` have no use for it.
        files: The token in each directory at the start: each of the four once.
        start: The directory that one starts in.
    """

    kind: int
    token: int
    to: int
    files: tuple[int, ...]
    start: int

    @property
    def source(self) -> int:
        """
        The directory whose file the task is about; the one thing that it does not tell.
        """
        return self.files.index(self.token)

    @property
    def index(self) -> int:
        """
        What a policy is told of the task, as one number below 64.
        """
        return (self.kind * TOKENS + self.token) * DIRECTORIES + self.to

    def begin(self) -> World:
        """
        The world before the first command.
        """
        return World(files=self.files, cwd=self.start)


def apply(world: World, command: int) -> tuple[World, int]:
    """
    Run one command.

    Args:
        world: The world before it.
        command: A number into ``COMMANDS``.

    Returns:
        The world after it, and a number into ``PRINTS``.
    """
    if command < DIRECTORIES:
        return attrs.evolve(world, cwd=command), NOTHING
    act = _ACTS.get(command)
    return act(world) if act else (world, NOTHING)  # wait and submit


def _look(world: World) -> tuple[World, int]:
    return world, EMPTY if world.here == NONE else 1 + world.here


def _copy(world: World) -> tuple[World, int]:
    if world.here == NONE:
        return world, FAILED
    return attrs.evolve(world, clipboard=world.here), DONE


def _paste(world: World) -> tuple[World, int]:
    if world.clipboard == NONE:
        return world, FAILED
    return _put(world, world.clipboard), DONE


def _remove(world: World) -> tuple[World, int]:
    return (world, FAILED) if world.here == NONE else (_put(world, NONE), EMPTY)


def _link(world: World) -> tuple[World, int]:
    return attrs.evolve(world, link=world.cwd), DONE


def _wipe(world: World) -> tuple[World, int]:
    return attrs.evolve(world, files=(NONE,) * DIRECTORIES), EMPTY


def _put(world: World, token: int) -> World:
    files = list(world.files)
    files[world.cwd] = token
    return attrs.evolve(world, files=tuple(files))


_ACTS: Final[Mapping[int, Callable[[World], tuple[World, int]]]] = MappingProxyType(
    {LOOK: _look, COPY: _copy, PASTE: _paste, REMOVE: _remove, LINK: _link, WIPE: _wipe}
)


def wanted(goal: Goal) -> tuple[tuple[int, ...], int]:
    """
    The files and the link that a task asks for, everything else left as it was.
    """
    files, link, kind = list(goal.files), NONE, KINDS[goal.kind]
    if kind == "link":
        link = goal.source
    if kind in {"remove", "move"}:
        files[goal.source] = NONE
    if kind in {"copy", "move"}:
        files[goal.to] = goal.token
    return tuple(files), link


def tests(goal: Goal, world: World, *, found: bool, submitted: bool) -> tuple[bool, bool, bool]:
    """
    Run a task's tests.

    Args:
        goal: The task.
        world: The world at the end.
        found: Whether ``look`` has printed the task's token.
        submitted: Whether the episode ended with ``submit``.

    Returns:
        ``found``: the token was seen.  ``changed``: what the task wants changed is changed.
        ``clean``: so it is, nothing else is, and it was submitted.
    """
    files, link = wanted(goal)
    places = {"link": (), "remove": (goal.source,), "copy": (goal.to,)}
    checked = places.get(KINDS[goal.kind], (goal.source, goal.to))
    linked = goal.kind != KINDS.index("link") or world.link == link
    changed = linked and all(world.files[place] == files[place] for place in checked)
    clean = submitted and (world.files, world.link) == (files, link)
    return found, changed, clean


def fitness(passed: tuple[bool, ...]) -> float:
    """
    The weighted share of tests that were passed.

    >>> fitness((True, True, False))
    0.4
    """
    return round(sum(weight for (_, weight), ok in zip(TESTS, passed, strict=True) if ok), 9)
