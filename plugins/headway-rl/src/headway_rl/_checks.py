"""
Checks of what callers give: one sentence for each rule, so that equal mistakes read equally.
"""

from __future__ import annotations

import math
from typing import Any

from headway.errors import OptionError, suggestion


def check_count(option: str, value: Any, least: int) -> None:
    """
    Refuse anything but a whole number of at least ``least``.

    Raises:
        OptionError: it is something else.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise OptionError(option, value, f"Give a whole number of at least {least}.")


def check_parts(updates: Any, batch: int, named: str) -> None:
    """
    Refuse to deal a batch into more updates than it has groups.

    Args:
        updates: ``updates_per_step``.
        batch: Groups of a batch.
        named: The option that says so.

    Raises:
        OptionError: there are more, or it is no whole number of at least 1.
    """
    check_count("updates_per_step", updates, 1)
    if updates > batch:
        remedy = f"Each update has groups of its own, and {named} is {batch}; give at most so many."
        raise OptionError("updates_per_step", updates, remedy)


def check_number(
    option: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float = math.inf,
) -> None:
    """
    Refuse anything but a finite number within bounds.

    Raises:
        OptionError: it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise OptionError(option, value, "Give a number.")
    low = value > above if above is not None else least is None or value >= least
    if not low or not value < below:
        bounds = [
            "" if above is None else f"above {above:g}",
            "" if least is None else f"of at least {least:g}",
            "and finite" if below == math.inf else f"and below {below:g}",
        ]
        raise OptionError(option, value, f"Give a number {' '.join(filter(None, bounds))}.")


def check_choice(option: str, value: Any, choices: tuple[str, ...]) -> None:
    """
    Refuse anything but one of some words.

    Raises:
        OptionError: it is something else.
    """
    if value not in choices:
        hint = suggestion(str(value), choices)
        raise OptionError(option, value, f"Give one of {', '.join(choices)}.{hint}")


def check_flag(option: str, value: Any) -> None:
    """
    Refuse anything but true or false.

    Raises:
        OptionError: it is something else.
    """
    if not isinstance(value, bool):
        raise OptionError(option, value, "Give true or false.")
