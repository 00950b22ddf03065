"""
MiniTerm's tables say what its rules say, everywhere.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from headway_envs.miniterm import COMMANDS
from headway_envs.miniterm._rules import World, apply
from headway_envs.miniterm._tables import CODES, VIEWS, code_of, files_and_link, tables, view


def worlds():
    """
    All of them, in the order of their codes.
    """
    for *backwards, cwd, clipboard, link in itertools.product(
        *[range(5)] * 4, range(4), range(5), range(5)
    ):
        files = tuple(reversed(backwards))
        yield World(files=files, cwd=cwd, clipboard=clipboard, link=link)


@pytest.fixture(scope="module")
def every():
    return list(worlds())


def test_every_world_has_a_code_of_its_own(every):
    """
    From 0 on, without a gap; all of them fit into 16 bits.
    """
    assert list(range(CODES)) == [code_of(world) for world in every]
    assert 62_500 == CODES < 2**16
    assert 160 == VIEWS < 2**8


@pytest.mark.parametrize("command", range(len(COMMANDS)), ids=COMMANDS)
def test_the_tables_are_the_rules(command, every):
    """
    For every world: the same world after the command, and the same view of it.
    """
    here = slice(command, None, len(COMMANDS))
    codes, views = tables().code[here].tolist(), tables().view[here].tolist()
    wrong = 0
    for number, world in enumerate(every):
        then, printed = apply(world, command)
        seen = (printed * 4 + then.cwd) * 5 + then.clipboard
        wrong += (code_of(then), seen) != (codes[number], views[number])

    assert 0 == wrong


def test_a_view_is_the_line_the_directory_and_the_clipboard():
    """
    All views are different.
    """
    parts = np.indices((8, 4, 5)).reshape(3, -1)

    assert list(range(VIEWS)) == view(*parts).tolist()


def test_files_and_link_are_read_from_a_code(every):
    """
    The number of all files counts tokens as digits of base 5, directory 0 first.
    """
    some = every[::977]
    files, link = files_and_link(np.array([code_of(world) for world in some], np.uint16))

    assert [world.link for world in some] == link.tolist()
    assert [sum(t * 5**n for n, t in enumerate(w.files)) for w in some] == files.tolist()


def test_nobody_can_write_to_the_tables():
    """
    They are shared by all threads, and made once.
    """
    assert tables() is tables()
    with pytest.raises(ValueError, match="read-only"):
        tables().code[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        tables().view[0] = 1
