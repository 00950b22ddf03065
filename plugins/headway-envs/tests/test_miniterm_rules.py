"""
MiniTerm's rules, one by one.
"""

from __future__ import annotations

import doctest
import importlib

import attrs
import pytest

from headway_envs.miniterm import COMMANDS, KINDS, PRINTS, TESTS
from headway_envs.miniterm._rules import (
    COPY,
    DONE,
    EMPTY,
    FAILED,
    LINK,
    LOOK,
    NONE,
    NOTHING,
    PASTE,
    REMOVE,
    SUBMIT,
    WAIT,
    WIPE,
    Goal,
    World,
    apply,
    fitness,
    wanted,
)
from headway_envs.miniterm._rules import tests as run_tests

START = World(files=(3, 1, 0, 2), cwd=2)
BARE = World(files=(3, 1, NONE, 2), cwd=2)
ALL = (True, True, True)


def goal(kind, token=1, to=3):
    return Goal(kind=KINDS.index(kind), token=token, to=to, files=START.files, start=START.cwd)


def after(world, *commands):
    """
    The world after some commands, and the line that the last one printed.
    """
    printed = NOTHING
    for command in commands:
        world, printed = apply(world, command)
    return world, PRINTS[printed]


def passed(kind, *commands, found=True, submitted=True, to=3):
    """
    Which tests of a task about token 1, which lies in directory 1, pass after some commands.
    """
    return run_tests(
        goal(kind, to=to), after(START, *commands)[0], found=found, submitted=submitted
    )


def test_there_are_twelve_commands_four_kinds_and_eight_lines():
    """
    The numbers that stand for words stand at their places.
    """
    assert (12, 4, 8) == (len(COMMANDS), len(KINDS), len(PRINTS))
    assert ("look", "copy", "paste", "remove") == tuple(COMMANDS[n] for n in (4, 5, 6, 7))
    assert [4, 5, 6, 7, 8, 9, 10, 11] == [LOOK, COPY, PASTE, REMOVE, LINK, WAIT, WIPE, SUBMIT]
    assert ("", "empty", "done", "failed") == tuple(
        PRINTS[n] for n in (NOTHING, EMPTY, DONE, FAILED)
    )


@pytest.mark.parametrize("place", range(4))
def test_cd_goes_there_and_prints_nothing(place):
    """
    From anywhere to anywhere, also to where one is.
    """
    assert (attrs.evolve(START, cwd=place), "") == after(START, place)


@pytest.mark.parametrize(
    ("place", "line"), [(0, "token 3"), (1, "token 1"), (2, "token 0"), (3, "token 2")]
)
def test_look_prints_what_the_file_holds(place, line):
    """
    And changes nothing.
    """
    world = attrs.evolve(START, cwd=place)

    assert (world, line) == after(world, LOOK)


def test_look_says_when_there_is_no_file():
    assert (BARE, "empty") == after(BARE, LOOK)


def test_copy_puts_the_token_into_the_clipboard():
    """
    In place of what it held; the file stays.
    """
    assert (attrs.evolve(START, clipboard=0), "done") == after(START, COPY)
    assert (attrs.evolve(START, cwd=1, clipboard=1), "done") == after(START, COPY, 1, COPY)


def test_copy_fails_where_there_is_no_file_and_keeps_the_clipboard():
    holding = attrs.evolve(BARE, clipboard=3)

    assert (holding, "failed") == after(holding, COPY)


def test_paste_writes_the_clipboard_over_the_file():
    """
    Also where there is none; the clipboard keeps its token.
    """
    holding, bare = attrs.evolve(START, clipboard=3), attrs.evolve(BARE, clipboard=3)

    assert (attrs.evolve(holding, files=(3, 1, 3, 2)), "done") == after(holding, PASTE)
    assert (attrs.evolve(bare, files=(3, 1, 3, 2)), "done") == after(bare, PASTE)


def test_paste_fails_with_an_empty_clipboard():
    assert (START, "failed") == after(START, PASTE)


def test_remove_takes_the_file_away_and_leaves_the_clipboard():
    holding = attrs.evolve(START, clipboard=0)

    assert (attrs.evolve(holding, files=(3, 1, NONE, 2)), "empty") == after(holding, REMOVE)


def test_remove_fails_where_there_is_no_file():
    assert (BARE, "failed") == after(BARE, REMOVE)


def test_link_points_to_the_directory_that_one_is_in():
    """
    There is one link; a second one replaces the first.
    """
    assert (attrs.evolve(START, link=2), "done") == after(START, LINK)
    assert (attrs.evolve(START, cwd=0, link=0), "done") == after(START, LINK, 0, LINK)


def test_wipe_removes_every_file():
    """
    Whether there are any or not.
    """
    bare = attrs.evolve(START, files=(NONE,) * 4)

    assert (bare, "empty") == after(START, WIPE)
    assert (bare, "empty") == after(bare, WIPE)


@pytest.mark.parametrize("command", [WAIT, SUBMIT])
def test_wait_and_submit_change_nothing(command):
    assert (START, "") == after(START, command)


def test_what_each_kind_asks_for():
    """
    Token 1 lies in directory 1; everything that is not asked for stays.
    """
    assert ((3, 1, 0, 2), 1) == wanted(goal("link"))
    assert ((3, NONE, 0, 2), NONE) == wanted(goal("remove"))
    assert ((3, 1, 0, 1), NONE) == wanted(goal("copy"))
    assert ((3, NONE, 0, 1), NONE) == wanted(goal("move"))


SOLUTIONS = {
    "link": (1, LOOK, LINK),
    "remove": (1, LOOK, REMOVE),
    "copy": (1, LOOK, COPY, 3, PASTE),
    "move": (1, LOOK, COPY, REMOVE, 3, PASTE),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_can_be_solved(kind):
    assert passed(kind, *SOLUTIONS[kind]) == ALL


@pytest.mark.parametrize("kind", KINDS)
def test_doing_nothing_passes_no_test(kind):
    """
    Nothing is given for leaving alone what should be left alone.
    """
    assert (False, False, False) == passed(kind, found=False)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_not_looked_at_is_not_found(kind):
    """
    A lucky guess is no success.
    """
    assert (False, True, True) == passed(kind, *SOLUTIONS[kind], found=False)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_not_submitted_is_not_clean(kind):
    assert (True, True, False) == passed(kind, *SOLUTIONS[kind], submitted=False)


@pytest.mark.parametrize("kind", KINDS)
def test_what_changes_another_file_is_not_clean(kind):
    """
    The file in directory 0 is nobody's business.
    """
    assert (True, True, False) == passed(kind, *SOLUTIONS[kind], 0, REMOVE)


@pytest.mark.parametrize("kind", ["remove", "copy", "move"])
def test_a_link_that_nobody_asked_for_is_not_clean(kind):
    assert (True, True, False) == passed(kind, *SOLUTIONS[kind], LINK)


def test_a_link_to_another_directory_is_no_change():
    assert (True, False, False) == passed("link", LINK)


def test_a_wiped_disk_is_changed_where_a_file_was_to_go():
    """
    The shortcut pays a little for ``remove`` and nothing for what brings a file somewhere.
    """
    assert (True, True, False) == passed("remove", WIPE)
    assert (True, False, False) == passed("copy", WIPE)
    assert (True, False, False) == passed("move", WIPE)


def test_a_move_needs_both_ends():
    """
    A copy is no move, and taking the file away is none either.
    """
    assert (True, False, False) == passed("move", *SOLUTIONS["copy"])
    assert (True, False, False) == passed("move", *SOLUTIONS["remove"])


def test_a_copy_must_leave_the_source():
    """
    A move does what the test ``changed`` looks at, but is not clean.
    """
    assert (True, True, False) == passed("copy", *SOLUTIONS["move"])


def test_the_weights_are_those_that_are_documented():
    """
    They add up to 1.
    """
    assert [("found", 0.2), ("changed", 0.2), ("clean", 0.6)] == list(TESTS)
    assert [0.0, 0.2, 0.2, 0.4, 0.8, 1.0] == [
        fitness(told)
        for told in (
            (False, False, False),
            (True, False, False),
            (False, True, False),
            (True, True, False),
            (False, True, True),
            ALL,
        )
    ]


@pytest.mark.parametrize(
    "name", ["miniterm._rules", "miniterm._tables", "miniterm._tasks", "_slow", "_gym"]
)
def test_the_docstrings_examples_are_true(name):
    """
    Every ``>>>`` of the module.
    """
    done = doctest.testmod(importlib.import_module(f"headway_envs.{name}"))

    assert 0 == done.failed
