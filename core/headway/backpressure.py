"""
Backpressure: what happens when evidence arrives and nothing commits, or there is too much of it.

Two rules.  After ``stall_patience`` sweeps in a row that committed nothing and in which a card was
discarded as stale, every worker whose snapshot is behind the head is refreshed.  At most
``carry_limit`` cards are carried over; the oldest beyond that are let go.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from headway._checks import check_count


@attrs.define(eq=False, kw_only=True)
class Backpressure:
    """
    Keeps the pipeline from stalling on stale work and from hoarding uncertain work.

    Not safe to use from several threads at once: the machine's driver serialises.

    Args:
        stall_patience: Stale sweeps without a commit that are borne, at least 1.
        carry_limit: Cards that may be carried over, at least 0.

    Raises:
        OptionError: one of them is no whole number, or too small.
    """

    stall_patience: int = 50
    carry_limit: int = 32
    stalled: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        check_count("stall_patience", self.stall_patience, 1)
        check_count("carry_limit", self.carry_limit, 0)

    def swept(self, *, committed: int, stale: int) -> bool:
        """
        Note a finished sweep; True when every worker behind the head is to be refreshed now.

        A sweep that neither commits nor discards a stale card is neither progress nor a stall.
        """
        if committed:
            self.stalled = 0
        elif stale:
            self.stalled += 1
        if self.stalled < self.stall_patience:
            return False
        self.stalled = 0
        return True

    def overflow(self, carried: Sequence[int]) -> tuple[int, ...]:
        """
        The carried cards that must go, oldest first.
        """
        return tuple(carried[: max(0, len(carried) - self.carry_limit)])
