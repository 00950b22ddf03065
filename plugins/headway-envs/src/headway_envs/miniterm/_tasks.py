"""
Tasks of MiniTerm, drawn by key.

A batch is a pure function of (seed, number of the batch), and an episode of it one of (seed, number
of the batch, number of the episode): a longer batch begins with the shorter one.  The chance of the
policy, one Gumbel number for each turn and command, is drawn in the same way, so that every theta
meets the same tasks with the same chance.
"""

from __future__ import annotations

from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from headway.contracts import Json
from headway_envs._checks import check_whole
from headway_envs.miniterm._rules import (
    COMMANDS,
    DIRECTORIES,
    KINDS,
    NONE,
    TOKENS,
    TURNS,
    Goal,
)
from headway_envs.miniterm._tables import code, files_code, view

SCALE: Final = 2.0**28
"""Logits and their noise are whole multiples of 1 / SCALE, and are held as those multiples."""

_TASKS, _NOISE = 0x7A, 0x6E
"""What a generator is for: a word of its counter."""


def _generator(seed: int, batch: int, purpose: int) -> np.random.Generator:
    key = np.array([seed, batch], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, purpose]))


def _none_yet() -> list[NDArray[np.float64]]:
    return []


@attrs.frozen(kw_only=True, eq=False)
class TaskBatch:
    """
    E episodes' tasks, and the chance that a sampling policy has in each.

    Make one with ``TaskBatch.draw``.  Nobody may write to its arrays; any number of threads may
    share it.

    Args:
        seed: What it was drawn from.
        batch: The number of the batch.
        kind: Numbers into ``KINDS``, shape (E,).
        token: The token that each task is about, shape (E,).
        to: Where ``copy`` and ``move`` bring it, shape (E,).
        files: The token in each directory at the start, shape (E, 4).
        start: The directory at the start, shape (E,).
    """

    seed: int
    batch: int
    kind: NDArray[np.int64]
    token: NDArray[np.int64]
    to: NDArray[np.int64]
    files: NDArray[np.int64]
    start: NDArray[np.int64]
    _noise: list[NDArray[np.float64]] = attrs.field(init=False, factory=_none_yet, repr=False)

    @classmethod
    def draw(cls, seed: int, batch: int, episodes: int) -> TaskBatch:
        """
        The tasks of a key.

        Args:
            seed: A whole number from 0 up to 2**64.
            batch: The number of the batch, likewise.
            episodes: How many tasks, at least 1.

        Raises:
            OptionError: one of them is something else.
        """
        check_whole("seed", seed, 0, 2**64)
        check_whole("batch", batch, 0, 2**64)
        check_whole("episodes", episodes, 1)
        units = _generator(seed, batch, _TASKS).random((episodes, 4 + DIRECTORIES))
        files = np.argsort(units[:, 4:], axis=1, kind="stable")
        token = _choice(units[:, 1], TOKENS)
        source = np.argmax(files == token[:, None], axis=1)
        return cls(
            seed=seed,
            batch=batch,
            kind=_choice(units[:, 0], len(KINDS)),
            token=token,
            to=(source + 1 + _choice(units[:, 2], DIRECTORIES - 1)) % DIRECTORIES,
            files=files,
            start=_choice(units[:, 3], DIRECTORIES),
        )

    def __len__(self) -> int:
        return len(self.kind)

    def goal(self, episode: int) -> Goal:
        """
        One of the tasks, as the rules take it.
        """
        return Goal(
            kind=int(self.kind[episode]),
            token=int(self.token[episode]),
            to=int(self.to[episode]),
            files=tuple(self.files[episode].tolist()),
            start=int(self.start[episode]),
        )

    def task(self, episode: int) -> dict[str, Json]:
        """
        One of the tasks as a JSON value, which ``MiniTerm.reset`` takes.
        """
        goal = attrs.asdict(self.goal(episode))
        return {**goal, "kind": KINDS[goal["kind"]], "files": list(goal["files"])}

    def noise(self) -> NDArray[np.float64]:
        """
        Gumbel numbers in multiples of 1 / ``SCALE``, shape (E, 16, 12); drawn when first asked for.
        """
        if not self._noise:
            self._noise.append(_gumbel(self.seed, self.batch, len(self)))
        return self._noise[0]

    @property
    def index(self) -> NDArray[np.int64]:
        """
        What a policy is told of each task, as one number below 64, shape (E,).
        """
        return (self.kind * TOKENS + self.token) * DIRECTORIES + self.to

    @property
    def codes(self) -> NDArray[np.int64]:
        """
        The code of the world in which each episode begins, shape (E,).
        """
        return code(files_code(self.files), self.start, NONE, NONE)

    @property
    def views(self) -> NDArray[np.int64]:
        """
        What is seen first in each episode, shape (E,).
        """
        return view(0, self.start, NONE)

    def wanted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """
        The number of all files and the link that each task asks for, all else as it was.
        """
        link, remove, copy, move = (self.kind == number for number in range(len(KINDS)))
        rows, source = np.arange(len(self)), np.argmax(self.files == self.token[:, None], axis=1)
        files = self.files.copy()
        files[rows, source] = np.where(remove | move, NONE, self.token)
        files[rows, self.to] = np.where(copy | move, self.token, files[rows, self.to])
        return files_code(files), np.where(link, source, NONE)

    def mask(self) -> NDArray[np.bool_]:
        """
        Which directories the test ``changed`` looks at, shape (E, 4).
        """
        _, remove, copy, move = (self.kind == number for number in range(len(KINDS)))
        places = np.arange(DIRECTORIES)
        at_source = (self.files == self.token[:, None]) & (remove | move)[:, None]
        at_to: NDArray[np.bool_] = (places == self.to[:, None]) & (copy | move)[:, None]
        at_to |= at_source
        return at_to


def _choice(units: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    return (units * count).astype(np.int64)


def _gumbel(seed: int, batch: int, episodes: int) -> NDArray[np.float64]:
    shape = (episodes, TURNS, len(COMMANDS))
    drawn = _generator(seed, batch, _NOISE).standard_exponential(shape, np.float32)
    floor = np.float32(2.0**-40)  # the generator may give 0
    noise = np.rint(-np.log(np.maximum(drawn, floor)).astype(np.float64) * SCALE)
    noise.flags.writeable = False
    return noise
