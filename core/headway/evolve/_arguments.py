"""
What ``evolve`` and its kin take: one list for the type checkers, one for those who look.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypedDict

import attrs

from headway.contracts import Json, Observer, SweepDone
from headway.durations import Law
from headway.evolve._options import ProgramOptions
from headway.options import (
    Bases,
    BatchOrder,
    Bind,
    Driver,
    LostGroups,
    Mode,
    Resync,
    RunOptions,
    Straggler,
)
from headway.registry import Registry

RENAMED: Mapping[str, str] = MappingProxyType(
    {"policy": "staleness_policy", "estimator": "duration_estimator"}
)
"""Options of a run that have another name here."""

PROGRAM: Mapping[str, Any] = MappingProxyType(
    {
        "agent": None,
        "run": None,
        "propose": None,
        "strategy": None,
        "test_tasks": None,
        "oracle_tasks": None,
        "initial_state": None,
    }
    | {field.name: field.default for field in attrs.fields(ProgramOptions)}
)
"""What makes the ``Program``, with the defaults."""

FRONT: Mapping[str, Any] = MappingProxyType(
    {
        "max_iters": None,
        "aggregator_factory": None,
        "on_round": None,
        "observers": (),
        "registry": None,
        "run_dir": None,
    }
)
"""What only the entry points know, with the defaults."""

OWN_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {"mode": "sync", "driver": None, "rounds": 15, "max_steps": 2}
)
"""Options of a run that have another default here."""


class EvolveArguments(TypedDict, total=False):
    """
    Every keyword that ``evolve``, ``async_evolve`` and ``aevolve`` take.
    """

    agent: Any
    run: Callable[..., Any] | None
    propose: Callable[..., Any] | None
    strategy: Any
    test_tasks: Iterable[Any] | None
    oracle_tasks: Iterable[Any] | None
    initial_state: Json
    held_out_frac: float
    shuffle: bool
    seed: int
    artifact_id: str
    asynchronous: bool
    mode: Mode
    driver: Driver | None
    durations: Mapping[str, Law] | None
    n_workers: int
    async_ratio: int
    eval_concurrency: int
    slots: int | None
    staleness_policy: Any
    alpha: int | None
    resync: Resync
    bind: Bind
    aggregator: Any
    batch_size: int
    max_steps: int
    accept_level: float
    max_draws: int
    promote_after: int
    oracle_budget: int
    blast_radius: float
    conflict: Any
    fusion: Any
    acceptance: Any
    promotion: Any
    aggregator_factory: Callable[..., Any] | None
    sampler: Any
    parallel: Any
    executor: Any
    ledger: Any
    repo_path: str | os.PathLike[str] | None
    duration_estimator: Any
    max_wait_rounds: int
    carry_limit: int
    max_rollouts: int | None
    max_iters: int | None
    max_calls: int | None
    max_tokens: int | None
    max_cost: float | None
    tokens_per_call: int | None
    cost_per_call: float | None
    max_seconds: float | None
    target_reward: float | None
    patience: int | None
    deterministic: bool | None
    self_verify: bool
    stall_patience: int
    shutdown_grace: float
    straggler: Straggler
    straggler_factor: float
    max_worker_errors: int
    max_train_errors: int
    max_proposal_bytes: int
    rollout_timeout: float | None
    eval_timeout: float | None
    train_timeout: float | None
    final_draws: int
    max_staleness: int
    admit_ahead: int
    oversample_factor: float
    batch_order: BatchOrder
    bases: Bases
    member_attempts: int
    least_members: int | None
    lost_groups: LostGroups
    mask_beyond: int | None
    stall_alarm: float
    updates: int | None
    rounds: int | None
    round_size: int | None
    max_concurrency: int | None
    round_timeout: float | None
    refresh_interval: int
    validate: bool
    on_round: Callable[[SweepDone], None] | None
    observers: Iterable[Observer | str]
    registry: Registry | None
    run_dir: str | os.PathLike[str] | None


def run_defaults() -> dict[str, Any]:
    """
    The options of a run under the names that they have here, with the defaults.
    """
    fields = {field.name: field.default for field in attrs.fields(RunOptions)}
    named = {RENAMED.get(name, name): default for name, default in fields.items()}
    return {**named, **OWN_DEFAULTS}


def arguments(*, asynchronous: bool) -> dict[str, Any]:
    """
    Every keyword with its default.

    Args:
        asynchronous: Whether the function has a choice of the mode.
    """
    choice = {"asynchronous": False} if asynchronous else {}
    known = {**PROGRAM, **choice, **run_defaults(), **FRONT}
    if not asynchronous:
        del known["mode"]
    return known


def signature(*, asynchronous: bool) -> inspect.Signature:
    """
    What ``help`` and an editor show of an entry point.
    """
    kinds = inspect.Parameter
    positional = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in ("tasks", "reward")]
    keywords = [
        kinds(name, kinds.KEYWORD_ONLY, default=default)
        for name, default in arguments(asynchronous=asynchronous).items()
    ]
    return inspect.Signature([*positional, *keywords])
