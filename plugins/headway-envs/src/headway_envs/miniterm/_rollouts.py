"""
Whole populations of MiniTerm policies, all episodes stepped together.

No episode's result depends on the others: see ``_policy`` for the sums, and here an episode never
reads another one's row.  Rows of episodes that have ended are dropped now and then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from headway.errors import OptionError
from headway_envs.miniterm._policy import Networks, checked
from headway_envs.miniterm._rules import (
    COMMANDS,
    NONE,
    PRINTS,
    SUBMIT,
    TESTS,
    TURNS,
)
from headway_envs.miniterm._tables import PLACES, VALUES, VIEWS, files_and_link, tables
from headway_envs.miniterm._tasks import TaskBatch

_ROWS: Final = 4096
"""Episodes stepped together: their hidden layers then fit into a core's own cache."""

_VIEWS_A_LINE: Final = VIEWS // len(PRINTS)

_KEEP: Final = 0.65
"""Rows are dropped when no theta has more than this share of them running, ..."""

_WORTH: Final = 128
"""... and when at least so many go at once: to drop them costs as well."""


@attrs.frozen(kw_only=True, eq=False)
class Outcomes:
    """
    How the episodes of P thetas on E tasks ended; every array has the shape (P, E).

    Args:
        found: The task's token was printed.
        changed: What the task wants changed is changed.
        clean: So it is, nothing else is, and it was submitted.
        turns: Commands run, from 1 to 16.
    """

    found: NDArray[np.bool_]
    changed: NDArray[np.bool_]
    clean: NDArray[np.bool_]
    turns: NDArray[np.int64]

    @property
    def success(self) -> NDArray[np.bool_]:
        """
        Whether all tests passed.
        """
        return self.found & self.changed & self.clean

    @property
    def fitness(self) -> NDArray[np.float64]:
        """
        The weighted share of tests that passed.
        """
        passed = (self.found, self.changed, self.clean)
        tenths = sum(
            round(10 * w) * ok.astype(np.int64) for (_, w), ok in zip(TESTS, passed, strict=True)
        )
        return np.asarray(tenths) / 10


def rollouts(
    thetas: ArrayLike, tasks: TaskBatch | Sequence[TaskBatch], *, sample: bool = False
) -> Outcomes:
    """
    Let P policies do E tasks each.

    An episode's result is a function of its theta and its task alone.

    Args:
        thetas: Shape (P, 1292), or (1292,) for one policy.
        tasks: One batch that all policies do, or P batches of one length, one for each.
        sample: Whether commands are drawn with the network's probabilities, with the chance that
            belongs to the task; otherwise the likeliest one is taken.

    Raises:
        OptionError: the thetas have another shape or hold a number that is not finite, or the
            batches are not as many as the thetas or not of one length.
    """
    array = checked(thetas)
    batches = [tasks] if isinstance(tasks, TaskBatch) else list(tasks)
    if len(batches) not in {1, len(array)} or len({len(batch) for batch in batches}) != 1:
        remedy = f"Give one batch, or {len(array)} of one length: as many as thetas."
        raise OptionError("tasks", f"{len(batches)} batches", remedy)
    size = max(1, _ROWS // len(batches[0]))
    parts = [
        _Block(array[first : first + size], batches[first : first + size] or batches, sample).run()
        for first in range(0, len(array), size)
    ]
    names = [field.name for field in attrs.fields(Outcomes)]
    return Outcomes(**{n: np.concatenate([getattr(part, n) for part in parts]) for n in names})


_Ints: TypeAlias = NDArray[np.int64]


class _Block:
    """
    A few policies' episodes while they run; ``columns`` are the episodes whose rows are kept.
    """

    def __init__(
        self, thetas: NDArray[np.float64], batches: Sequence[TaskBatch], sample: bool
    ) -> None:
        count, episodes = len(thetas), len(batches[0])
        self.networks, self.batches = Networks(thetas), batches
        self.rows: _Ints = np.arange(count)[:, None]
        self.columns: _Ints = np.tile(np.arange(episodes), (count, 1))
        self.code: _Ints = self._all("codes")
        self.view: NDArray[np.uint8] = self._all("views").astype(np.uint8)
        self.shown: NDArray[np.uint8] = (_VIEWS_A_LINE * (1 + self._all("token"))).astype(np.uint8)
        self.told = self.networks.told(self._all("index"))
        self.noise = [batch.noise() for batch in batches] if sample else []
        self.found: NDArray[np.bool_] = np.zeros((count, episodes), np.bool_)
        self.over: NDArray[np.bool_] = self.found.copy()
        self.turns: _Ints = np.zeros((count, episodes), np.int64)
        self.ended = {
            name: getattr(self, name).copy() for name in ("code", "found", "over", "turns")
        }

    def _all(self, name: str) -> _Ints:
        """
        A field of all batches, a row for each theta.
        """
        fields = np.stack([getattr(batch, name) for batch in self.batches])
        return np.broadcast_to(fields, self.columns.shape).copy()

    def run(self) -> Outcomes:
        """
        Step until every episode has ended, then run the tests.
        """
        for turn in range(TURNS):
            self.step(turn)
            count, width = self.columns.shape
            running = width - int(self.over.sum(axis=1).min())
            if running == 0:
                break
            if running <= _KEEP * width and count * (width - running) >= _WORTH:
                self.drop(running)
        self.write_back()
        return self.tested()

    def step(self, turn: int) -> None:
        """
        One command in every episode; those that have ended submit once more, which does nothing.
        """
        logits = self.networks.logits(self.told, self.view)
        for row, noise in enumerate(self.noise):
            where = row if len(self.noise) > 1 else slice(None)
            logits[where] += noise[self.columns[where], turn]
        command = logits.argmax(axis=2)
        command[self.over] = SUBMIT
        at = self.code * len(COMMANDS) + command
        self.code = tables().code[at].astype(np.int64)
        self.view = tables().view[at]
        self.found |= (self.view - self.shown) < _VIEWS_A_LINE  # unsigned: wraps below
        self.turns += ~self.over
        self.over |= command == SUBMIT

    def drop(self, running: int) -> None:
        """
        Keep ``running`` rows of each theta, those that have not ended first.
        """
        self.write_back()
        kept = np.argsort(self.over, axis=1, kind="stable")[:, :running]
        for name in ("columns", "code", "view", "shown", "told", "found", "over", "turns"):
            setattr(self, name, getattr(self, name)[self.rows, kept])

    def write_back(self) -> None:
        """
        Note how the episodes stand whose rows are kept.
        """
        for name, array in self.ended.items():
            array[self.rows, self.columns] = getattr(self, name)

    def tested(self) -> Outcomes:
        """
        The tests of ``_rules.tests``, for all episodes.
        """
        ended = self.ended
        files, link = files_and_link(ended["code"])
        wanted = [batch.wanted() for batch in self.batches]
        want_files, want_link = (np.stack(each) for each in zip(*wanted, strict=True))
        differs = files[..., None] // PLACES % VALUES != want_files[..., None] // PLACES % VALUES
        masks = np.stack([batch.mask() for batch in self.batches])
        linked = (want_link == NONE) | (link == want_link)
        changed = linked & ~(differs & masks).any(axis=2)
        clean = ended["over"] & (files == want_files) & (link == want_link)
        return Outcomes(found=ended["found"], changed=changed, clean=clean, turns=ended["turns"])
