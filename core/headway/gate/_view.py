"""
What a gate is asked, and what it decides on.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

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
            seen; 0.0 while that is not known, and for a gate that does not look at it.
        head: The head's version.
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
    head: int = 0


class Gate(Protocol):
    """
    What the machine asks of a gate.

    Attributes:
        ordered: Whether endings are applied together, in ticket order, once a window is complete.
    """

    ordered: ClassVar[bool]

    @property
    def priced(self) -> bool:
        """
        Whether it looks at the view's price.
        """
        ...

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
