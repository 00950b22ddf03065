"""
What the trials of a plan say: a summary of each arm, and paired differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, cast

import attrs

from headway._secrets import without_secrets
from headway.comparing._curves import mean_reward, reached_at
from headway.comparing._plan import Arm, Plan
from headway.comparing._statistics import Interval, paired_t, quantile
from headway.comparing._trial import Trial
from headway.options import PARTS, RunOptions, option_names
from headway.registry._values import target_of

_QUARTILES = (0.5, 0.25, 0.75)


@attrs.frozen(kw_only=True)
class Metric:
    """
    A number that is read from every trial.

    Args:
        key: Its name in ``results.json``.
        title: Its name in tables.
        better: 1 when more is better, -1 when less is.
        digits: Digits behind the point.
        read: Reads it; None when the trial does not have it, infinity when it was never reached.
    """

    key: str
    title: str
    better: int
    digits: int
    read: Callable[[Trial], float | None]


@attrs.frozen(kw_only=True)
class Summary:
    """
    One metric over the seeds of one arm.

    Args:
        count: How many trials have it.
        median: The middle one; infinity when half of them never reached it.
        low: The first quartile.
        high: The third one.
    """

    count: int
    median: float
    low: float
    high: float


@attrs.frozen(kw_only=True)
class Difference:
    """
    One metric of an arm minus that of the arm that it is compared with, seed by seed.

    Args:
        arm: The arm's label.
        against: The other arm's label.
        metric: The metric's key.
        pairs: Seeds with which both have it.
        finite: Those with which both reached it, which are all but for a time to a target.
        interval: The mean of the finite differences and where it may lie; None without one.
        wins: Seeds with which the arm did better.
        losses: Seeds with which it did worse.
        ties: Seeds with which both did alike.
    """

    arm: str
    against: str
    metric: str
    pairs: int
    finite: int
    interval: Interval | None
    wins: int
    losses: int
    ties: int


@attrs.frozen(kw_only=True)
class Comparison:
    """
    A plan and the trials that were made of it.

    Args:
        plan: The plan.
        trials: The trials, in the order in which they were made; those that failed are there too.
    """

    plan: Plan
    trials: tuple[Trial, ...]

    @property
    def complete(self) -> bool:
        """
        Whether every trial of the plan was made to its end.
        """
        whole = [trial for trial in self.trials if trial.status != "interrupted"]
        return len(whole) == self.plan.size

    @property
    def failed(self) -> tuple[Trial, ...]:
        """
        The trials that failed.
        """
        return tuple(trial for trial in self.trials if trial.status == "failed")

    def metrics(self) -> tuple[Metric, ...]:
        """
        What is read from every trial.
        """
        return _metrics(self.plan)

    def done(self, arm: Arm) -> dict[int, Trial]:
        """
        An arm's trials that count, by seed.
        """
        mine = (trial for trial in self.trials if trial.arm == arm.label)
        return {trial.seed: trial for trial in mine if trial.status == "done"}

    def summary(self, arm: Arm, metric: Metric) -> Summary | None:
        """
        One metric over an arm's seeds; None when no trial has it.
        """
        read = (metric.read(trial) for trial in self.done(arm).values())
        values = [value for value in read if value is not None]
        if not values:
            return None
        median, low, high = (quantile(values, share) for share in _QUARTILES)
        return Summary(count=len(values), median=median, low=low, high=high)

    def differences(self) -> tuple[Difference, ...]:
        """
        Every arm against the first one with equally many workers, in every metric.
        """
        first: dict[int, Arm] = {}
        found: list[Difference] = []
        for arm in self.plan.arms:
            other = first.setdefault(arm.workers, arm)
            if other is not arm:
                found += [self._difference(arm, other, metric) for metric in self.metrics()]
        return tuple(found)

    def _difference(self, arm: Arm, other: Arm, metric: Metric) -> Difference:
        mine, theirs = self.done(arm), self.done(other)
        seeds = [seed for seed in self.plan.seeds if seed in mine and seed in theirs]
        pairs = [(metric.read(mine[seed]), metric.read(theirs[seed])) for seed in seeds]
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        gains = [a - b for a, b in known if math.isfinite(a) and math.isfinite(b)]
        signs = [metric.better * ((a > b) - (a < b)) for a, b in known]
        return Difference(
            arm=arm.label,
            against=other.label,
            metric=metric.key,
            pairs=len(known),
            finite=len(gains),
            interval=paired_t(gains, self.plan.level) if gains else None,
            wins=signs.count(1),
            losses=signs.count(-1),
            ties=signs.count(0),
        )

    def to_json(self) -> dict[str, Any]:
        """
        Everything, as one JSON object; what was never reached is null.
        """
        plan = self.plan
        return {
            "domain": plan.domain,
            "settings": without_secrets(plan.settings),
            "equal": plan.equal,
            "budget": plan.budget,
            "seeds": list(plan.seeds),
            "target": plan.target,
            "level": plan.level,
            "method": "paired t",
            "complete": self.complete,
            "arms": [self._arm(arm) for arm in plan.arms],
            "differences": [_plain(d) for d in self.differences()],
            "trials": [_plain(trial) for trial in self.trials],
        }

    def _arm(self, arm: Arm) -> dict[str, Any]:
        summaries = {metric.key: self.summary(arm, metric) for metric in self.metrics()}
        return {
            "label": arm.label,
            "name": arm.name,
            "workers": arm.workers,
            "parts": arm.parts,
            "options": _options(arm.options),
            "done": len(self.done(arm)),
            "failed": sum(trial.arm == arm.label for trial in self.failed),
            "summary": {key: found and _plain(found) for key, found in summaries.items()},
        }


def _metrics(plan: Plan) -> tuple[Metric, ...]:
    mean = partial(_mean_reward, plan)
    over = f"mean over the {plan.equal}"
    found = [
        Metric(key="reward", title="held-out reward", better=1, digits=3, read=lambda t: t.reward),
        Metric(key="test_reward", title="test reward", better=1, digits=3, read=_test),
        Metric(key="mean_reward", title=over, better=1, digits=3, read=mean),
        Metric(key="seconds", title="seconds", better=-1, digits=1, read=lambda t: t.seconds),
        Metric(key="rollouts", title="rollouts", better=-1, digits=0, read=lambda t: t.rollouts),
        Metric(key="calls", title="calls", better=-1, digits=0, read=lambda t: t.calls),
    ]
    if plan.target is not None:
        read = partial(_reached, plan.target)
        title = f"seconds to {plan.target:g}"
        found.append(Metric(key="target_seconds", title=title, better=-1, digits=1, read=read))
    return tuple(found)


def _test(trial: Trial) -> float | None:
    return trial.test_reward


def _mean_reward(plan: Plan, trial: Trial) -> float | None:
    return mean_reward(trial.curve, plan.equal, plan.budget)


def _reached(target: float, trial: Trial) -> float:
    return reached_at(trial.curve, "seconds", target)


def _options(options: RunOptions) -> dict[str, Any]:
    given = {name: getattr(options, name) for name in option_names() if name != "seed"}
    objects = [name for name in PARTS if not isinstance(given[name], str | None)]
    given |= {name: target_of(given[name]) for name in objects}
    laws = {kind: str(law) for kind, law in (options.durations or {}).items()}
    return {**{k: v for k, v in given.items() if v is not None}, "durations": laws}


def _plain(value: Any) -> Any:
    if hasattr(value, "__attrs_attrs__"):
        held: Mapping[str, Any] = attrs.asdict(value, recurse=False)
        return {name: _plain(item) for name, item in held.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Iterable[Any]", value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value
