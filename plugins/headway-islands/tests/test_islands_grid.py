"""
Grids of elites, and what moves between them, as values.
"""

from __future__ import annotations

import random
from collections import Counter
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.contracts import Artifact
from headway_islands._grid import Elite, best_of, cell_of, chosen, migrated, with_elite
from headway_islands._memory import Memory


def elite(score, name="x"):
    return Elite(artifact=Artifact({"name": name}), score=score)


@pytest.mark.parametrize(
    ("description", "cell"),
    [
        ({"a": 0.0, "b": 0.0}, "0/0"),
        ({"b": 0.99, "a": 0.25}, "1/3"),  # by name, whatever their order
        ({"a": 1.0, "b": 0.5}, "3/2"),  # 1 belongs to the last part
    ],
)
def test_a_description_names_a_cell(description, cell):
    """
    The range of each number is cut into as many parts as there are bins.
    """
    assert cell == cell_of(Artifact({}), description, 4)


def test_what_nobody_describes_is_told_apart_by_its_size():
    """
    On a logarithmic scale, and what is larger than large is in the last cell.
    """
    sizes = [0, 10, 100, 10_000, 2_000_000]
    cells = [cell_of(Artifact("x" * size), {}, 8) for size in sizes]

    assert ["0", "1", "2", "5", "7"] == cells


def test_an_elite_gives_way_to_a_better_one_alone():
    """
    A tie keeps the older; the grid that was given stays as it is.
    """
    grid = {"0": elite(0.5)}

    assert with_elite(grid, "0", elite(0.5, "y")) is None
    assert {"0": elite(0.6, "y")} == with_elite(grid, "0", elite(0.6, "y"))
    assert {"0": elite(0.5), "1": elite(0.1)} == with_elite(grid, "1", elite(0.1))
    assert {"0": elite(0.5)} == grid


def test_the_best_of_each_island_goes_to_the_next():
    """
    All set out at once, so nobody goes two islands far.
    """
    islands = (
        {"0": elite(0.9, "a"), "1": elite(0.2, "b")},
        {"0": elite(0.3, "c")},
        {"2": elite(0.1, "d")},
    )
    first, second, third = migrated(islands)

    assert {*islands[0], "2"} == set(first)
    assert elite(0.9, "a") == second["0"]
    assert elite(0.3, "c") == third["0"]
    assert islands == migrated(islands[:1]) + islands[1:]


def test_parents_are_the_best_or_any():
    """
    2,000 draws; the bounds are more than five standard deviations away.
    """
    rng = random.Random(0)
    drawn = Counter(chosen(["b", "a", "c"], "c", 0.3, rng) for _ in range(2000))

    assert 1500 < drawn["c"] < 1700
    assert 150 < drawn["a"] < 250
    assert {"c"} == {chosen(["a", "b", "c"], "c", 0.0, rng) for _ in range(20)}


@given(
    births=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from("0123"), st.integers(0, 9)), max_size=40
    )
)
def test_what_holds_whatever_is_born(births):
    """
    No cell's score falls, no island is empty, and the best of all is never lost.
    """
    memory = Memory.read(None, 3).settled("0", elite(0))
    best = 0
    for island, cell, score in births:
        after = memory.admitting(island, cell, elite(score), 3)
        if after is None:
            continue
        for old, new in zip(memory.islands, after.islands, strict=True):
            assert all(new[place].score >= held.score for place, held in old.items())
        memory, best = after, max(best, score)

    assert best == memory.best.score
    assert memory == Memory.read(deepcopy(memory.to_json()), 3)


def test_the_best_move_every_so_many_admissions():
    """
    What was not let in does not count.
    """
    memory = Memory.read(None, 2).settled("0", elite(0.1))
    memory = memory.admitting(0, "1", elite(0.5), 2)

    assert memory.admitting(0, "1", elite(0.5), 2) is None
    assert {"0"} == set(memory.islands[1])
    memory = memory.admitting(1, "2", elite(0.3), 2)
    assert {"0", "1", "2"} == set(memory.islands[0]) == set(memory.islands[1])
    assert ("1", elite(0.5)) == best_of(memory.islands[1])
