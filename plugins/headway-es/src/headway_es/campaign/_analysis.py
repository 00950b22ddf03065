"""
From results to comparisons with ``sync``: what is compared, on which seeds, and over which span.

1. Only whole seeds count: those in which every condition of a problem and rate has been run.
2. At equal updates a run counts from its first update to its last.
3. At equal virtual time all runs of a seed count up to one moment: the one at which the first of them had
   made all its updates.  The others had made fewer by then.
4. The primary endpoint is the area under the learning curve, which is the mean progress over the span; the
   secondary one is progress at the end of the span.
5. Holm's correction is over the conditions of one table; the policy gradient stands outside of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from statistics import fmean
from typing import Any, Literal, TypeAlias

import attrs

from headway_es.campaign._plan import CONTROL, GRADIENT, Plan, Unit
from headway_es.campaign._statistics import Difference, compare, holm
from headway_es.campaign._store import Done, Store

Endpoint: TypeAlias = Literal["area", "final"]


@attrs.frozen(kw_only=True)
class Row:
    """
    A condition in a table.

    Args:
        arm: The condition, with the law where that shows.
        value: The mean of the endpoint over the seeds.
        difference: From ``sync``; None for ``sync`` itself.
        corrected: The p after Holm's correction; None where there is no difference or it is outside.
        mean_lag: The mean lag of the evidence used.
        unused: How many pairs a run evaluated and did not use, in the mean.
    """

    arm: str
    value: float
    difference: Difference | None
    corrected: float | None
    mean_lag: float
    unused: float


@attrs.frozen(kw_only=True, slots=False)
class Analysis:
    """
    A campaign as far as it has been run.

    Args:
        plan: Its plan.
        results: What was run, by unit.
    """

    plan: Plan
    results: Mapping[Unit, Done]

    @classmethod
    def of(cls, store: Store) -> Analysis:
        """
        That of a folder.
        """
        return cls(plan=store.plan, results=store.done())

    def units(self, problem: str, rate: float, seed: int) -> list[Unit]:
        """
        The units of one seed that are compared at equal updates, ``sync`` first, the policy gradients last.
        """
        return [
            attrs.evolve(unit, seed=seed)
            for unit in self._first
            if unit.problem == problem
            and not unit.checked
            and (unit.rate == rate or unit.condition == GRADIENT)
        ]

    @cached_property
    def _first(self) -> list[Unit]:
        plan = attrs.evolve(self.plan, seeds=1)
        return sorted(plan.units(), key=lambda u: (u.condition == GRADIENT, u.condition != CONTROL))

    def seeds(self, problem: str, rate: float) -> list[int]:
        """
        The seeds that are whole for a problem and a rate.
        """
        return [
            seed
            for seed in range(self.plan.seeds)
            if all(unit in self.results for unit in self.units(problem, rate, seed))
        ]

    def told(self, problem: str) -> bool:
        """
        Whether there is a whole seed of a problem at every rate.
        """
        plan = self.plan
        return problem in plan.problems and all(self.seeds(problem, r) for r in plan.rates)

    def runs(self, problem: str, rate: float, law: str | None = None) -> dict[str, list[Done]]:
        """
        The runs of the whole seeds, by condition, each list in the order of the seeds.

        Args:
            problem: The problem.
            rate: The learning rate.
            law: For a comparison at equal time under this law; None is for equal updates.
        """
        found = dict[str, list[Done]]()
        for seed in self.seeds(problem, rate):
            for unit in self.units(problem, rate, seed):
                if law is None or unit.law == law or not (unit.law or unit.condition == GRADIENT):
                    name = unit.arm if law is None else unit.condition
                    found.setdefault(name, []).append(self.results[unit])
        return found

    def values(
        self, problem: str, rate: float, endpoint: Endpoint, law: str | None = None
    ) -> dict[str, list[float]]:
        """
        An endpoint of the same runs.
        """
        runs = self.runs(problem, rate, law)
        if law is None:
            steps = range(self.plan.updates // self.plan.every + 1)
            spans = [float(steps[-1])] * len(self.seeds(problem, rate))
            places: dict[str, list[Sequence[float]]] = {
                arm: [[float(step) for step in steps]] * len(ran) for arm, ran in runs.items()
            }
        else:
            places = {arm: [one.times[law] for one in ran] for arm, ran in runs.items()}
            spans = [min(at[-1] for at in seed) for seed in zip(*places.values(), strict=True)]
        measure = area if endpoint == "area" else held
        return {
            arm: [
                measure(at, one.curve, span)
                for at, one, span in zip(places[arm], ran, spans, strict=True)
            ]
            for arm, ran in runs.items()
        }

    def table(
        self, problem: str, rate: float, endpoint: Endpoint, law: str | None = None
    ) -> list[Row]:
        """
        All conditions beside ``sync``; empty when no seed is whole.
        """
        values, runs = self.values(problem, rate, endpoint, law), self.runs(problem, rate, law)
        if not values:
            return []
        margin = self.plan.margin(problem) if endpoint == "area" else None
        found = {
            arm: compare(ours, values[CONTROL], margin)
            for arm, ours in values.items()
            if arm != CONTROL
        }
        family = [arm for arm in found if arm != GRADIENT]
        corrected = dict(zip(family, holm([found[arm].p for arm in family]), strict=True))
        return [
            Row(
                arm=arm,
                value=fmean(ours),
                difference=found.get(arm),
                corrected=corrected.get(arm),
                mean_lag=fmean(one.mean_lag for one in runs[arm]),
                unused=fmean(one.unused for one in runs[arm]),
            )
            for arm, ours in values.items()
        ]

    def speeds(self, problem: str, rate: float, law: str) -> dict[str, float]:
        """
        How many times as fast as ``sync`` each condition makes its updates, over all whole seeds.
        """
        runs = self.runs(problem, rate, law)
        ends = {arm: sum(one.times[law][-1] for one in ran) for arm, ran in runs.items()}
        return {arm: ends[CONTROL] / end for arm, end in ends.items()}

    def checks(self) -> tuple[int, int]:
        """
        How many runs were made both by replay and whole, and how many of them gave one theta.
        """
        both: list[tuple[Any, Any]] = [
            (self.results[unit], self.results[attrs.evolve(unit, checked=False)])
            for unit in self.results
            if unit.checked and attrs.evolve(unit, checked=False) in self.results
        ]
        return len(both), sum(one.digest == other.digest for one, other in both)

    def seconds(self) -> list[float]:
        """
        Seconds of the processor of each seed that is whole for everything, checks left out.
        """
        found = list[float]()
        for seed in range(self.plan.seeds):
            units = [attrs.evolve(unit, seed=seed) for unit in self._first if not unit.checked]
            if all(unit in self.results for unit in units):
                found.append(sum(self.results[unit].seconds for unit in units))
        return found


def held(places: Sequence[float], curve: Sequence[float], at: float) -> float:
    """
    A curve's value at a place, on the straight line between its points; at its end, beyond it.

    >>> held([0.0, 1.0, 3.0], [0.0, 2.0, 4.0], 2.0)
    3.0
    """
    for (left, low), (right, high) in _pieces(places, curve):
        if at <= right:
            return low + (high - low) * (at - left) / (right - left)
    return curve[-1]


def area(places: Sequence[float], curve: Sequence[float], until: float) -> float:
    """
    The mean of a curve over a span from its first place on.

    >>> area([0.0, 1.0, 3.0], [0.0, 2.0, 4.0], 2.0)
    1.75
    """
    total = 0.0
    for (left, low), (right, high) in _pieces(places, curve):
        end = min(right, until)
        if end > left:
            there = low + (high - low) * (end - left) / (right - left)
            total += (end - left) * (low + there) / 2
    return total / (until - places[0])


def _pieces(
    places: Sequence[float], curve: Sequence[float]
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    points = list(zip(places, curve, strict=True))
    return list(pairwise(points))
