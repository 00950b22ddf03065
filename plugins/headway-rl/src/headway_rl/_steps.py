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
from headway_rl._recorder import MOST_BARS, Bar, Recorder
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
        most_tried: The id of the task of which the most groups in a row were too old to be used, see
            ``staleness/most_tries``; None where the last group of every task could be used.
    """

    update: int
    version: int
    state: Json
    groups: Mapping[int, int]
    metrics: Mapping[str, float]
    evaluation: float | None = None
    most_tried: str | None = None


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
    _bars: list[Bar] = attrs.field(factory=list[Bar], init=False)
    """What happened under a virtual clock, in the order of ending."""
    _committed: set[int] = attrs.field(factory=set[int], init=False)
    """Groups that were used since the last update; of a batch that was given up half-way, some are."""

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
            self._ended(notice)
        elif isinstance(notice, SweepDone):
            self._evaluation = notice.reward
        elif isinstance(notice, GroupDropped):
            self._dropped(notice.group, notice.reason)
        elif isinstance(notice, UpdateDone):
            self._updated(notice)

    def timeline(self) -> Timeline:
        """
        The run so far as a picture, in the seconds of its driver.

        Under a virtual clock an episode is what its ticket took, and an update all the time for which its
        batch was complete.
        """
        if self._virtual:
            bars = tuple(sorted(self._bars, key=lambda bar: bar.began))
            return Timeline(bars=bars, waits=tuple(self._waits), seconds=self._now)
        bars = tuple(
            attrs.evolve(
                bar,
                began=bar.began - self.began,
                ended=None if bar.ended is None else bar.ended - self.began,
            )
            for bar in self.recorder.bars
        )
        return Timeline(bars=bars, waits=tuple(self._waits), seconds=self._now)

    def _ended(self, notice: TicketEnded) -> None:
        bar = self.recorder.of(notice.ticket)
        if notice.completion not in {"ok", "cancelled", "abandoned"}:
            self._account.retried(notice.completion, 0 if bar is None else bar.tokens)
        if self._virtual and len(self._bars) < MOST_BARS:
            began, version = notice.now - notice.seconds, notice.base
            self._bars.append(
                Bar(
                    kind="sampling",
                    group=notice.group,
                    version=version,
                    began=began,
                    ended=notice.now,
                    tokens=0 if bar is None else bar.tokens,
                )
            )

    def _decided(self, notice: CardDecided) -> None:
        decision = notice.decision
        if decision.kind == "committed":
            self._committed.add(decision.card)
        else:
            self._dropped(decision.card, decision.reason or decision.kind)

    def _dropped(self, group: int, reason: str) -> None:
        self._take_marks()  # what it has generated by now is told first
        self._account.dropped(group, reason)

    def _updated(self, notice: UpdateDone) -> None:
        self._take_marks()
        self._now = notice.now
        self._account.reserved(notice.peak)
        parts = self._parts({*notice.groups, *self._committed})
        self._committed.clear()
        for part in parts:
            self._account.used(part)
        standing = Standing(
            outstanding=notice.outstanding,
            ready=notice.ready,
            slack=notice.slack,
            waits=notice.seconds,
            wait_counts=notice.waits,
            blocking=notice.blocking,
            blocking_age=notice.blocking_age,
            most_tries=notice.most_tries,
        )
        step = StepDone(
            update=notice.update,
            version=notice.version,
            state=self._state,
            groups=dict(notice.groups),
            metrics=self._account.result(notice.now, Batch.joined(parts), standing),
            evaluation=self._evaluation,
            most_tried=notice.most_tried,
        )
        self._wait(step)
        self.tell(step)

    def _parts(self, groups: set[int]) -> list[Batch]:
        """
        What the updates were made of that have used these groups.
        """
        parts = self.recorder.batches(groups)
        strange = groups.difference(*(part.groups for part in parts))
        if strange:  # another process trained them
            parts.append(Batch(groups=tuple(sorted(strange)), spans=(), rewards=()))
        return parts or [Batch(groups=(), spans=(), rewards=())]

    def _wait(self, step: StepDone) -> None:
        """
        Note that an update had to wait; it did so at the end of the trainer's longest rest.
        """
        seconds, trained = (
            step.metrics[f"staleness/{name}_seconds"] for name in ("wait", "training")
        )
        if self._virtual:
            self._rest = (0.0, self._now - trained)
            bar = Bar(kind="update", version=step.version, began=self._rest[1], ended=self._now)
            self._bars.append(bar)
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
                account.generated(bar.tokens, bar.group, failed=bar.failed)
                account.lagged(bar.lag)
            if self._virtual:
                continue
            if not sampling:
                account.training(now, busy=mark.begins)
                self._rested(now, begins=mark.begins)
            elif mark.begins:
                account.episode_began(now)
            else:
                account.episode_ended(now)
