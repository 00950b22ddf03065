"""
The rules of MiniTerm as two tables: where each command leads from each world, and what one sees.

A world is one number, its *code*; what a policy sees of it, with the line printed last, is another,
its *view*.  One command of a million episodes is then one look into each table.  They are computed
once a process, when they are first asked for, in a tenth of a second and with 2 MB.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headway_envs.miniterm._rules import (
    COMMANDS,
    COPY,
    DIRECTORIES,
    DONE,
    EMPTY,
    FAILED,
    LINK,
    LOOK,
    NONE,
    NOTHING,
    PASTE,
    PRINTS,
    REMOVE,
    TOKENS,
    WIPE,
    World,
)

VALUES: Final = TOKENS + 1
"""What a directory or the clipboard may hold: a token or nothing."""

FILES: Final = VALUES**DIRECTORIES
LINKS: Final = DIRECTORIES + 1
CODES: Final = FILES * DIRECTORIES * VALUES * LINKS
VIEWS: Final = len(PRINTS) * DIRECTORIES * VALUES

PLACES: Final = VALUES ** np.arange(DIRECTORIES)
"""What a token counts in the number of all files, by directory."""


class Tables(NamedTuple):
    """
    Where commands lead.

    Args:
        code: The world after it, by world and command, flat: ``code * len(COMMANDS) + command``.
        view: What is seen then, by the same index.
    """

    code: NDArray[np.uint16]
    view: NDArray[np.uint8]


def files_code(files: NDArray[np.integer]) -> NDArray[np.int64]:
    """
    The number of all files; the last axis is the directory.
    """
    number: NDArray[np.int64] = (files * PLACES).sum(axis=-1, dtype=np.int64)
    return number


def code_of(world: World) -> int:
    """
    The code of one world.

    >>> code_of(World(files=(3, 1, 0, 2), cwd=2))
    25874
    """
    files = sum(token * VALUES**place for place, token in enumerate(world.files))
    return int(code(files, world.cwd, world.clipboard, world.link))


def code(
    files: ArrayLike, cwd: ArrayLike, clipboard: ArrayLike, link: ArrayLike
) -> NDArray[np.int64]:
    """
    The codes of worlds, from the numbers of all files and the rest; arrays of one shape.
    """
    files, cwd, clipboard, link = (np.asarray(n, np.int64) for n in (files, cwd, clipboard, link))
    return ((files * DIRECTORIES + cwd) * VALUES + clipboard) * LINKS + link


def view(printed: ArrayLike, cwd: ArrayLike, clipboard: ArrayLike) -> NDArray[np.int64]:
    """
    The views of worlds with the line that was printed last; arrays of one shape.
    """
    printed, cwd, clipboard = (np.asarray(n, np.int64) for n in (printed, cwd, clipboard))
    return (printed * DIRECTORIES + cwd) * VALUES + clipboard


def files_and_link(codes: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """
    The number of all files and the link of worlds, by code.
    """
    whole = codes.astype(np.int64)
    return whole // (DIRECTORIES * VALUES * LINKS), whole % LINKS


@cache
def tables() -> Tables:
    """
    Both tables; the same objects for every caller, which nobody may write to.
    """
    codes = np.empty((CODES, len(COMMANDS)), np.uint16)
    views = np.empty((CODES, len(COMMANDS)), np.uint8)
    files, cwd, clipboard, link = _all_worlds()
    for command in range(len(COMMANDS)):
        after = _after(command, files, cwd, clipboard, link)
        codes[:, command], views[:, command] = after
    codes.flags.writeable = views.flags.writeable = False
    return Tables(codes.ravel(), views.ravel())


_Ints: TypeAlias = NDArray[np.int64]


def _all_worlds() -> tuple[_Ints, _Ints, _Ints, _Ints]:
    every = np.arange(CODES)
    link = every % LINKS
    clipboard = every // LINKS % VALUES
    cwd = every // (LINKS * VALUES) % DIRECTORIES
    return every // (LINKS * VALUES * DIRECTORIES), cwd, clipboard, link


def _after(
    command: int, files: _Ints, cwd: _Ints, clipboard: _Ints, link: _Ints
) -> tuple[_Ints, _Ints]:
    """
    The codes and views of all worlds after one command.
    """
    place = PLACES[cwd]
    here = files // place % VALUES
    bare, printed = here == NONE, np.full(CODES, NOTHING)
    if command < DIRECTORIES:
        cwd = np.full(CODES, command)
    elif command == LOOK:
        printed = np.where(bare, EMPTY, 1 + here)
    elif command == COPY:
        printed, clipboard = np.where(bare, FAILED, DONE), np.where(bare, clipboard, here)
    elif command == PASTE:
        nothing = clipboard == NONE
        printed = np.where(nothing, FAILED, DONE)
        files = np.where(nothing, files, files + (clipboard - here) * place)
    elif command == REMOVE:
        printed, files = np.where(bare, FAILED, EMPTY), files + (NONE - here) * place
    elif command == LINK:
        printed, link = np.full(CODES, DONE), cwd
    elif command == WIPE:
        printed, files = np.full(CODES, EMPTY), np.full(CODES, FILES - 1)
    return code(files, cwd, clipboard, link), view(printed, cwd, clipboard)
