"""
The lag gate: who may start a rollout, against which version, and what a sweep may take.

A gate has two ends.  ``admit`` says whether one more rollout may start, ``take`` whether a sweep may
take what waits.  Each gate states the bound that it keeps, with its proof, in its docstring, and
``within_bound`` checks it.  When nothing runs and nothing can start, ``take`` is asked once more
with ``quiet=True``.
"""

from __future__ import annotations

from math import ceil
from typing import ClassVar, Literal, Protocol

import attrs
from attrs import validators

from headway._checks import check_choice, check_count
from headway._records import record


@record
class GateView:
    """
    What a gate decides on.

    Args:
        running: Rollouts that have not ended.
        in_flight: Tickets whose ending has not been applied; at least ``running``.
        undecided: New cards that wait or are leased.
        waiting: New cards that wait for a sweep.
        held: All cards, carried ones included.
        finished: Rollouts that ended since the oldest waiting card arrived.
        sweeping: Whether a sweep is open; whether there is room for one more is not the gate's
            business.
        draining: Whether the run is ending and no rollout will start any more.
        quiet: Whether nothing runs and nothing can start.
        price: What a candidate costs to measure on the held-out tasks, in rollouts, by what has been
            seen; 0.0 while that is not known.
    """

    running: int = 0
    in_flight: int = 0
    undecided: int = 0
    waiting: int = 0
    held: int = 0
    finished: int = 0
    sweeping: bool = False
    draining: bool = False
    quiet: bool = False
    price: float = 0.0


class Gate(Protocol):
    """
    What the machine asks of a gate.

    Attributes:
        ordered: Whether endings are applied together, in ticket order, once a window is complete.
    """

    ordered: ClassVar[bool]

    def admit(self, view: GateView) -> bool:
        """
        Whether one more rollout may start.
        """
        ...

    def take(self, view: GateView) -> bool:
        """
        Whether a sweep may take what waits.
        """
        ...

    def base(self, held: int, head: int) -> int:
        """
        The version that a worker holding version ``held`` starts its next rollout from.
        """
        ...

    def admitted(self) -> None:
        """
        One rollout was admitted.
        """
        ...

    def applied(self) -> None:
        """
        The endings of a window were applied.
        """
        ...

    def within_bound(self, view: GateView) -> bool:
        """
        Whether the gate's own bound holds.
        """
        ...


@attrs.define(eq=False, kw_only=True)
class LagGate:
    """
    The asynchronous gate: bounds version drift and un-merged work.

    A batch is ``batch`` cards, or, where ``most_batch`` is larger, as many as a candidate costs
    rollouts by the view's price, from ``batch`` to ``most_batch``.

    Bound: ``in flight + undecided <= n_workers + async_ratio + (most_batch - 1)`` at every instant.
    Proof: ``admit`` is the only way to raise the left side, and it allows that only while the left
    side is below the bound; an ending turns one ticket into at most one card; a sweep, a step or a
    lost race move cards between waiting and leased, which the sum does not see; carrying a card
    takes it out of the sum.  ``admit`` stops at the bound of the batch as it is now, which is at
    most ``most_batch``, and leaves room for the whole of it even when nothing is in flight, so
    a batch larger than the ratio cannot deadlock.

    Not safe to use from several threads at once: the machine's driver serialises.

    Args:
        n_workers: Rollouts at once.
        async_ratio: The lag budget: versions that a worker's snapshot may be behind, and cards that
            may wait for the merger.
        batch: New cards that make a sweep worth while.
        most_batch: The same, where measuring is dear; None, or fewer than ``batch``, means ``batch``.
        max_wait_rounds: Rounds of ``n_workers`` finished rollouts that a smaller batch waits.
        resync: ``"commit"``: every rollout starts from the head.  ``"lag"``: a worker keeps its
            snapshot until it is more than ``async_ratio`` versions behind.

    Raises:
        OptionError: a number is none or too small, or ``resync`` is another word.
    """

    ordered: ClassVar[bool] = False

    n_workers: int
    async_ratio: int = 3
    batch: int = 1
    max_wait_rounds: int = 1
    resync: Literal["commit", "lag"] = "commit"
    most_batch: int | None = None
    capacity: int = attrs.field(init=False)
    """The most tickets in flight and undecided cards together."""

    def __attrs_post_init__(self) -> None:
        check_count("n_workers", self.n_workers, 1)
        check_count("async_ratio", self.async_ratio, 0)
        check_count("batch", self.batch, 1)
        check_count("max_wait_rounds", self.max_wait_rounds, 0)
        check_choice("resync", self.resync, ("commit", "lag"))
        if self.most_batch is not None:
            check_count("most_batch", self.most_batch, 1)
        self.capacity = self._room(max(self.batch, self.most_batch or 0))

    def _room(self, batch: int) -> int:
        return self.n_workers + self.async_ratio + batch - 1

    def wants(self, view: GateView) -> int:
        """
        How many new cards make a sweep worth while now.
        """
        most = self.most_batch
        if most is None or most <= self.batch:
            return self.batch
        return min(most, max(self.batch, ceil(view.price)))

    def admit(self, view: GateView) -> bool:
        """
        Whether one more rollout may start.
        """
        if view.running >= self.n_workers:
            return False
        return view.in_flight + view.undecided < self._room(self.wants(view))

    def take(self, view: GateView) -> bool:
        """
        Whether a sweep may take what waits: a whole batch, or one that has waited long enough; at
        the end all that is left, once no sweep is open that might give something back.
        """
        if view.waiting >= self.wants(view):
            return True
        if view.quiet or view.draining:
            alone = not view.sweeping and (view.quiet or view.in_flight == 0)
            return alone and view.held > 0
        return view.waiting > 0 and view.finished >= self.n_workers * self.max_wait_rounds

    def base(self, held: int, head: int) -> int:
        """
        The version that a worker holding version ``held`` starts its next rollout from.
        """
        if self.resync == "commit" or head - held > self.async_ratio:
            return head
        return held

    def admitted(self) -> None:
        """
        One rollout was admitted: nothing to note, the view tells all.
        """

    def applied(self) -> None:
        """
        Endings were applied: nothing to note, the view tells all.
        """

    def within_bound(self, view: GateView) -> bool:
        """
        Whether in flight and undecided together are within ``capacity``.
        """
        return view.in_flight + view.undecided <= self.capacity


@attrs.define(eq=False, kw_only=True)
class Barrier:
    """
    The synchronous gate: one round of tickets, then one sweep.

    Bound: ``in flight + undecided <= round_size``, and every new base is the head as it was at most
    ``refresh_interval - 1`` rounds ago; with the default of 1 it is the head.  Proof: a window
    admits at most ``round_size`` tickets, none while a sweep is open or a new card waits; each ends
    in at most one card.  The head moves only inside a sweep, so never within a window; every
    ``refresh_interval``-th window begins with each worker at the head, and between two of those the
    workers keep what they hold, or are handed a newer head because the pipeline stalled.

    Not safe to use from several threads at once: the machine's driver serialises.

    Args:
        n_workers: Rollouts at once.
        round_size: Tickets in a round.
        refresh_interval: Rounds from one hand-out of the head to the next.

    Raises:
        OptionError: one of them is no whole number of at least 1.
    """

    ordered: ClassVar[bool] = True

    n_workers: int
    round_size: int
    refresh_interval: int = 1
    _round: int = attrs.field(default=0, init=False)
    _window: int = attrs.field(default=0, init=False, validator=validators.ge(0))

    def __attrs_post_init__(self) -> None:
        check_count("n_workers", self.n_workers, 1)
        check_count("round_size", self.round_size, 1)
        check_count("refresh_interval", self.refresh_interval, 1)

    def admit(self, view: GateView) -> bool:
        """
        Whether one more rollout of this round may start.
        """
        return (
            not view.sweeping
            and view.undecided == 0
            and view.running < self.n_workers
            and self._window < self.round_size
        )

    def take(self, view: GateView) -> bool:
        """
        Whether a sweep may take what the round brought.
        """
        if view.sweeping or view.in_flight or not view.held:
            return False
        return view.waiting > 0 or view.quiet or view.draining

    def base(self, held: int, head: int) -> int:
        """
        The head in every ``refresh_interval``-th round, else what the worker holds.
        """
        return held if self._round % self.refresh_interval else head

    def admitted(self) -> None:
        """
        One rollout of this round was admitted.
        """
        self._window += 1

    def applied(self) -> None:
        """
        The round is over; the next one may begin.
        """
        self._window = 0
        self._round += 1

    def within_bound(self, view: GateView) -> bool:
        """
        Whether in flight and undecided together are at most one round.
        """
        return view.in_flight + view.undecided <= self.round_size
