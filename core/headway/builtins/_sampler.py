"""
The built-in samplers: epochs of training tasks, in a new order each time.

Guarantees: what is picked depends on the book alone; a task to be retried is picked before any new
one, and does not use up a place of the epoch.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from headway.contracts import TaskBook
from headway.errors import UsageError
from headway.keyed import keyed_rng

_Epoch: TypeAlias = tuple[int, int, tuple[str, ...]]
"""(seed, number, training tasks)."""


@attrs.define(eq=False)
class ShuffledEpochs:
    """
    Picks the oldest task to be retried, else the next one of a shuffled epoch.

    Among the first ``n`` draws of an epoch over ``n`` tasks every task occurs exactly once.

    The order of epoch ``k`` is keyed by (seed, ``"epoch"``, k).  The current epoch's order is kept
    until the next one begins; a sampler is called from one thread at a time.
    """

    _epoch: _Epoch | None = attrs.field(default=None, init=False)
    _order: tuple[str, ...] = attrs.field(default=(), init=False)

    def pick(self, book: TaskBook) -> str:
        """
        The id of the task that the next ticket rolls out.

        Raises:
            UsageError: the book has no training task.
        """
        if book.retry:
            return book.retry[0]
        if not book.train:
            raise UsageError("the domain has no training task; its tasks() must give at least one")
        number, place = divmod(book.drawn, len(book.train))
        epoch = (book.seed, number, book.train)
        if epoch != self._epoch:
            # A cache of a pure function: with it or without it the same tasks are picked.
            self._epoch, self._order = epoch, _shuffled(*epoch)
        return self._at(place, book)

    def _at(self, place: int, book: TaskBook) -> str:
        """
        The task at a place of the current epoch's order.
        """
        del book
        return self._order[place]


@attrs.define(eq=False)
class UnsolvedEpochs(ShuffledEpochs):
    """
    As ``ShuffledEpochs``, over the tasks that the head is not known to solve.

    With deterministic rewards such a task has nothing to teach until the head moves, and then it
    counts as unknown again.  When all are solved, or rewards are not deterministic, every task takes
    its turn.
    """

    _open: tuple[str, ...] = attrs.field(default=(), init=False)
    _of: tuple[tuple[str, ...], frozenset[str]] | None = attrs.field(default=None, init=False)

    def _at(self, place: int, book: TaskBook) -> str:
        key = (self._order, book.solved)
        if self._of != key:
            self._open = tuple(task for task in self._order if task not in book.solved)
            self._of = key
        left = self._open or self._order
        return left[place % len(left)]


def _shuffled(seed: int, number: int, train: tuple[str, ...]) -> tuple[str, ...]:
    order = list(train)
    keyed_rng(seed, "epoch", number).shuffle(order)
    return tuple(order)
