"""
What observers are told.

Each notice is one frozen object, so that fields can be added.  ``now`` is seconds since the run
began, virtual under the simulated driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from headway._records import record
from headway.contracts._values import CompletionKind, Decision, Fault, Snapshot

SweepOutcome: TypeAlias = Literal[
    "committed",
    "below-threshold",
    "carried",
    "all-stale",
    "duplicate",
    "conflict",
    "oversized",
    "oracle-rejected",
    "unmeasured",
    "all-dropped",
    "returned",
    "lost",
    "cas-conflict",
    "error",
    "given-up",
]


@attrs.frozen(kw_only=True)
class RunStarted:
    """
    A run began.

    Args:
        run: The run's name.
        mode: ``sync`` or ``async``.
        driver: The driver's name.
        seed: The run's seed.
        choices: The effective plug-ins by kind, as ``name (distribution version)``.
        notes: What the user should know before it starts, one sentence each.
        limits: The budget by option name; only what was set.
    """

    run: str
    mode: str
    driver: str
    seed: int
    choices: Mapping[str, str]
    notes: tuple[str, ...]
    limits: Mapping[str, float]


@record
class TicketEnded:
    """
    A ticket ended, exactly once.

    Args:
        now: Seconds since the run began.
        ticket: Its number.
        task: The id of the task that it rolled out.
        completion: How it ended.
        reward: What its rollout scored; None when it had not been scored.
        group: The number of the group that it belonged to; -1 when it belonged to none.
        member: Which member of the group it ran.
        attempt: How often that member had been tried before.
        seconds: How long it took, from its admission until it ended; what it waited for the backend
            included.
        base: The version that it began on.
    """

    now: float
    ticket: int
    task: str
    completion: CompletionKind
    reward: float | None
    group: int = -1
    member: int = 0
    attempt: int = 0
    seconds: float = 0.0
    base: int = 0


@attrs.frozen(kw_only=True)
class SweepDone:
    """
    A sweep's cards have been judged and its step, if it had one, has ended.

    Args:
        now: Seconds since the run began.
        sweep: 1, 2, 3, ...
        outcome: What the sweep came to.
        considered: Cards that this sweep took.
        committed: Cards of them that were committed.
        stale: Cards of them that were discarded as stale.
        version: The head's version afterwards.
        reward: The head's mean held-out reward, when it is known.
        rollouts: Tickets admitted so far.
        calls: Calls made so far.
    """

    now: float
    sweep: int
    outcome: SweepOutcome
    considered: int
    committed: int
    stale: int
    version: int
    reward: float | None
    rollouts: int
    calls: int


@attrs.frozen(kw_only=True)
class CardDecided:
    """
    A card was decided, exactly once.

    Args:
        now: Seconds since the run began.
        decision: What became of it.
        eta: How many commits behind the head it was when it was last judged.
    """

    now: float
    decision: Decision
    eta: int


@attrs.frozen(kw_only=True)
class HeadCommitted:
    """
    The head moved to a version that the ledger has acknowledged.

    Args:
        now: Seconds since the run began.
        head: The new head.
        cards: The cards it is made of; empty when somebody else committed it, or when it is the
            old head without a part.
    """

    now: float
    head: Snapshot
    cards: tuple[int, ...]


@attrs.frozen(kw_only=True)
class UpdateDone:
    """
    An optimizer that learns from outcomes has used a batch of groups.

    Args:
        now: Seconds since the run began.
        update: 1, 2, 3, ...
        version: The head's version afterwards; as before when nothing was changed.
        groups: How many versions behind the head each group was, by number.
        seconds: How long, since the run began, a step had its batch (``training``), waited because of
            the staleness bound (``bound``), or for groups (``groups``), or was about to begin
            (``nothing``).
        outstanding: Groups that were begun and neither used nor given up, once the batch had gone and
            before others were begun in its place.
        ready: Those of them that were complete then.
        slack: How many more of them the bound would have borne then, at the tightest.
        waits: How often each of the ``seconds`` began, since the run did.
        peak: The most groups that were outstanding at once since ``outstanding`` was read for the update
            before.
        blocking: The group among these that the next step waits for; None when it waits for none of
            them in particular.
        blocking_age: How many versions old that group is.
        dropped: Groups that were given up so far, by reason.
        most_tries: Of all tasks, the most groups in a row that were too old to be used.
        most_tried: The id of that task; None when the last group of every task could be used.
    """

    now: float
    update: int
    version: int
    groups: Mapping[int, int]
    seconds: Mapping[str, float]
    outstanding: int
    ready: int
    slack: int
    blocking: int | None
    dropped: Mapping[str, int]
    waits: Mapping[str, int] = attrs.field(factory=dict[str, int])
    peak: int = 0
    blocking_age: int | None = None
    most_tries: int = 0
    most_tried: str | None = None


@attrs.frozen(kw_only=True)
class GroupDropped:
    """
    A group was given up before it was complete; what its members still give is of no use.

    Args:
        now: Seconds since the run began.
        group: Its number.
        task: The id of its task.
        reason: How its member ended that was missed, ``stale`` or ``cancelled``.
    """

    now: float
    group: int
    task: str
    reason: str


@attrs.frozen(kw_only=True)
class FaultSeen:
    """
    Something went wrong and was contained.

    Args:
        now: Seconds since the run began.
        fault: What went wrong, and where.
    """

    now: float
    fault: Fault


@attrs.frozen(kw_only=True)
class RunFinished:
    """
    A run ended.

    Args:
        now: Seconds since the run began.
        stop_reason: Why it ended.
        version: The final head's version.
        digest: The digest of all decisions, versions and the final state.
    """

    now: float
    stop_reason: str
    version: int
    digest: str


Notice: TypeAlias = (
    RunStarted
    | TicketEnded
    | SweepDone
    | CardDecided
    | HeadCommitted
    | UpdateDone
    | GroupDropped
    | FaultSeen
    | RunFinished
)
