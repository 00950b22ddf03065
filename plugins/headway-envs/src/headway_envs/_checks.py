"""
Checks of what callers give.
"""

from __future__ import annotations

from typing import Any

from headway.errors import OptionError


def check_whole(option: str, value: Any, least: int, below: int | None = None) -> None:
    """
    Refuse anything but a whole number of at least ``least``, and below ``below`` if that is given.

    Raises:
        OptionError: it is something else.
    """
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least or (below is not None and value >= below):
        upper = "" if below is None else f" and below {below}"
        raise OptionError(option, value, f"Give a whole number of at least {least}{upper}.")
