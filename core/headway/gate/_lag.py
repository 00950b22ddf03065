"""
The asynchronous gate.
"""

from __future__ import annotations

from math import ceil
from typing import ClassVar, Literal

import attrs

from headway._checks import check_choice, check_count
from headway.gate._view import GateView


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
    priced: bool = attrs.field(init=False)
    """Whether the price may make a batch larger."""
    capacity: int = attrs.field(init=False)
    """The most tickets in flight and undecided cards together."""
    _sure: int = attrs.field(init=False)
    """The same with the smallest batch: below it, no price need be looked at."""

    def __attrs_post_init__(self) -> None:
        check_count("n_workers", self.n_workers, 1)
        check_count("async_ratio", self.async_ratio, 0)
        check_count("batch", self.batch, 1)
        check_count("max_wait_rounds", self.max_wait_rounds, 0)
        check_choice("resync", self.resync, ("commit", "lag"))
        if self.most_batch is not None:
            check_count("most_batch", self.most_batch, 1)
        most = max(self.batch, self.most_batch or 0)
        self.priced = most > self.batch
        self.capacity, self._sure = self._room(most), self._room(self.batch)

    def _room(self, batch: int) -> int:
        return self.n_workers + self.async_ratio + batch - 1

    def wants(self, view: GateView) -> int:
        """
        How many new cards make a sweep worth while now.
        """
        most = self.most_batch
        if most is None or not self.priced:
            return self.batch
        return min(most, max(self.batch, ceil(view.price)))

    def admit(self, view: GateView) -> bool:
        """
        Whether one more rollout may start.
        """
        if view.running >= self.n_workers:
            return False
        unmerged = view.in_flight + view.undecided
        return unmerged < self._sure or (self.priced and unmerged < self._room(self.wants(view)))

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
