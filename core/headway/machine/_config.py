"""
What a machine is built from, validated once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs

from headway._checks import check_choice, check_count, check_number
from headway.errors import OptionError

STOPS_DRAINING = (
    "max_iters",
    "max_calls",
    "max_tokens",
    "max_cost",
    "rounds",
    "exhausted",
)
"""Stop reasons after which everything that was paid for is still decided."""

STOPS_HALTING = (
    "updates",
    "max_seconds",
    "interrupted",
    "target_reward",
    "patience",
    "stalled",
    "error",
)
"""Stop reasons after which what is in flight is given up."""

STOPS_UNSCORED = ("interrupted", "error")
"""Stop reasons after which nothing more is measured; only these come from outside."""


STRAGGLER = ("count", "hedge", "cancel")
"""What may become of a rollout that takes too long."""

LEARNS_FROM = ("proposals", "outcomes")
"""What an optimizer may learn from."""

LOST_GROUPS = ("stop", "drop")
"""What may become of a group that lost too many members."""

_COUNTS = (
    "n_workers",
    "slots",
    "final_draws",
    "max_proposal_bytes",
    "max_worker_errors",
    "max_train_errors",
    "group_size",
    "member_attempts",
)
_LIMITS = (
    "max_rollouts",
    "max_calls",
    "max_tokens",
    "tokens_per_call",
    "max_rounds",
    "max_updates",
    "least_members",
    "patience",
    "checkpoint_every",
)
_AMOUNTS = ("max_cost", "cost_per_call")
_SECONDS = (
    "max_seconds",
    "rollout_timeout",
    "eval_timeout",
    "train_timeout",
    "round_timeout",
    "stall_alarm",
)


@attrs.frozen(kw_only=True)
class MachineConfig:
    """
    All that a machine needs to know beside its parts.

    Args:
        run: Tells this run from every other one that shares its ledger; ``""`` when none does.
        seed: The run's seed.
        train: The ids of the training tasks.
        held_out: The ids of the held-out tasks.
        test: The ids of the test tasks, scored once at the end.
        oracle: The ids of further tasks that a step may measure on.
        deterministic: Whether one draw a score is enough; None: the baseline is drawn twice, and
            what it shows is believed until something contradicts it.
        reward_range: The lowest and the highest reward that is valid.
        solved: A rollout with at least this reward needs no proposal.
        n_workers: Rollouts at once.
        slots: Calls at once, in all.
        max_steps: Steps of the aggregator at once.
        bind: ``"late"``: a proposal is made against the newest head; ``"early"``: against the
            snapshot that its rollout used.
        self_verify: Whether a change is tried on its own task before it becomes a card.
        final_draws: Fresh draws of each held-out task for the final score.
        max_proposal_bytes: Longer changes are ``discarded(oversized)``.
        max_worker_errors: Failures that a worker bears while nothing has ever succeeded.
        max_train_errors: Failed trainings that end the run, when no step that trained gets through
            between them.
        max_rollouts: Tickets to admit.
        max_calls: Paid calls to make, final scoring included.
        max_tokens: Tokens to be charged, final scoring included.
        max_cost: Money to be charged, final scoring included.
        tokens_per_call: The most tokens that one call charges.
        cost_per_call: The most money that one call charges.
        max_rounds: Windows to close (barrier only).
        max_updates: Batches of groups to use (reservations only).
        max_seconds: Length of the whole run.
        shutdown_grace: Seconds after the stop in which a commit on its way may still land.
        target_reward: Held-out reward that ends the run.
        patience: Sweeps in a row without a commit that end the run; lost ones do not count.
        rollout_timeout: Deadline of a rollout, proposal or verification, in seconds.
        eval_timeout: Deadline of a measurement or rebase, in seconds.
        train_timeout: Deadline of a training, in seconds.
        straggler_factor: A rollout that takes this many times its prediction is a straggler.
        straggler: What becomes of one: ``"count"``, ``"hedge"`` or ``"cancel"``.
        round_timeout: Seconds after which the rollouts of a round end as they stand (barrier only).
        failure_score: What a measurement counts that failed for good; None discards its candidate.
        checkpoint_every: After so many events in a row with a step out, the next step is held back until
            none is, so that there can be a checkpoint; None never holds one back.
        learns_from: ``"proposals"``, or ``"outcomes"``, where a ticket is one rollout and no more.
        group_size: Tickets that make one card (reservations only).
        member_attempts: How often a member of a group is tried before it is lost.
        least_members: Members with which a group is complete when the others are lost; None means all.
        stall_alarm: Seconds without an update after which it is told what is waited for; None: never
            (reservations only).
        lost_groups: What becomes of a group with fewer: ``"stop"`` ends the run, ``"drop"`` the group.

    Raises:
        OptionError: a number is none or out of its range, ``bind`` or ``straggler`` is another word, or the task ids
            are not unique or too few.
    """

    run: str = ""
    seed: int
    train: tuple[str, ...]
    held_out: tuple[str, ...]
    test: tuple[str, ...] = ()
    oracle: tuple[str, ...] = ()
    deterministic: bool | None = True
    reward_range: tuple[float, float] = (0.0, 1.0)
    solved: float = 1.0
    n_workers: int = 4
    slots: int = 12
    max_steps: int = 1
    bind: str = "late"
    self_verify: bool = True
    final_draws: int = 4
    max_proposal_bytes: int = 1_000_000
    max_worker_errors: int = 3
    max_train_errors: int = 3
    max_rollouts: int | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    tokens_per_call: int | None = None
    cost_per_call: float | None = None
    max_rounds: int | None = None
    max_updates: int | None = None
    max_seconds: float | None = None
    shutdown_grace: float = 2.0
    target_reward: float | None = None
    patience: int | None = None
    rollout_timeout: float | None = None
    eval_timeout: float | None = None
    train_timeout: float | None = None
    straggler_factor: float = 3.0
    straggler: str = "count"
    round_timeout: float | None = None
    failure_score: float | None = None
    checkpoint_every: int | None = None
    learns_from: str = "proposals"
    group_size: int = 1
    member_attempts: int = 3
    least_members: int | None = None
    lost_groups: str = "stop"
    stall_alarm: float | None = None

    def __attrs_post_init__(self) -> None:
        for option in (*_COUNTS, *self._given(_LIMITS)):
            check_count(option, getattr(self, option), 1)
        for option in ("straggler_factor", *self._given(_SECONDS), *self._given(_AMOUNTS)):
            check_number(option, getattr(self, option), above=0)
        check_number("shutdown_grace", self.shutdown_grace, least=0, below=math.inf)
        check_count("max_steps", self.max_steps, 1, 3)
        check_choice("bind", self.bind, ("late", "early"))
        check_choice("straggler", self.straggler, STRAGGLER)
        check_choice("learns_from", self.learns_from, LEARNS_FROM)
        check_choice("lost_groups", self.lost_groups, LOST_GROUPS)
        if self.least_members is not None:
            check_count("least_members", self.least_members, 1, self.group_size)
        for option in self._given(("failure_score",)):
            check_number(option, getattr(self, option))
        self._check_tasks()

    def _given(self, options: Iterable[str]) -> list[str]:
        return [option for option in options if getattr(self, option) is not None]

    def _check_tasks(self) -> None:
        ids = (*self.train, *self.held_out, *self.test, *self.oracle)
        seen: set[str] = set()
        for task in ids:
            if task in seen:
                raise OptionError("tasks", task, "This id occurs twice; give every task its own.")
            seen.add(task)
        if not self.train or not self.held_out:
            raise OptionError(
                "tasks", len(ids), "Give at least one training and one held-out task."
            )

    @property
    def calls_per_ticket(self) -> int:
        """
        The most calls that one ticket makes.
        """
        if self.learns_from == "outcomes":
            return 1
        return 3 if self.self_verify else 2

    @property
    def fewest_members(self) -> int:
        """
        The fewest members with which a group is complete.
        """
        return self.group_size if self.least_members is None else self.least_members

    @property
    def baseline_draws(self) -> int:
        """
        How often the first head is scored on each held-out task.
        """
        return 2 if self.deterministic is None else 1
