"""
The budget: what may still be spent, with reservations made before anything starts.

Guarantee: ``spent + reserved <= max`` at every instant, so 20 asked is at most 20 delivered at any
number of workers.
"""

from __future__ import annotations

import attrs


@attrs.define(eq=False)
class Budget:
    """
    Rollouts and paid calls: reserved, then spent or released.

    Args:
        max_rollouts: Tickets to admit; None means no bound.
        max_calls: Paid calls; None means no bound.
    """

    max_rollouts: int | None = None
    max_calls: int | None = None
    rollouts: int = attrs.field(default=0, init=False)
    calls: int = attrs.field(default=0, init=False)
    reserved: int = attrs.field(default=0, init=False)

    @property
    def rollouts_left(self) -> bool:
        """
        Whether one more ticket may be admitted.
        """
        return self.max_rollouts is None or self.rollouts < self.max_rollouts

    def affords(self, calls: int) -> bool:
        """
        Whether that many calls could be reserved.
        """
        return self.max_calls is None or self.calls + self.reserved + calls <= self.max_calls

    def reserve(self, calls: int) -> bool:
        """
        Reserve calls; False, and nothing changed, when there are not that many left.
        """
        if self.max_calls is not None and not self.affords(calls):
            return False
        self.reserved += calls
        return True

    def spend(self) -> None:
        """
        One reserved call starts.
        """
        self.reserved -= 1
        self.calls += 1

    def release(self, calls: int) -> None:
        """
        Give back reserved calls that will not be made.
        """
        self.reserved -= calls
