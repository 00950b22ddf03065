"""
Laws of how long work takes, each one sampled from a single uniform number.

A law turns a number from [0, 1) into seconds by inverting its distribution, so that a duration is
a pure function of its key and never depends on the order in which durations are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from statistics import NormalDist, fmean
from typing import Protocol, TypeAlias

import attrs

from headway.errors import OptionError

__all__ = ["Constant", "Law", "LogNormal", "Pareto", "Recorded", "Uniform", "parse_law"]

SPELLINGS = (
    "none",
    "constant:SECONDS",
    "uniform:LOW,HIGH",
    "lognormal:MEAN,SIGMA",
    "pareto:MEAN,ALPHA",
    "recorded:SECONDS,SECONDS,...",
)
"""Every way to write a law."""

SMALLEST_UNIT = 2.0**-54
"""Stands for 0 where a law needs a number strictly between 0 and 1; half the generator's step."""

_NORMAL = NormalDist()


class Law(Protocol):
    """
    How long one kind of work takes; a frozen value, safe to share between threads.

    ``str(law)`` is the text that ``parse_law`` reads.
    """

    @property
    def mean(self) -> float:
        """
        The expected duration in seconds.
        """
        ...

    def draw(self, unit: float) -> float:
        """
        The duration in seconds at a quantile.

        Args:
            unit: A uniform number in [0, 1).
        """
        ...


def _require(condition: bool, text: str, remedy: str) -> None:
    if not condition:
        raise OptionError("law", text, remedy)


def _spell(name: str, *numbers: float) -> str:
    return f"{name}:{','.join(map(repr, numbers))}"


def _as_tuple(numbers: Iterable[float]) -> tuple[float, ...]:
    return tuple(numbers)


def _is_duration(seconds: float) -> bool:
    return math.isfinite(seconds) and seconds >= 0


@attrs.frozen
class Constant:
    """
    Always the same duration.

    Args:
        seconds: That duration; 0 is what ``none`` stands for.

    Raises:
        OptionError: the duration is negative or not finite.
    """

    seconds: float

    def __attrs_post_init__(self) -> None:
        _require(_is_duration(self.seconds), str(self), "Give a number of seconds, 0 or more.")

    def __str__(self) -> str:
        return _spell("constant", self.seconds) if self.seconds else "none"

    @property
    def mean(self) -> float:
        """
        The expected duration in seconds.
        """
        return self.seconds

    def draw(self, unit: float) -> float:  # noqa: ARG002 - the protocol's signature
        """
        The duration in seconds, whatever the quantile.
        """
        return self.seconds


@attrs.frozen
class Uniform:
    """
    Every duration of a range is as likely as any other.

    Args:
        low: The shortest duration in seconds.
        high: The longest one.

    Raises:
        OptionError: the range is empty, negative or not finite.
    """

    low: float
    high: float

    def __attrs_post_init__(self) -> None:
        fits = _is_duration(self.low) and _is_duration(self.high) and self.low <= self.high
        _require(fits, str(self), "Give two numbers of seconds, the lower one first.")

    def __str__(self) -> str:
        return _spell("uniform", self.low, self.high)

    @property
    def mean(self) -> float:
        """
        The expected duration in seconds.
        """
        return (self.low + self.high) / 2

    def draw(self, unit: float) -> float:
        """
        The duration in seconds at a quantile in [0, 1).
        """
        return self.low + (self.high - self.low) * unit


@attrs.frozen
class LogNormal:
    """
    Durations whose logarithm is normal: many short ones, some several times longer.

    Args:
        mean: The mean of the durations themselves, in seconds.
        sigma: The standard deviation of their natural logarithm.

    Raises:
        OptionError: the mean is not above 0, or sigma is negative, or one is not finite.
    """

    mean: float
    sigma: float

    def __attrs_post_init__(self) -> None:
        fits = _is_duration(self.mean) and self.mean > 0 and _is_duration(self.sigma)
        _require(fits, str(self), "Give a mean above 0 seconds and a sigma of 0 or more.")

    def __str__(self) -> str:
        return _spell("lognormal", self.mean, self.sigma)

    def draw(self, unit: float) -> float:
        """
        The duration in seconds at a quantile in [0, 1).
        """
        normal = _NORMAL.inv_cdf(max(unit, SMALLEST_UNIT))
        return self.mean * math.exp(self.sigma * normal - self.sigma**2 / 2)


@attrs.frozen
class Pareto:
    """
    Durations with a heavy tail: the share longer than t falls as a power of t.

    Args:
        mean: The mean duration in seconds.
        alpha: The power; the closer to 1, the heavier the tail.

    Raises:
        OptionError: the mean or ``alpha - 1`` is not above 0, or one is not finite.
    """

    mean: float
    alpha: float

    def __attrs_post_init__(self) -> None:
        fits = _is_duration(self.mean) and self.mean > 0 and 1 < self.alpha < math.inf
        _require(fits, str(self), "Give a mean above 0 seconds and an alpha above 1.")

    def __str__(self) -> str:
        return _spell("pareto", self.mean, self.alpha)

    def draw(self, unit: float) -> float:
        """
        The duration in seconds at a quantile in [0, 1).
        """
        shortest = self.mean * (self.alpha - 1) / self.alpha
        return shortest * math.pow(1 - unit, -1 / self.alpha)


@attrs.frozen
class Recorded:
    """
    Durations picked from a recorded trace, each one as likely as any other.

    Args:
        seconds: The trace, in seconds.

    Raises:
        OptionError: the trace is empty, or holds a negative number or one that is not finite.
    """

    seconds: tuple[float, ...] = attrs.field(converter=_as_tuple)

    def __attrs_post_init__(self) -> None:
        fits = bool(self.seconds) and all(map(_is_duration, self.seconds))
        _require(fits, str(self), "Give at least one number of seconds, each 0 or more.")

    def __str__(self) -> str:
        return _spell("recorded", *self.seconds)

    @property
    def mean(self) -> float:
        """
        The mean of the trace in seconds.
        """
        return fmean(self.seconds)

    def draw(self, unit: float) -> float:
        """
        The recorded duration that a number in [0, 1) points at.
        """
        return self.seconds[int(unit * len(self.seconds))]


_Maker: TypeAlias = Callable[..., Law]

_LAWS: dict[str, tuple[int | None, _Maker]] = {
    "constant": (1, Constant),
    "uniform": (2, Uniform),
    "lognormal": (2, LogNormal),
    "pareto": (2, Pareto),
    "recorded": (None, lambda *seconds: Recorded(seconds)),
}
"""By name: how many numbers a law takes (None for any), and what makes it."""


def parse_law(text: str, *, option: str = "latency") -> Law:
    """
    Read a law from its text.

    >>> parse_law("uniform:0.1,0.3").mean
    0.2

    Args:
        text: ``none`` for no time at all, or a name, a colon and its numbers.
        option: The option that the text was given for; the error names it.

    Raises:
        OptionError: the text is no law, or its numbers do not fit it.
    """
    if text == "none":
        return Constant(0.0)
    name, _, rest = text.partition(":")
    count, make = _LAWS.get(name, (0, Constant))
    numbers = _numbers(rest)
    if not numbers or count not in (None, len(numbers)):
        raise OptionError(option, text, f"Give one of {'; '.join(SPELLINGS)}.")
    try:
        return make(*numbers)
    except OptionError as error:
        raise OptionError(option, text, error.remedy) from None


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(map(float, text.split(",")))
    except ValueError:
        return ()
