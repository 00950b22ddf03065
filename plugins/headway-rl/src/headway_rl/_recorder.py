"""
What happened during a run: who sampled when, what trained on what; for metrics and for the timeline.

Told by the domain, from several threads, on the process's clock.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import attrs

from headway.contracts import Json
from headway_rl._advantages import WeightedGroup
from headway_rl._batches import Batch

MOST_BARS = 100_000
"""Bars that are kept for a timeline; later ones are left out of it.  Also the marks that wait to be taken."""

_MOST_BATCHES = 64
"""Batches that wait to be taken; where nobody takes any, the oldest are forgotten."""


@attrs.define(eq=False, kw_only=True)
class Bar:
    """
    Something that takes time.

    Args:
        kind: ``sampling``, ``chunk`` or ``update``.
        group: The episode's group; -1 for a training.
        version: The weights that it began on.
        began: Seconds on the process's clock.
        ended: As ``began``; None while it goes on.
        tokens: What was generated.
        lag: How many versions behind ``version`` the weights were that it was first sampled with.
        failed: Whether it came to nothing.
    """

    kind: str
    group: int = -1
    version: int = 0
    began: float = 0.0
    ended: float | None = None
    tokens: int = 0
    lag: int = 0
    failed: bool = False

    def generated(self, tokens: int) -> None:
        """
        So many more were generated.
        """
        self.tokens += tokens


@attrs.frozen(kw_only=True)
class Mark:
    """
    A bar begins or ends.

    Args:
        now: Seconds on the process's clock.
        bar: The bar.
        begins: Which of the two.
    """

    now: float
    bar: Bar
    begins: bool


@attrs.define(eq=False)
class Recorder:
    """
    Keeps what happened until somebody takes it; safe to use from several threads at once.

    Where nobody does, it keeps no more than the latest.
    """

    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)
    _bars: list[Bar] = attrs.field(factory=list[Bar], init=False, repr=False)
    _marks: deque[Mark] = attrs.field(
        factory=lambda: deque[Mark](maxlen=MOST_BARS), init=False, repr=False
    )
    _tickets: dict[int, Bar] = attrs.field(factory=dict[int, Bar], init=False, repr=False)
    _batches: dict[frozenset[int], Batch] = attrs.field(
        factory=dict[frozenset[int], Batch], init=False, repr=False
    )

    def begin(self, kind: str, *, group: int = -1, version: int = 0, ticket: int = -1) -> Bar:
        """
        Something begins; what is of a ticket can be asked for by its number.
        """
        bar = Bar(kind=kind, group=group, version=version)
        with self._lock:
            bar.began = time.monotonic()
            self._marks.append(Mark(now=bar.began, bar=bar, begins=True))
            if len(self._bars) < MOST_BARS:
                self._bars.append(bar)
            if ticket >= 0:
                self._tickets[ticket] = bar
                if len(self._tickets) > MOST_BARS:
                    del self._tickets[next(iter(self._tickets))]
        return bar

    def of(self, ticket: int) -> Bar | None:
        """
        The bar of a ticket, once; None when this process has not run it.
        """
        with self._lock:
            return self._tickets.pop(ticket, None)

    def end(self, bar: Bar) -> None:
        """
        It has ended, well or not.
        """
        with self._lock:
            bar.ended = time.monotonic()
            self._marks.append(Mark(now=bar.ended, bar=bar, begins=False))

    def trained(self, groups: Sequence[WeightedGroup], payload: Json, answer: Json) -> None:
        """
        An update has answered; nothing happens for a chunk.

        Groups that were trained in vain come again with others: what was kept of them is forgotten then.
        """
        if payload["do"] != "update":
            return
        batch = Batch.of(
            groups,
            payload["version"],
            answer["metrics"],
            updated=int(bool(payload["chunks"])),
            rebuilt=answer["rebuilt"],
        )
        numbers = frozenset(batch.groups)
        with self._lock:
            for in_vain in [kept for kept in self._batches if kept & numbers]:
                del self._batches[in_vain]
            self._batches[numbers] = batch
            if len(self._batches) > _MOST_BATCHES:
                del self._batches[next(iter(self._batches))]

    def take(self) -> list[Mark]:
        """
        What happened since this was asked for last, in the order of time.
        """
        with self._lock:
            marks = list(self._marks)
            self._marks.clear()
        return marks

    def batches(self, groups: AbstractSet[int]) -> list[Batch]:
        """
        What the updates were made of that have used some groups, each once; of groups that another process
        has trained there is none.
        """
        with self._lock:
            return [self._batches.pop(kept) for kept in [*self._batches] if kept <= groups]

    @property
    def bars(self) -> tuple[Bar, ...]:
        """
        All that happened, in the order of beginning.
        """
        with self._lock:
            return tuple(self._bars)
