"""
What is run: a frozen plan, fixed at the first start, and the units that it consists of.

A unit is one training run.  Units come seed by seed, so that whatever has been done by some moment is
mostly whole seeds, in which every condition can be paired with ``sync``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import attrs

from headway.durations import parse_law
from headway.errors import OptionError
from headway_es._delay import Delay
from headway_es._schedules import schedule

CONTROL: Final = "sync"
"""What everything is compared with."""

GRADIENT: Final = "policy gradient"
"""The condition that is no evolution strategy."""

FUNCTIONS: Final = ("sphere", "ellipsoid", "rosenbrock", "rastrigin")
"""The functions, each in every dimension of ``DIMENSIONS``."""

DIMENSIONS: Final = (100, 1000)

_DELAYED = re.compile(r"(\d{1,2}) %/(\d{1,4})")


@attrs.frozen(order=True)
class Unit:
    """
    One training run of a campaign.

    Args:
        problem: ``miniterm``, or a function and its dimension such as ``sphere-100``.
        condition: A name of ``schedule``, a delay such as ``10 %/4``, or ``policy gradient``.
        law: The name of the durations' law, where they show in the parameters; else the empty text.
        rate: The learning rate.
        seed: What noise, tasks and durations are keyed by.
        checked: Whether the whole run through Headway is made, and not its trace replayed.
    """

    problem: str
    condition: str
    law: str
    rate: float
    seed: int
    checked: bool = False

    @property
    def arm(self) -> str:
        """
        The condition, with the law where that shows.
        """
        return f"{self.condition}, {self.law}" if self.law else self.condition


def _words(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(given)


def _numbers(given: Iterable[float]) -> tuple[float, ...]:
    return tuple(given)


@attrs.frozen(kw_only=True)
class Plan:
    """
    Which runs a campaign makes, and what was settled before the first one.

    Args:
        problems: What is trained on.
        conditions: What is compared; ``sync`` is among them.
        rates: Learning rates.
        gradient_rates: Those of the policy gradient; none to leave it out.
        seeds: How many paired seeds, from 0 on.
        updates: Updates of a run.
        population: Mirrored pairs in a batch.
        sigma: The size of a perturbation.
        episodes: MiniTerm's tasks for each half of a pair.
        held_out: MiniTerm's tasks that progress is measured on.
        every: After how many updates progress is measured, again and again.
        workers: How many pairs are evaluated at a time, in virtual time.
        laws: How long a pair takes, by the names that stand in reports.
        margins: Within which difference of the area under the curve two conditions count as equivalent, in
            points of success (``miniterm``) and in powers of ten (``functions``).
        checks: Problems whose runs of seed 0 at the first rate are also made through Headway.

    Raises:
        OptionError: a condition, a law or a problem is unknown, or ``sync`` is not there.
    """

    problems: tuple[str, ...] = attrs.field(converter=_words)
    conditions: tuple[str, ...] = attrs.field(converter=_words)
    rates: tuple[float, ...] = attrs.field(converter=_numbers)
    gradient_rates: tuple[float, ...] = attrs.field(default=(), converter=_numbers)
    seeds: int = 40
    updates: int = 300
    population: int = 64
    sigma: float = 0.05
    episodes: int = 64
    held_out: int = 2048
    every: int = 10
    workers: int = 32
    laws: Mapping[str, str] = attrs.field(
        factory=lambda: {"log-normal": "lognormal:1,1.0", "Pareto": "pareto:1,2.5"}
    )
    margins: Mapping[str, float] = attrs.field(factory=lambda: {"miniterm": 2.0, "functions": 0.1})
    checks: tuple[str, ...] = attrs.field(default=(), converter=_words)

    def __attrs_post_init__(self) -> None:
        if CONTROL not in self.conditions:
            raise OptionError("conditions", ", ".join(self.conditions), f"Add {CONTROL}.")
        for condition in self.conditions:
            scheduled(condition)
        for law in self.laws.values():
            parse_law(law)
        for problem in self.problems:
            _check_problem(problem)
        if self.updates % self.every:
            raise OptionError("every", self.every, f"Give a divisor of {self.updates} updates.")

    def units(self) -> Iterator[Unit]:
        """
        All runs, in the order in which they are made.
        """
        for seed in range(self.seeds):
            for problem in self.problems:
                yield from self._units_of(problem, seed)
            if seed == 0:
                yield from self._checks()

    def _checks(self) -> Iterator[Unit]:
        for problem in self.checks:
            for unit in self._units_of(problem, 0):
                if unit.rate == self.rates[0] and unit.condition != GRADIENT:
                    yield attrs.evolve(unit, checked=True)

    def _units_of(self, problem: str, seed: int) -> Iterator[Unit]:
        for rate in self.rates:
            for condition in self.conditions:
                for law in self.laws if timed(condition) else ("",):
                    yield Unit(problem, condition, law, rate, seed)
        if problem == "miniterm":
            for rate in self.gradient_rates:
                yield Unit(problem, GRADIENT, "", rate, seed)

    def margin(self, problem: str) -> float:
        """
        The margin of equivalence of a problem, in its unit.
        """
        return self.margins["miniterm" if problem == "miniterm" else "functions"]

    def as_json(self) -> dict[str, Any]:
        """
        The plan as a JSON value.
        """
        return attrs.asdict(self)


def timed(condition: str) -> bool:
    """
    Whether how long pairs take shows in the parameters, and not only in when they are reached.

    >>> timed("wait-1"), timed("pipeline-8"), timed("10 %/4")
    (True, False, False)
    """
    return condition.startswith(("wait-", "admit-", "drop-"))


def scheduled(condition: str) -> tuple[str, Delay | None]:
    """
    The schedule of a condition, and the delay that it makes.

    Raises:
        OptionError: there is no such condition.

    >>> scheduled("10 %/4")
    ('sync', Delay(share=0.1, by=4))
    """
    delayed = _DELAYED.fullmatch(condition)
    if delayed is not None:
        return CONTROL, Delay(share=int(delayed[1]) / 100, by=int(delayed[2]))
    schedule(condition)
    return condition, None


def _check_problem(problem: str) -> None:
    name, _, dim = problem.rpartition("-")
    if problem != "miniterm" and (name not in FUNCTIONS or not dim.isdecimal()):
        remedy = f"Give miniterm, or one of {', '.join(FUNCTIONS)} with its dimension: sphere-100."
        raise OptionError("problem", problem, remedy)


FULL: Final = Plan(
    problems=("miniterm", *(f"{name}-{dim}" for name in FUNCTIONS for dim in DIMENSIONS)),
    conditions=(
        CONTROL,
        "wait-1",
        "pipeline-1",
        "10 %/4",
        "10 %/8",
        "pipeline-4",
        "pipeline-8",
        "drop-1",
    ),
    rates=(0.02, 0.005),
    gradient_rates=(0.01,),
    checks=("miniterm", "ellipsoid-100"),
)
"""The whole campaign."""

SMOKE: Final = Plan(
    problems=("miniterm",),
    conditions=(CONTROL, "pipeline-8"),
    rates=(0.02,),
    seeds=2,
    updates=40,
    held_out=1024,
)
"""Half a minute of it."""
