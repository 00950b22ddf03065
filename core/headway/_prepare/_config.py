"""
From options and a domain's tasks to what a machine is built from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from headway._prepare._learning import check_learning, reservations
from headway._prepare._parts import Parts
from headway.contracts import Domain, Splits
from headway.errors import ContractError, OptionError, shown
from headway.journal import Blueprint
from headway.machine import MachineConfig
from headway.options import RunOptions, limits_remedy

FEWEST_TASKS = 4


def make_config(domain: Domain, splits: Splits, options: RunOptions) -> MachineConfig:
    """
    The machine's options.

    Raises:
        UsageError: the tasks or the options can't be used.
    """
    _check_splits(splits)
    _check_target(domain, options)
    _check_limits(options)
    return MachineConfig(
        seed=options.seed,
        train=tuple(task.id for task in splits.train),
        held_out=tuple(task.id for task in splits.held_out),
        test=tuple(task.id for task in splits.test),
        oracle=tuple(task.id for task in splits.oracle),
        deterministic=_first_word(options.deterministic, domain.deterministic),
        reward_range=domain.reward_range,
        solved=domain.solved,
        n_workers=options.n_workers,
        slots=options.capacity,
        bind=options.bind,
        self_verify=options.self_verify,
        final_draws=options.final_draws,
        max_proposal_bytes=options.max_proposal_bytes,
        max_worker_errors=options.max_worker_errors,
        max_train_errors=options.max_train_errors,
        max_rollouts=options.max_rollouts,
        max_calls=options.max_calls,
        max_tokens=options.max_tokens,
        max_cost=options.max_cost,
        tokens_per_call=options.tokens_per_call,
        cost_per_call=options.cost_per_call,
        max_rounds=options.rounds if options.mode == "sync" else None,
        max_updates=options.updates,
        max_seconds=options.max_seconds,
        shutdown_grace=options.shutdown_grace,
        target_reward=options.target_reward,
        patience=options.patience,
        rollout_timeout=options.rollout_timeout,
        eval_timeout=options.eval_timeout,
        train_timeout=options.train_timeout,
        straggler_factor=options.straggler_factor,
        straggler=options.straggler,
        round_timeout=options.round_timeout if options.mode == "sync" else None,
        failure_score=_failure_score(domain),
        member_attempts=options.member_attempts,
        lost_groups=options.lost_groups,
        stall_alarm=options.stall_alarm,
    )


def _first_word(given: bool | None, declared: bool | None) -> bool | None:
    return declared if given is None else given


def _failure_score(domain: Domain) -> float | None:
    score: Any = domain.failure_score
    if score is None:
        return None
    low, high = domain.reward_range
    is_number = isinstance(score, (int, float)) and not isinstance(score, bool)
    if not is_number or not low <= score <= high:
        remedy = f"Give a reward within {domain.name}'s range, {low:g} to {high:g}, or None."
        raise OptionError("failure_score", score, remedy)
    return float(score)


def _check_splits(splits: object) -> None:
    if not isinstance(splits, Splits):
        raise ContractError(
            f"tasks() returned {shown(splits)}; it must return Splits(train=..., ...)"
        )
    tasks = [*splits.train, *splits.held_out]
    if len(tasks) < FEWEST_TASKS:
        remedy = f"Give at least {FEWEST_TASKS} training and held-out tasks together."
        raise OptionError("tasks", len(tasks), remedy)
    for name in ("train", "held_out"):
        count = len(getattr(splits, name))
        if count < 2:  # noqa: PLR2004 - one item shows no spread
            raise OptionError(f"tasks.{name}", count, "Give at least 2 tasks on each side.")


def _check_target(domain: Domain, options: RunOptions) -> None:
    target, (low, high) = options.target_reward, domain.reward_range
    if target is not None and not low <= target <= high:
        remedy = f"Give a reward within {domain.name}'s range, {low:g} to {high:g}."
        raise OptionError("target_reward", target, remedy)


def _check_limits(options: RunOptions) -> None:
    if not options.limits:
        raise OptionError("limits", None, f"Nothing would end this run. {limits_remedy()}")


def check_clock(options: RunOptions, durations: Mapping[str, Any]) -> None:
    """
    Refuse a simulated run that only time would end while nothing takes any.
    """
    timeless = options.driver == "simulated" and not (options.durations or durations)
    if timeless and set(options.limits) == {"max_seconds"}:
        remedy = "Nothing takes time in this simulated run: give durations, or max_rollouts."
        raise OptionError("max_seconds", options.max_seconds, remedy)


def _barrier(options: RunOptions) -> dict[str, Any]:
    return {
        "n_workers": options.at_once,
        "round_size": options.window,
        "refresh_interval": options.refresh_interval,
    }


def _lag_gate(options: RunOptions, parts: Parts) -> dict[str, Any]:
    return {
        "n_workers": options.n_workers,
        "async_ratio": options.async_ratio,
        "batch": parts.aggregator.batch,
        "most_batch": parts.most_batch,
        "max_wait_rounds": options.max_wait_rounds,
        "resync": options.resync,
    }


def make_blueprint(
    domain: Domain, config: MachineConfig, options: RunOptions, parts: Parts
) -> Blueprint:
    """
    What the machine is built from.
    """
    check_learning(options, parts.aggregator, domain)
    learns_from = getattr(parts.aggregator, "learns_from", "proposals")
    if learns_from == "outcomes":
        gate, given = "reservations", reservations(options, parts.aggregator, parts.policy)
        # A group's age is judged as its step begins; it may be used by the step's last update.
        alpha = given["max_staleness"] - given["updates_per_step"] + 1
    else:
        gate = "barrier" if options.mode == "sync" else "lag"
        alpha = options.least_alpha if options.alpha is None else options.alpha
        given = _barrier(options) if options.mode == "sync" else _lag_gate(options, parts)
    return Blueprint(
        config=attrs.evolve(
            config,
            max_steps=getattr(parts.aggregator, "max_steps", 1),
            learns_from=learns_from,
            group_size=getattr(parts.aggregator, "group_size", 1),
            least_members=options.least_members if learns_from == "outcomes" else None,
        ),
        gate=gate,
        gate_options=given,
        alpha=alpha,
        stall_patience=options.stall_patience,
        carry_limit=options.carry_limit,
        names={**parts.names, "domain": domain.name, "rebase": domain.name, "train": domain.name},
    )
