"""
What a run tells of its updates, and how a program goes through them one by one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import attrs

from headway.contracts import (
    CardDecided,
    GroupDropped,
    HeadCommitted,
    Json,
    Notice,
    RunStarted,
    SweepDone,
    TicketEnded,
    UpdateDone,
)
from headway_rl._account import Account, Standing
from headway_rl._batches import Batch
from headway_rl._recorder import Recorder
from headway_rl._timeline import Timeline, Wait


@attrs.frozen(kw_only=True)
class StepDone:
    """
    One update, or one batch that had no weight.

    Args:
        update: 1, 2, 3, ...
        version: The head's version afterwards.
        state: The head's state afterwards; what names the weights.
        groups: How many updates old each group was, by number.
        metrics: Numbers by name; see the page on reinforcement learning.
        evaluation: The mean held-out reward that was known last, of this version or an earlier one.
    """

    update: int
    version: int
    state: Json
    groups: Mapping[int, int]
    metrics: Mapping[str, float]
    evaluation: float | None = None


@attrs.define(eq=False, kw_only=True)
class Watcher:
    """
    Turns a run's notices into steps; an observer of it.

    Args:
        recorder: What the domain tells.
        concurrency: Trajectories that may be active at once.
        tell: Given each step.
    """

    recorder: Recorder
    concurrency: int
    tell: Callable[[StepDone], None]
    began: float = attrs.field(default=0.0, init=False)
    """When the run began, on the process's clock."""
    _virtual: bool = attrs.field(default=False, init=False)
    _account: Account = attrs.field(init=False)
    _state: Json = attrs.field(default=None, init=False)
    _evaluation: float | None = attrs.field(default=None, init=False)
    _rests_since: float = attrs.field(default=0.0, init=False)
    _rest: tuple[float, float] = attrs.field(default=(0.0, 0.0), init=False)
    _now: float = attrs.field(default=0.0, init=False)
    _waits: list[Wait] = attrs.field(factory=list[Wait], init=False)

    def __attrs_post_init__(self) -> None:
        self._account = Account(concurrency=self.concurrency)

    def __call__(self, notice: Notice) -> None:
        """
        Take notice.
        """
        if isinstance(notice, RunStarted):
            self.began, self._virtual = time.monotonic(), notice.driver == "simulated"
        elif isinstance(notice, HeadCommitted):
            self._state = notice.head.artifact.value
            self._account.moved(notice.head.version)
        elif isinstance(notice, CardDecided):
            self._decided(notice)
        elif isinstance(notice, TicketEnded):
            if notice.completion not in {"ok", "cancelled", "abandoned"}:
                self._account.retried(notice.completion)
        elif isinstance(notice, SweepDone):
            self._evaluation = notice.reward
        elif isinstance(notice, GroupDropped):
            self._take_marks()
            self._account.dropped(notice.group, notice.reason)
        elif isinstance(notice, UpdateDone):
            self._updated(notice)

    def timeline(self) -> Timeline:
        """
        The run so far as a picture; empty under a virtual clock, since bars have the process's.
        """
        if self._virtual:
            return Timeline(bars=())
        bars = tuple(
            attrs.evolve(
                bar,
                began=bar.began - self.began,
                ended=None if bar.ended is None else bar.ended - self.began,
            )
            for bar in self.recorder.bars
        )
        return Timeline(bars=bars, waits=tuple(self._waits), seconds=self._now)

    def _decided(self, notice: CardDecided) -> None:
        decision = notice.decision
        if decision.kind != "committed":
            self._account.dropped(decision.card, decision.reason or decision.kind)

    def _updated(self, notice: UpdateDone) -> None:
        self._take_marks()
        self._now = notice.now
        self._account.reserved(notice.peak)
        batch = self.recorder.batch(frozenset(notice.groups))
        if batch is None:  # another process trained it
            batch = Batch(groups=tuple(notice.groups), spans=(), rewards=())
        self._account.used(batch)
        standing = Standing(
            outstanding=notice.outstanding,
            ready=notice.ready,
            slack=notice.slack,
            waits=notice.seconds,
            wait_counts=notice.waits,
            blocking=notice.blocking,
            blocking_age=notice.blocking_age,
        )
        step = StepDone(
            update=notice.update,
            version=notice.version,
            state=self._state,
            groups=dict(notice.groups),
            metrics=self._account.result(notice.now, batch, standing),
            evaluation=self._evaluation,
        )
        self._wait(step)
        self.tell(step)

    def _wait(self, step: StepDone) -> None:
        """
        Note that an update had to wait; it did so at the end of the trainer's longest rest.
        """
        seconds = step.metrics["staleness/wait_seconds"]
        if seconds:
            self._waits.append(Wait(began=self._rest[1] - seconds, seconds=seconds))
        self._rest = (0.0, 0.0)

    def _rested(self, now: float, *, begins: bool) -> None:
        """
        Keep the length and the end of the trainer's longest rest since the last update.
        """
        if begins:
            self._rest = max(self._rest, (now - self._rests_since, now))
        else:
            self._rests_since = now

    def _take_marks(self) -> None:
        """
        What was recorded since the last update, in the order of time.

        Under a virtual clock only what was generated counts: the process's clock says nothing.
        """
        account = self._account
        for mark in self.recorder.take():
            now, bar = mark.now - self.began, mark.bar
            sampling = bar.kind == "sampling"
            if sampling and not mark.begins and bar.tokens:
                account.generated(bar.tokens, bar.group)
            if self._virtual:
                continue
            if not sampling:
                account.training(now, busy=mark.begins)
                self._rested(now, begins=mark.begins)
            elif mark.begins:
                account.episode_began(now)
            else:
                account.episode_ended(now)
