"""
What a machine is built from, validated once.
"""

from __future__ import annotations

import math
from typing import Any

import attrs

from headway.errors import OptionError

STOPS_DRAINING = ("max_iters", "max_calls", "rounds", "exhausted")
"""Stop reasons after which everything that was paid for is still decided."""

STOPS_HALTING = ("max_seconds", "interrupted", "target_reward", "patience", "stalled", "error")
"""Stop reasons after which what is in flight is given up."""

STOPS_UNSCORED = ("interrupted", "error")
"""Stop reasons after which nothing more is measured; only these come from outside."""


def check_count(option: str, value: Any, least: int) -> None:
    """
    Refuse anything but a whole number of at least ``least``; None passes.
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise OptionError(option, value, f"Give a whole number of at least {least}.")


def check_seconds(option: str, value: Any) -> None:
    """
    Refuse anything but a positive number of seconds; None and infinity pass.
    """
    if value is None:
        return
    if not isinstance(value, int | float) or math.isnan(value) or value <= 0:
        raise OptionError(option, value, "Give a number of seconds above 0.")


@attrs.frozen(kw_only=True)
class MachineConfig:
    """
    All that a machine needs to know beside its parts.

    Args:
        seed: The run's seed.
        train: The ids of the training tasks.
        held_out: The ids of the held-out tasks.
        test: The ids of the test tasks, scored once at the end.
        deterministic: Whether one draw a score is enough.
        solved: A rollout with at least this reward needs no proposal.
        n_workers: Rollouts at once.
        slots: Calls at once, in all.
        bind: ``"late"``: a proposal is made against the newest head; ``"early"``: against the
            snapshot that its rollout used.
        self_verify: Whether a change is tried on its own task before it becomes a card.
        final_draws: Fresh draws of each held-out task for the final score.
        max_proposal_bytes: Longer changes are ``discarded(oversized)``.
        max_worker_errors: Failures that a worker bears while nothing has ever succeeded.
        max_rollouts: Tickets to admit.
        max_calls: Paid calls to make, final scoring included.
        max_rounds: Windows to close (barrier only).
        max_seconds: Length of the whole run.
        shutdown_grace: Seconds after ``max_seconds`` in which a commit on its way may still land.
        target_reward: Held-out reward that ends the run.
        patience: Sweeps in a row without a commit that end the run.
        rollout_timeout: Deadline of a rollout, proposal or verification, in seconds.
        eval_timeout: Deadline of a measurement or rebase, in seconds.
        straggler_factor: A rollout that takes this many times its prediction is a straggler.
    """

    seed: int
    train: tuple[str, ...]
    held_out: tuple[str, ...]
    test: tuple[str, ...] = ()
    deterministic: bool = True
    solved: float = 1.0
    n_workers: int = 4
    slots: int = 12
    bind: str = "late"
    self_verify: bool = True
    final_draws: int = 4
    max_proposal_bytes: int = 1_000_000
    max_worker_errors: int = 3
    max_rollouts: int | None = None
    max_calls: int | None = None
    max_rounds: int | None = None
    max_seconds: float | None = None
    shutdown_grace: float = 2.0
    target_reward: float | None = None
    patience: int | None = None
    rollout_timeout: float | None = None
    eval_timeout: float | None = None
    straggler_factor: float = 3.0

    def __attrs_post_init__(self) -> None:
        for option, least in (
            ("n_workers", 1),
            ("slots", 1),
            ("final_draws", 1),
            ("max_proposal_bytes", 1),
            ("max_worker_errors", 1),
            ("max_rollouts", 1),
            ("max_calls", 1),
            ("max_rounds", 1),
            ("patience", 1),
        ):
            check_count(option, getattr(self, option), least)
        for option in ("max_seconds", "rollout_timeout", "eval_timeout", "straggler_factor"):
            check_seconds(option, getattr(self, option))
        if self.bind not in ("late", "early"):
            raise OptionError("bind", self.bind, "Give 'late' or 'early'.")
        if not (math.isfinite(self.shutdown_grace) and self.shutdown_grace >= 0):
            raise OptionError("shutdown_grace", self.shutdown_grace, "Give 0 or more seconds.")
        self._check_tasks()

    def _check_tasks(self) -> None:
        ids = (*self.train, *self.held_out, *self.test)
        seen: set[str] = set()
        for task in ids:
            if task in seen:
                raise OptionError("tasks", task, "Give every task an id of its own.")
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
        return 3 if self.self_verify else 2
