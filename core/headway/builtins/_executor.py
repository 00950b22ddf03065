"""
The built-in executor: work runs on the thread that asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class ThreadExecutor:
    """
    Runs work on the asking thread, at no cost but the call.

    Safe to use from several threads at once: it holds nothing.  A thread cannot be stopped from
    outside, so work that overruns its deadline is left behind, not ended.
    """

    def run(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """
        Call the function.

        >>> ThreadExecutor().run(divmod, 7, 2)
        (3, 1)
        """
        return function(*arguments)

    def close(self) -> None:
        """
        Nothing to release.
        """
