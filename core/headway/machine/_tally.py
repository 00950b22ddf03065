"""
What a machine counts, and the frozen statistics that it gives out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import attrs

from headway.contracts import COMPLETIONS, Fault, TotalUsage

_KINDS = ("rollout", "propose", "verify", "measure", "rebase")
_PAID = ("rollout", "propose", "verify", "measure")

WAITS = ("training", "bound", "groups", "nothing")
"""What the next batch of groups may wait for: a step that has one, older groups, any groups."""

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
        hedges: Second copies that were begun of their calls.
        retired_workers: Worker places that gave up.
        late: Answers that came after their call was over.
        no_ops: Proposals that would have changed nothing.
        sessions: Processes that worked on the run, one after the other.
        repeated: Paid calls that were in flight when one of them ended, and were made again.
        usage: What all paid calls used so far.
        slot_seconds: What the slots were used for: ``rollout`` (proposals and verifications too),
            ``measure``, ``reverify`` (rebases too), ``idle_waiting`` (a slot and a worker place were
            free and the search kept the next rollout back), ``idle`` (nothing to do); together the
            slots times the length of the run.
        merge_seconds: Steps' own code and rebases.
        ledger_seconds: Commits, from their start to the ledger's answer.
        trainings: Trainings begun.
        train_seconds: Trainings, from their start to their answer or until they were given up.
        worker_starved_seconds: Worker places that were free while the run searched.
        update_waits: Seconds by what the next batch of groups waited for, see ``UpdateDone``; all 0 for an
            optimizer that learns from proposals.
        lost_groups: Groups that were given up before they were complete, by reason.
        determinism: What is known of rewards.
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
    hedges: int
    retired_workers: int
    late: int
    no_ops: int
    sessions: int
    repeated: int
    usage: TotalUsage
    slot_seconds: Mapping[str, float]
    merge_seconds: float
    ledger_seconds: float
    trainings: int
    train_seconds: float
    worker_starved_seconds: float
    update_waits: Mapping[str, float]
    lost_groups: Mapping[str, int]
    determinism: str


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
    hedges: int = 0
    late: int = 0
    no_ops: int = 0
    failures: int = 0
    above_ceiling: int = 0
    sessions: int = 1
    repeated: int = 0
    steps_seconds: float = 0.0
    ledger_seconds: float = 0.0
    trainings: int = 0
    train_seconds: float = 0.0
    idle_waiting: float = 0.0
    starved: float = 0.0
    reverify_seconds: float = 0.0
    waits: dict[str, float] = attrs.field(factory=lambda: dict.fromkeys(WAITS, 0.0))
    waits_begun: Counter[str] = attrs.field(factory=Counter[str])
    most_groups: int = 0
    """The most groups outstanding at once since the last update."""
    lost_groups: Counter[str] = attrs.field(factory=Counter[str])
    tries: dict[str, int] = attrs.field(factory=dict[str, int])
    """By task, how many groups in a row were too old to be used; only of tasks whose last one was."""
    reverifying: set[int] = attrs.field(factory=set[int])
    seconds: dict[str, float] = attrs.field(factory=lambda: dict.fromkeys(_KINDS, 0.0))
    """By kind of call.  A start is subtracted and an end added, so only ended calls make sense."""
    running: dict[str, int] = attrs.field(factory=lambda: dict.fromkeys(_KINDS, 0))
    completions: dict[str, int] = attrs.field(factory=lambda: dict.fromkeys(COMPLETIONS, 0))
    decisions: Counter[str] = attrs.field(factory=Counter[str])
    etas: Counter[int] = attrs.field(factory=Counter[int])
    committed_etas: Counter[int] = attrs.field(factory=Counter[int])
    sweeps: Counter[str] = attrs.field(factory=Counter[str])
    calls: dict[str, int] = attrs.field(factory=lambda: defaultdict[str, int](int))
    faults: FaultCount = attrs.field(factory=FaultCount)

    def reverify_began(self, call: int, now: float) -> None:
        """
        A measurement that verifies a rebased card began.
        """
        self.reverifying.add(call)
        self.reverify_seconds -= now

    def reverify_ended(self, call: int, now: float) -> None:
        """
        It ended.
        """
        self.reverifying.discard(call)
        self.reverify_seconds += now

    def mean_seconds(self, kind: str, now: float) -> float:
        """
        The seconds that calls of a kind took so far for each that has ended; 0.0 when none has.

        What runs counts too, so that the longest, which end last, are not left out.
        """
        running = self.running[kind]
        ended = self.calls[kind] - running
        return (self.seconds[kind] + running * now) / ended if ended else 0.0

    def usage(
        self, *, tokens: int, cost: float, running: Mapping[str, int], now: float
    ) -> TotalUsage:
        """
        What all paid calls used so far.

        Args:
            tokens: Tokens charged.
            cost: Money charged.
            running: Calls that run, by kind.
            now: The time.
        """
        lengths = self._lengths(running, now)
        return TotalUsage(
            calls=sum(self.calls.values()),
            tokens=tokens,
            cost=cost,
            seconds=sum(lengths[kind] for kind in _PAID),
            failures=self.failures,
        )

    def _lengths(self, running: Mapping[str, int], now: float) -> dict[str, float]:
        return {kind: self.seconds[kind] + running.get(kind, 0) * now for kind in _KINDS}

    def slot_seconds(
        self, running: Mapping[str, int], *, slots: int, now: float
    ) -> dict[str, float]:
        """
        What the slots were used for so far.
        """
        lengths = self._lengths(running, now)
        again = self.reverify_seconds + len(self.reverifying) * now
        used = {
            "rollout": lengths["rollout"] + lengths["propose"] + lengths["verify"],
            "measure": lengths["measure"] - again,
            "reverify": again + lengths["rebase"],
            "idle_waiting": self.idle_waiting,
        }
        used["idle"] = slots * now - sum(used.values())
        return {use: max(0.0, seconds) for use, seconds in used.items()}  # but for rounding

    def merge_seconds(self, running: Mapping[str, int], now: float) -> float:
        """
        Steps' own code and rebases so far.
        """
        rebasing = max(0.0, self._lengths(running, now)["rebase"])  # below 0 by rounding alone
        return self.steps_seconds + rebasing
