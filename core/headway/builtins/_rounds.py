"""
The built-in samplers that know what a round is: its rollouts share no task, or they share one.

Guarantees: what is picked depends on the book alone.  A task to be retried is picked before any new
one, so a round after one in which a rollout failed also has that task in it.
"""

from __future__ import annotations

from functools import lru_cache

import attrs

from headway._checks import check_count
from headway.contracts import TaskBook
from headway.keyed import keyed_rng

USUAL_WINDOW = 4
"""The rollouts of a round when nobody says how many: as many as there are workers by default."""


@attrs.define(eq=False, kw_only=True)
class DataParallel:
    """
    Gives each rollout of a round a task of its own.

    Tasks come in one order, keyed by the seed, again and again: any ``n`` draws in a row from ``n``
    tasks differ.  A round of more rollouts than there are tasks has some of them twice.

    Args:
        window: The rollouts of a round.

    Raises:
        OptionError: ``window`` is no whole number of at least 1.
    """

    window: int = USUAL_WINDOW

    def __attrs_post_init__(self) -> None:
        check_count("window", self.window, 1)

    def pick(self, book: TaskBook) -> str:
        """
        The task behind the last one.
        """
        return _picked(book, book.drawn)


@attrs.define(eq=False, kw_only=True)
class Ensemble:
    """
    Gives all rollouts of a round the same task.

    Tasks come in one order, keyed by the seed, again and again, one a round.

    Args:
        window: The rollouts of a round.

    Raises:
        OptionError: ``window`` is no whole number of at least 1.
    """

    window: int = USUAL_WINDOW

    def __attrs_post_init__(self) -> None:
        check_count("window", self.window, 1)

    def pick(self, book: TaskBook) -> str:
        """
        The round's task.
        """
        return _picked(book, book.drawn // self.window)


def _picked(book: TaskBook, place: int) -> str:
    if book.retry:
        return book.retry[0]
    order = _order(book.seed, book.train)
    return order[place % len(order)]


@lru_cache(maxsize=8)
def _order(seed: int, train: tuple[str, ...]) -> tuple[str, ...]:
    order = list(train)
    keyed_rng(seed, "order").shuffle(order)
    return tuple(order)
