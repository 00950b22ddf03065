"""
What a machine counts, and the frozen statistics that it gives out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import attrs

from headway.contracts import COMPLETIONS, Fault

_KEPT_FAULTS = 1000
"""How many different faults are kept, the first ones."""


@attrs.frozen(kw_only=True)
class Statistics:
    """
    A machine's counts at one instant.

    The conservation law: ``tickets = sum(completions) + in_flight`` and
    ``cards = sum(decisions) + held``.

    Args:
        version: The head's version.
        tickets: Tickets admitted.
        in_flight: Tickets whose ending has not been applied.
        completions: Ended tickets by how they ended.
        cards: Cards made.
        held: Cards that are undecided.
        decisions: Decided cards by kind, or ``discarded:reason``.
        considered: Cards that a sweep has taken, each counted once.
        stale_discarded: Cards discarded as stale.
        eta_histogram: Decided cards that a sweep took, by their last eta.
        committed_by_eta: Committed cards by their last eta.
        sweeps: Finished sweeps by outcome.
        rounds: Windows closed (barrier only).
        calls: Paid calls started, by kind.
        forced_refreshes: Workers refreshed because the pipeline stalled.
        commit_races: Commits lost to somebody else.
        stragglers: Rollouts that overran their prediction.
        retired_workers: Worker places that gave up.
        late: Answers that came after their call was over.
        no_ops: Proposals that would have changed nothing.
    """

    version: int
    tickets: int
    in_flight: int
    completions: Mapping[str, int]
    cards: int
    held: int
    decisions: Mapping[str, int]
    considered: int
    stale_discarded: int
    eta_histogram: Mapping[int, int]
    committed_by_eta: Mapping[int, int]
    sweeps: Mapping[str, int]
    rounds: int
    calls: Mapping[str, int]
    forced_refreshes: int
    commit_races: int
    stragglers: int
    retired_workers: int
    late: int
    no_ops: int


@attrs.define(eq=False)
class FaultCount:
    """
    What went wrong and how often; the first fault of each kind is kept whole.
    """

    _counts: dict[tuple[str, str, str, str | None], tuple[Fault, int]] = attrs.field(
        factory=dict[tuple[str, str, str, str | None], tuple[Fault, int]], init=False
    )

    def add(self, fault: Fault) -> None:
        """
        Count a fault.
        """
        key = (fault.where, fault.type, fault.message, fault.task)
        first, count = self._counts.get(key, (fault, 0))
        if count or len(self._counts) < _KEPT_FAULTS:
            self._counts[key] = (first, count + 1)

    @property
    def items(self) -> tuple[tuple[Fault, int], ...]:
        """
        Each fault and how often it was seen, in the order in which they first came.
        """
        return tuple(self._counts.values())


@attrs.define(eq=False)
class Tally:
    """
    The counts that are not some part's own.
    """

    tickets: int = 0
    cards: int = 0
    considered: int = 0
    rounds: int = 0
    forced_refreshes: int = 0
    commit_races: int = 0
    stragglers: int = 0
    late: int = 0
    no_ops: int = 0
    completions: dict[str, int] = attrs.field(factory=lambda: dict.fromkeys(COMPLETIONS, 0))
    decisions: Counter[str] = attrs.field(factory=Counter[str])
    etas: Counter[int] = attrs.field(factory=Counter[int])
    committed_etas: Counter[int] = attrs.field(factory=Counter[int])
    sweeps: Counter[str] = attrs.field(factory=Counter[str])
    calls: dict[str, int] = attrs.field(factory=lambda: defaultdict[str, int](int))
    faults: FaultCount = attrs.field(factory=FaultCount)
