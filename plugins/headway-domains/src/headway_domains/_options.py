"""
Options that arrive as numbers or, from a command line, as text.
"""

from __future__ import annotations

from collections.abc import Callable

from headway.errors import OptionError


def at_least_zero(option: str, most: float = float("inf")) -> Callable[[object], float]:
    """
    A converter of one option to a number between 0 and ``most``, both included.

    Args:
        option: The option's name, for the error.
        most: The largest number that is allowed.

    >>> at_least_zero("noise")("0.1")
    0.1
    """

    def convert(value: object) -> float:
        number = _number(value)
        if number is None or not 0 <= number <= most:
            upper = "" if most == float("inf") else f" and at most {most:g}"
            raise OptionError(option, value, f"Give a number of at least 0{upper}.")
        return number

    return convert


def _number(value: object) -> float | None:
    """
    The number that a value stands for; None when it stands for none.
    """
    if isinstance(value, int | float | str):
        try:
            return float(value)
        except ValueError:
            return None
    return None
