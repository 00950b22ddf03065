"""
Scores every head of a run on the held-out tasks, after the run and outside its budget.

What a search measures on its way is no curve: it stops measuring as soon as it knows what to do, and
it has chosen by what it measured.  So the heads are kept, and scored on fresh draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import cast

import attrs

from headway._prepare import Prepared
from headway.comparing._trial import Curve, Point, changes
from headway.contracts import Artifact, HeadCommitted, Notice, Observer
from headway.errors import HeadwayError
from headway.machine import FINAL_DRAW, Failed, MeasureCall
from headway.result import Result


@attrs.define(eq=False)
class Heads:
    """
    Keeps the heads of a run.

    Args:
        first: The first head.
        recorder: Told every notice too.
    """

    first: Artifact
    recorder: Observer
    found: list[HeadCommitted] = attrs.field(factory=list[HeadCommitted], init=False)

    def __call__(self, notice: Notice) -> None:
        """
        Keep a head that was committed.
        """
        self.recorder(notice)
        if isinstance(notice, HeadCommitted):
            self.found.append(notice)

    @classmethod
    def of(cls, prepared: Prepared) -> Heads:
        """
        Keep the heads of a run that has not begun.
        """
        heads = cls(prepared.started.head.artifact, prepared.engine.recorder)
        prepared.engine.recorder = heads
        return heads

    @property
    def last(self) -> Artifact:
        """
        The final head.
        """
        return self.found[-1].head.artifact if self.found else self.first

    def curve(self, result: Result, score: Callable[[Artifact], float]) -> Curve:
        """
        Held-out reward over the run that gave a result.

        Args:
            result: The result.
            score: Scores one head.
        """
        points = [Point(seconds=0.0, rollouts=0, calls=0, reward=score(self.first))]
        for head in self.found:
            rollouts, calls = _counts(result, head.now)
            reward = score(head.head.artifact)
            points.append(Point(seconds=head.now, rollouts=rollouts, calls=calls, reward=reward))
        return changes(points)


def scorer(prepared: Prepared, tasks: Sequence[str]) -> Callable[[Artifact], float]:
    """
    What scores an artifact on some tasks, by the mean of as many draws as the final score takes.

    Args:
        prepared: A run of the same domain and seed that is not begun.
        tasks: The ids of the tasks.

    Returns:
        A function that raises ``HeadwayError`` when a measurement fails.
    """
    config, bench = prepared.engine.machine.config, prepared.engine.bench
    draws: Sequence[int] = range(1)
    if not config.deterministic:
        draws = range(FINAL_DRAW, FINAL_DRAW + config.final_draws)

    def one(artifact: Artifact, task: str, draw: int) -> float:
        answer = bench.perform(MeasureCall(0, artifact, task, draw), lambda: 0.0)
        if isinstance(answer, Failed):
            message = f"a head could not be scored on {task!r}: {answer.fault.message}"
            raise HeadwayError(message)
        return cast("float", answer.value)

    def score(artifact: Artifact) -> float:
        return fmean(one(artifact, task, draw) for task in tasks for draw in draws)

    return score


def _counts(result: Result, now: float) -> tuple[int, int]:
    """
    Rollouts and calls when a head was committed: those of the sweep that committed it.
    """
    after = ((sweep.rollouts, sweep.calls) for sweep in result.history if sweep.now >= now)
    return next(after, (result.rollouts, sum(result.calls.values())))
