"""
What the optimizer remembers between its steps.
"""

from __future__ import annotations

from typing import Any

import attrs

from headway.contracts import Json
from headway_islands._grid import Elite, Grid, best_of, migrated, with_elite


@attrs.frozen(kw_only=True)
class Memory:
    """
    The islands.

    Args:
        head: The content digest of the head that was last seen or committed; another one is somebody
            else's commit.
        islands: The grid of each island.
        admitted: How many elites were let in, by birth.
    """

    head: str = ""
    islands: tuple[Grid, ...]
    admitted: int = 0

    @classmethod
    def read(cls, held: Any, islands: int) -> Memory:
        """
        The memory that ``to_json`` wrote; for None, that many islands without an elite.
        """
        if held is None:
            return cls(islands=({},) * islands)
        grids = tuple(
            {cell: Elite(artifact=artifact, score=score) for cell, (artifact, score) in grid}
            for grid in (island["cells"].items() for island in held["islands"])
        )
        return cls(head=held["head"], islands=grids, admitted=held["admitted"])

    def settled(self, cell: str, elite: Elite) -> Memory:
        """
        The memory after an artifact that no rollout brought was put on every island.
        """
        grids = (with_elite(grid, cell, elite) or grid for grid in self.islands)
        return attrs.evolve(self, islands=tuple(grids))

    def admitting(self, island: int, cell: str, elite: Elite, migrate_every: int) -> Memory | None:
        """
        The memory with a new elite on an island; None when it does not get in.

        Every ``migrate_every`` admissions the best of each island goes to the next one.
        """
        grid = with_elite(self.islands[island], cell, elite)
        if grid is None:
            return None
        islands = (*self.islands[:island], grid, *self.islands[island + 1 :])
        admitted = self.admitted + 1
        if admitted % migrate_every == 0:
            islands = migrated(islands)
        return attrs.evolve(self, islands=islands, admitted=admitted)

    @property
    def best(self) -> Elite:
        """
        The best elite of all islands, that of the first island of equal ones.
        """
        return max((best_of(grid)[1] for grid in self.islands), key=lambda elite: elite.score)

    def to_json(self) -> Json:
        """
        The memory as a JSON value.
        """
        return {
            "head": self.head,
            "admitted": self.admitted,
            "islands": [
                {
                    "best": best_of(grid)[0],
                    "cells": {cell: [elite.artifact, elite.score] for cell, elite in grid.items()},
                }
                for grid in self.islands
            ],
        }
