"""
The synchronous gate.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
from attrs import validators

from headway._checks import check_count
from headway.gate._view import GateView


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

    @property
    def priced(self) -> bool:
        """
        False: what a candidate costs to measure changes nothing.
        """
        return False

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
