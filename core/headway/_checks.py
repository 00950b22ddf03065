"""
Checks of what callers give: one sentence for each rule, so that equal mistakes read equally.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from headway.errors import OptionError, suggestion

BOOLEANS: Mapping[str, bool] = MappingProxyType(
    {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
)
"""What a text stands for where true or false is asked for, in small letters."""


def check_count(option: str, value: Any, least: int, most: int | None = None) -> None:
    """
    Refuse anything but a whole number of at least ``least`` and at most ``most``.

    Raises:
        OptionError: it is something else.
    """
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise OptionError(option, value, f"Give a whole number {bounds}.")


def check_number(
    option: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> None:
    """
    Refuse anything but a number within bounds; infinity is a number, NaN is none.

    Raises:
        OptionError: it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise OptionError(option, value, "Give a number.")
    rules = (
        ("above", operator.gt, above),
        ("of at least", operator.ge, least),
        ("below", operator.lt, below),
        ("of at most", operator.le, most),
    )
    given = [(words, holds, bound) for words, holds, bound in rules if bound is not None]
    if not all(holds(value, bound) for _, holds, bound in given):
        told = " and ".join(f"{words} {bound:g}" for words, _, bound in given)
        raise OptionError(option, value, f"Give a number {told}.")


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


def check_folder_name(option: str, value: Any) -> None:
    """
    Refuse anything but the name of a folder; whether there is one is not looked at.

    Raises:
        OptionError: it is something else.
    """
    # What ``os.fspath`` does; the contracts import this, and know nothing of an operating system.
    name: object = value.__fspath__() if hasattr(value, "__fspath__") else value
    # ``Path("")`` would be the current folder.
    if not isinstance(name, str) or not name or "\0" in name:
        raise OptionError(option, value, "Give the name of a folder.")
