"""
Options that arrive as numbers or, from a command line, as text.
"""

from __future__ import annotations

from math import inf

from headway.durations import Law, parse_law
from headway.errors import OptionError


def number_of(value: object, *, option: str, most: float = inf) -> float:
    """
    The number between 0 and ``most``, both included, that an option's value stands for.

    Args:
        value: A number, or its text.
        option: The option's name, for the error.
        most: The largest number that is allowed.

    Raises:
        OptionError: the value is no such number.

    >>> number_of("0.1", option="noise")
    0.1
    """
    number = _read(value)
    if number is None or not 0 <= number <= most or number == inf:
        upper = "" if most == inf else f" and at most {most:g}"
        raise OptionError(option, value, f"Give a number of at least 0{upper}.")
    return number


def law_of(value: object) -> Law:
    """
    The law that the value of the option ``latency`` stands for: a law, or its text.

    Raises:
        OptionError: the value is no law.

    >>> law_of("constant:0.1").mean
    0.1
    """
    return parse_law(str(value), option="latency")


def _read(value: object) -> float | None:
    """
    A value as a number; None when it is none.
    """
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):  # a whole number may be too large for a float
            return None
    return None
