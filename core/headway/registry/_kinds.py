"""
The kinds of parts, the hooks that offer them, and what a part of each kind must be able to do.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from headway.contracts import (
    Acceptance,
    Aggregator,
    Conflict,
    Domain,
    DurationEstimator,
    Executor,
    Fusion,
    HeadCommitted,
    Ledger,
    Promotion,
    RunFinished,
    RunStarted,
    Sampler,
    StalenessPolicy,
    SweepDone,
)
from headway.errors import HeadwayError, UnknownNameError

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "aggregator": "headway_aggregators",
        "staleness policy": "headway_staleness_policies",
        "duration estimator": "headway_duration_estimators",
        "ledger": "headway_ledgers",
        "executor": "headway_executors",
        "domain": "headway_domains",
        "sampler": "headway_samplers",
        "conflict": "headway_conflicts",
        "fusion": "headway_fusions",
        "acceptance": "headway_acceptances",
        "promotion": "headway_promotions",
        "observer": "headway_observers",
    }
)
"""Every kind, as people see it, and the hook that offers its parts."""

HOOK_KINDS: Mapping[str, str] = MappingProxyType({hook: kind for kind, hook in KINDS.items()})
"""The same the other way round."""

EVENT_HOOKS: Mapping[type, str] = MappingProxyType(
    {
        RunStarted: "headway_run_started",
        SweepDone: "headway_sweep_done",
        HeadCommitted: "headway_committed",
        RunFinished: "headway_run_finished",
    }
)
"""Every notice that has an event hook, and that hook."""

_CONTRACTS: Mapping[str, Any] = MappingProxyType(
    {
        "aggregator": Aggregator,
        "staleness policy": StalenessPolicy,
        "duration estimator": DurationEstimator,
        "ledger": Ledger,
        "executor": Executor,
        "domain": Domain,
        "sampler": Sampler,
        "conflict": Conflict,
        "fusion": Fusion,
        "acceptance": Acceptance,
        "promotion": Promotion,
    }
)


def check_kind(kind: str) -> None:
    """
    Refuse what is no kind.

    Raises:
        UnknownNameError: it is none of ``KINDS``.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind", kind, tuple(KINDS))


def check_part(kind: str, part: object, who: str, blame: type[HeadwayError]) -> None:
    """
    Refuse a part that lacks what its kind must be able to do.

    Args:
        kind: One of ``KINDS``.
        part: What is to be used.
        who: Where it comes from, for the message.
        blame: The error to raise: whose fault it is.
    """
    if inspect.isclass(part):
        raise blame(f"{who} is the class {part.__qualname__}: give an instance of it")
    contract = _CONTRACTS.get(kind)
    if contract is None:
        if not callable(part):
            raise blame(f"{who} is {part!r}, which cannot be called: an {kind} is a function")
    elif not isinstance(part, contract):
        raise blame(f"{who} is {part!r}, which is no {contract.__name__}{_lacking(part, contract)}")


def _lacking(part: object, contract: type) -> str:
    missing = [n for n in vars(contract) if not n.startswith("_") and not hasattr(part, n)]
    return f": it lacks {', '.join(sorted(missing))}" if missing else f": derive it from {contract}"
