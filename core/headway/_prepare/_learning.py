"""
What a run of an optimizer that learns from outcomes is built from.
"""

from __future__ import annotations

from typing import Any

from headway._checks import check_choice, check_count, check_flag
from headway.contracts import Domain
from headway.errors import OptionError
from headway.machine import LEARNS_FROM
from headway.options import RunOptions


def reservations(options: RunOptions, aggregator: Any, policy: Any) -> dict[str, Any]:
    """
    What the gate of such a run is made with: in sync mode nothing may be stale.

    Raises:
        OptionError: two options can't be used together.
    """
    sync, updates = options.mode == "sync", getattr(aggregator, "updates_per_step", 1)
    return {
        "groups_per_step": aggregator.batch,
        # What the later updates of a step use is as old as the first ones made it, in sync mode too.
        "max_staleness": updates - 1 if sync else options.staleness,
        "admit_ahead": 0 if sync else options.admit_ahead,
        "oversample_factor": 1.0 if sync else options.oversample_factor,
        "batch_order": options.batch_order,
        "bases": options.bases,
        "updates_per_step": updates,
        "rule": getattr(policy, "rule", "wait"),
        "window": getattr(policy, "window", 0),
        "early": getattr(aggregator, "gathers", False),
        "groups": _most_groups(options, aggregator),
    }


def _most_groups(options: RunOptions, aggregator: Any) -> int | None:
    size: int = getattr(aggregator, "group_size", 1)
    if options.max_rollouts is not None and options.max_rollouts < size:
        remedy = f"A group takes {size} rollouts; give at least so many."
        raise OptionError("max_rollouts", options.max_rollouts, remedy)
    bounds = [
        None if options.updates is None else options.updates * aggregator.batch,
        None if options.max_rollouts is None else options.max_rollouts // size,
    ]
    return min((bound for bound in bounds if bound is not None), default=None)


def check_learning(options: RunOptions, aggregator: Any, domain: Domain) -> None:
    """
    Refuse a domain that has nothing for this kind of optimizer, and options that it has no use for.

    Args:
        options: The run's options.
        aggregator: The optimizer.
        domain: What it is to improve; its ``defaults`` are for optimizers of either kind.

    Raises:
        OptionError: there is one, or the aggregator declares what can't be.
    """
    learns_from = getattr(aggregator, "learns_from", "proposals")
    check_choice("learns_from", learns_from, LEARNS_FROM)
    if learns_from == "proposals":
        if options.updates is not None:
            remedy = (
                "The aggregator learns from proposals; give max_rollouts, or rounds in sync mode."
            )
            raise OptionError("updates", options.updates, remedy)
        _check_proposes(domain)
        return
    _check_declared(aggregator)
    if options.least_members is not None:
        size = getattr(aggregator, "group_size", 1)
        check_count("least_members", options.least_members, 1, size)
    bears = getattr(aggregator, "max_lag", None)
    if bears is not None and options.staleness > bears:
        remedy = f'The aggregator bears at most {bears}; with 0, mode="sync" is the same.'
        raise OptionError("max_staleness", options.staleness, remedy)
    if options.alpha not in (None, domain.defaults.get("alpha")):
        remedy = "The aggregator learns from outcomes; max_staleness says how old they may be."
        raise OptionError("alpha", options.alpha, remedy)
    if options.rounds is not None:
        remedy = "The aggregator learns from outcomes, batch by batch; give updates."
        raise OptionError("rounds", options.rounds, remedy)


def _check_proposes(domain: Domain) -> None:
    for method in ("propose", "apply"):
        if getattr(type(domain), method) is getattr(Domain, method):
            remedy = (
                f"It has no method {method}, and the aggregator learns from proposals: give it propose"
                " and apply, or take an aggregator that learns from outcomes."
            )
            raise OptionError("domain", domain.name, remedy)


def _check_declared(aggregator: Any) -> None:
    """
    Refuse what can't be, by the name that its author gave it.
    """
    check_count("batch", aggregator.batch, 1)
    check_count("group_size", getattr(aggregator, "group_size", 1), 1)
    check_count("updates_per_step", getattr(aggregator, "updates_per_step", 1), 1)
    check_flag("gathers", getattr(aggregator, "gathers", False))
    if getattr(aggregator, "max_steps", 1) != 1:
        remedy = "An optimizer that learns from outcomes takes one step at a time."
        raise OptionError("max_steps", aggregator.max_steps, remedy)
    if getattr(aggregator, "max_lag", None) is not None:
        check_count("max_lag", aggregator.max_lag, 0)
