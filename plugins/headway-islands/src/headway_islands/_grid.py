"""
Grids of elites: which cell an artifact belongs to, who lives there, and who moves to the next island.

Everything here is a pure function of frozen values.

Guarantees: a cell has one elite, and its score never falls; an island that has an elite keeps one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from math import log2
from typing import TypeAlias

import attrs

from headway.contracts import Artifact, Json, canonical_json

LARGEST = 1 << 20
"""Bytes of JSON from which on an artifact that nobody describes counts as of the largest size."""


@attrs.frozen(kw_only=True)
class Elite:
    """
    The best artifact of a cell.

    Args:
        artifact: What it is.
        score: Its mean score.
    """

    artifact: Artifact
    score: float


Grid: TypeAlias = Mapping[str, Elite]
"""The elites of an island by cell."""


def cell_of(artifact: Artifact, description: Mapping[str, float], bins: int) -> str:
    """
    The name of the cell that an artifact belongs to.

    Args:
        artifact: What is to be placed.
        description: What the domain says of it, by numbers from 0 to 1; when that is nothing, the size of
            its JSON text is taken, on a logarithmic scale.
        bins: Into how many parts the range of each number is cut.
    """
    held = description or {"size": _size(artifact.value)}
    places = (min(bins - 1, int(bins * held[name])) for name in sorted(held))
    return "/".join(map(str, places))


def _size(state: Json) -> float:
    return min(1.0, log2(len(canonical_json(state))) / log2(LARGEST))


def with_elite(grid: Grid, cell: str, elite: Elite) -> Grid | None:
    """
    The grid with a new elite in a cell; None when who lives there is at least as good.
    """
    if cell in grid and grid[cell].score >= elite.score:
        return None
    return {**grid, cell: elite}


def best_of(grid: Grid) -> tuple[str, Elite]:
    """
    The cell with the best elite, and who that is; the first by name of equal ones.
    """
    return max(sorted(grid.items()), key=lambda item: item[1].score)


def migrated(islands: Sequence[Grid]) -> tuple[Grid, ...]:
    """
    The islands after the best elite of each was sent to the next one, the last one's to the first.

    All set out before any arrives.  Who arrives takes its cell if it is better than who lives there.
    """
    found: list[Grid] = []
    for place, grid in enumerate(islands):
        cell, elite = best_of(islands[place - 1])
        found.append(with_elite(grid, cell, elite) or grid)
    return tuple(found)


def chosen(cells: Sequence[str], best: str, explore: float, rng: random.Random) -> str:
    """
    The cell whose elite is the next parent.

    Args:
        cells: The cells of the island.
        best: The one with the best elite.
        explore: The chance that any cell is drawn, with equal chances, instead of the best.
        rng: What draws.
    """
    return rng.choice(sorted(cells)) if rng.random() < explore else best
