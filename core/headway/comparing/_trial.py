"""
What one run of a comparison came to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import attrs

from headway._secrets import redact
from headway.contracts import Fault
from headway.result import Result

Axis: TypeAlias = Literal["rollouts", "calls", "seconds"]
Status: TypeAlias = Literal["done", "failed", "interrupted"]


@attrs.frozen(kw_only=True)
class Point:
    """
    From here on the head has this reward.

    Args:
        seconds: Seconds since the run began, on the driver's clock.
        rollouts: Rollouts admitted by then.
        calls: Calls made by then.
        reward: The head's mean held-out reward.
    """

    seconds: float
    rollouts: float
    calls: float
    reward: float

    def at(self, axis: Axis) -> float:
        """
        Where on an axis it lies.
        """
        return {"rollouts": self.rollouts, "calls": self.calls, "seconds": self.seconds}[axis]


Curve: TypeAlias = tuple[Point, ...]
"""Points in order, each with another reward than the one before."""


@attrs.frozen(kw_only=True)
class Trial:
    """
    One run, or the independent runs that an arm splits its budget over.

    Args:
        arm: The arm's label.
        seed: The seed; trials of one seed are paired.
        status: ``done``, ``failed`` or ``interrupted``; only the first kind counts.
        error: Why it failed, or why its heads could not be scored, in one line.
        stop_reason: Why it ended; ``""`` when it gave no result.
        reward: Mean held-out reward of the final head.
        source: ``fresh`` when the final head was scored anew; ``gate`` when the budget left no room
            for that, so that the reward is what the gate measured last.
        test_reward: Mean reward on the test tasks.
        seconds: Seconds on the driver's clock; virtual under ``simulated``.
        rollouts: Rollouts admitted.
        calls: Calls made, final scoring included.
        version: Commits to the head.
        digest: The run's digest.
        curve: Held-out reward over the run.
        scored: Whether the curve, and final scores that did not fit the budget, were scored after
            the run; else they are what the run measured.
    """

    arm: str
    seed: int
    status: Status
    error: str = ""
    stop_reason: str = ""
    reward: float | None = None
    source: str = ""
    test_reward: float | None = None
    seconds: float | None = None
    rollouts: int | None = None
    calls: int | None = None
    version: int | None = None
    digest: str = ""
    curve: Curve = ()
    scored: bool = False


def trial_of(arm: str, seed: int, result: Result) -> Trial:
    """
    What a result says about a run.
    """
    status: Status = "failed" if result.failed else "done"
    return Trial(
        arm=arm,
        seed=seed,
        status="interrupted" if result.stop_reason == "interrupted" else status,
        error=_told(result.error) if result.failed else "",
        stop_reason=result.stop_reason,
        reward=result.final_reward,
        source=result.scores["final"].source if "final" in result.scores else "",
        test_reward=result.test_reward,
        seconds=result.wallclock,
        rollouts=result.rollouts,
        calls=sum(result.calls.values()),
        version=result.version,
        digest=result.digest,
        curve=_curve(result),
    )


def failed_trial(arm: str, seed: int, error: BaseException) -> Trial:
    """
    A run that raised instead of giving a result.
    """
    return Trial(arm=arm, seed=seed, status="failed", error=one_line(type(error).__name__, error))


def best_of(parts: Sequence[Trial]) -> Trial:
    """
    Independent runs as one trial: the best by held-out reward, the costs of all together.

    Seconds are those of the longest, as if all had run side by side.  It failed or was interrupted
    when one of them was.
    """
    odd = [part for part in parts if part.status != "done"]
    if odd or len(parts) == 1:
        return odd[0] if odd else parts[0]
    best = max(parts, key=lambda part: float("-inf") if part.reward is None else part.reward)
    return attrs.evolve(
        best,
        seconds=max(part.seconds or 0.0 for part in parts),
        rollouts=sum(part.rollouts or 0 for part in parts),
        calls=sum(part.calls or 0 for part in parts),
        curve=_best_curve([part.curve for part in parts]),
        scored=all(part.scored for part in parts),
        error="; ".join(part.error for part in parts if part.error),
    )


def _best_curve(curves: Sequence[Curve]) -> Curve:
    latest = [curve[0] for curve in curves if curve]
    first = max(latest, key=lambda point: point.reward, default=None)
    if first is None:
        return ()
    steps = (
        (point.seconds, n, point) for n, curve in enumerate(filter(None, curves)) for point in curve
    )
    found = [first]
    for seconds, n, point in sorted(steps, key=lambda step: step[:2]):
        latest[n] = point
        found.append(
            Point(
                seconds=seconds,
                rollouts=sum(p.rollouts for p in latest),
                calls=sum(p.calls for p in latest),
                reward=max(found[-1].reward, point.reward),
            )
        )
    return changes(found)


def _curve(result: Result) -> Curve:
    points = [
        Point(seconds=s.now, rollouts=s.rollouts, calls=s.calls, reward=s.reward)
        for s in result.history
        if s.reward is not None
    ]
    if result.baseline_reward is not None:
        points.insert(0, Point(seconds=0.0, rollouts=0, calls=0, reward=result.baseline_reward))
    if result.final_reward is not None:
        calls = sum(result.calls.values())
        end, rollouts = result.wallclock, result.rollouts
        points.append(
            Point(seconds=end, rollouts=rollouts, calls=calls, reward=result.final_reward)
        )
    return changes(points)


def changes(points: Iterable[Point]) -> Curve:
    """
    The points at which the reward changes.
    """
    kept: list[Point] = []
    for point in points:
        if not kept or point.reward != kept[-1].reward:
            kept.append(point)
    return tuple(kept)


def _told(fault: Fault | None) -> str:
    return "" if fault is None else one_line(f"{fault.where}: {fault.type}", fault.message)


def one_line(what: str, message: object) -> str:
    """
    What went wrong, without line breaks and secrets.
    """
    return f"{what}: {' '.join(redact(str(message)).split())}"
