"""
An executor that lets only so many calls reach the backend at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from headway.errors import OptionError


class NewcomerExecutor:
    """
    Runs work on the asking thread, at most ``limit`` calls at a time; the others wait their turn.

    For a backend that refuses more connections than that, whatever the number of workers.  Safe to
    use from several threads at once.

    Args:
        limit: How many calls at a time.

    Raises:
        OptionError: it is below 1.
    """

    def __init__(self, limit: int = 4) -> None:
        if limit < 1:
            raise OptionError("limit", limit, "Give a whole number of at least 1.")
        self._places = threading.BoundedSemaphore(limit)

    def run(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """
        Call the function when there is a place; it is free again however the call ends.
        """
        with self._places:
            return function(*arguments)

    def close(self) -> None:
        """
        Nothing to release.
        """
