"""
A sampler that goes through the training tasks in their order, a few at a time.
"""

from __future__ import annotations

from headway.contracts import TaskBook
from headway.errors import OptionError, UsageError


class NewcomerSampler:
    """
    A curriculum: the first ``width`` tasks that the head does not solve yet take turns.

    List the tasks of the domain from easy to hard.  When all are solved, or rewards are noisy, so
    that nobody knows, every task takes its turn.

    Args:
        width: How many tasks at a time.

    Raises:
        OptionError: it is below 1.
    """

    def __init__(self, width: int = 8) -> None:
        if width < 1:
            raise OptionError("width", width, "Give a whole number of at least 1.")
        self.width: int = width

    def pick(self, book: TaskBook) -> str:
        """
        What failed comes again first; after that, the next of those whose turn it is.

        Raises:
            UsageError: the domain has no training task.
        """
        if book.retry:
            return book.retry[0]
        if not book.train:
            raise UsageError("the domain has no training task; its tasks() must give at least one")
        unsolved = [task for task in book.train if task not in book.solved]
        turns = unsolved[: self.width] if book.solved and unsolved else book.train
        return turns[book.drawn % len(turns)]
