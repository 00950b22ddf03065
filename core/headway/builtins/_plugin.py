"""
The names of the built-in parts, offered through the same hooks as everybody's plug-ins.

Light: a part's module is imported when the part is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping

from headway.registry import hookimpl


@hookimpl
def headway_aggregators() -> Mapping[str, str]:
    """
    The standard aggregator, and the control that it is to be held against.
    """
    return {
        "best-of-n": "headway.builtins._best_of_n:BestOfN",
        "standard": "headway.builtins.standard:StandardAggregator",
    }


@hookimpl
def headway_staleness_policies() -> Mapping[str, str]:
    """
    What to do with a card whose base is behind the head.
    """
    return {
        "full": "headway.builtins._policies:Full",
        "guarded": "headway.builtins._policies:Guarded",
        "reflective": "headway.builtins._policies:Reflective",
        "wait": "headway.builtins._policies:Wait",
        "drop": "headway.builtins._policies:Drop",
        "mask": "headway.builtins._policies:Mask",
        "soft": "headway.builtins._policies:Soft",
        "window": "headway.builtins._policies:Window",
    }


@hookimpl
def headway_duration_estimators() -> Mapping[str, str]:
    """
    Predictions of how long work takes.
    """
    return {
        "linear": "headway.builtins._estimators:Linear",
        "ewma": "headway.builtins._estimators:Ewma",
    }


@hookimpl
def headway_ledgers() -> Mapping[str, str]:
    """
    The ledger of a library call, and that of a run directory.
    """
    return {
        "memory": "headway.builtins._memory_ledger:MemoryLedger",
        "sqlite": "headway.builtins.sqlite:SqliteLedger",
    }


@hookimpl
def headway_executors() -> Mapping[str, str]:
    """
    Work on the thread that asks, or in processes.
    """
    return {
        "process": "headway.builtins._process_executor:ProcessExecutor",
        "thread": "headway.builtins._executor:ThreadExecutor",
    }


@hookimpl
def headway_samplers() -> Mapping[str, str]:
    """
    Every task once an epoch, or every one that is not known to be solved; and two that know what a
    round is.
    """
    return {
        "shuffled": "headway.builtins._sampler:ShuffledEpochs",
        "unsolved": "headway.builtins._sampler:UnsolvedEpochs",
        "data": "headway.builtins._rounds:DataParallel",
        "ensemble": "headway.builtins._rounds:Ensemble",
    }


@hookimpl
def headway_conflicts() -> Mapping[str, str]:
    """
    Which contradictory cards stay.
    """
    return {
        "better-delta": "headway.builtins.standard:BetterDelta",
        "shared-tasks": "headway.builtins.standard:SharedTasks",
    }


@hookimpl
def headway_fusions() -> Mapping[str, str]:
    """
    Which cards are tried together.
    """
    return {"union": "headway.builtins.standard:Union"}


@hookimpl
def headway_acceptances() -> Mapping[str, str]:
    """
    When a candidate is known to be better.
    """
    return {"sequential": "headway.builtins.standard:Sequential"}


@hookimpl
def headway_promotions() -> Mapping[str, str]:
    """
    When a committed version becomes the stable one.
    """
    return {"confirmed": "headway.builtins.standard:Confirmed"}
