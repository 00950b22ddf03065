"""
The hooks that a plug-in can implement.

A hook for a kind returns a mapping from the name that people type to a factory, or to a lazy
``"module:attribute"`` string that is imported when the name is asked for; a factory (a class or a
function) is called with the run's options as keyword arguments.  An event hook receives one object,
so that fields can be added, and is called only in runs that name a part of its distribution or list
it as an observer.  Implementations are plain functions without default values, called one at a
time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import pluggy

from headway.contracts import HeadCommitted, RunFinished, RunStarted, SweepDone

hookspec: Final[pluggy.HookspecMarker] = pluggy.HookspecMarker("headway")
hookimpl: Final[pluggy.HookimplMarker] = pluggy.HookimplMarker("headway")

Offers: TypeAlias = Mapping[str, Any]
"""Name to factory, or to ``"module:attribute"``."""


@hookspec
def headway_aggregators() -> Offers:  # type: ignore[empty-body]  # never called
    """
    Optimizers: what turns evidence cards into commits.

    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_aggregators(self):
    ...         return {"greedy": "shop.search:Greedy"}
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> registry.names("aggregator")
    ('best-of-n', 'greedy', 'standard')
    """


@hookspec
def headway_staleness_policies() -> Offers:  # type: ignore[empty-body]  # never called
    """
    What to do with a card whose base is behind the head.

    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_staleness_policies(self):
    ...         return {"patient": "shop.lag:Patient"}
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> "patient" in registry.names("staleness policy")
    True
    """


@hookspec
def headway_duration_estimators() -> Offers:  # type: ignore[empty-body]  # never called
    """
    Predictions of how long work takes.

    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_duration_estimators(self):
    ...         return {"median": "shop.timing:Median"}
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> registry.names("duration estimator")
    ('ewma', 'linear', 'median')
    """


@hookspec
def headway_ledgers() -> Offers:  # type: ignore[empty-body]  # never called
    """
    Where versions are stored; a factory is called with ``initial``, the first artifact.

    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_ledgers(self):
    ...         return {"paper": "shop.paper:PaperLedger"}
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> registry.names("ledger")
    ('memory', 'paper', 'sqlite')
    """


@hookspec
def headway_executors() -> Offers:  # type: ignore[empty-body]  # never called
    """
    Where one piece of work runs.

    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_executors(self):
    ...         return {"batch": "shop.batch:BatchExecutor"}
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> registry.names("executor")
    ('batch', 'process', 'thread')
    """


@hookspec
def headway_domains() -> Offers:  # type: ignore[empty-body]  # never called
    """
    What is improved, on which tasks, and how.

    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_domains(self):
    ...         return {"haiku": "shop.haiku:Haiku"}
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> registry.names("domain")
    ('haiku',)
    """


@hookspec
def headway_samplers() -> Offers:  # type: ignore[empty-body]  # never called
    """
    Which task the next ticket rolls out.

    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_samplers(self):
    ...         return {"hardest": "shop.order:HardestFirst"}
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> registry.names("sampler")
    ('data', 'ensemble', 'hardest', 'shuffled', 'unsolved')
    """


@hookspec
def headway_conflicts() -> Offers:  # type: ignore[empty-body]  # never called
    """
    Which contradictory cards stay.

    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_conflicts(self):
    ...         return {"newest": "shop.merging:Newest"}
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> registry.names("conflict")
    ('better-delta', 'newest', 'shared-tasks')
    """


@hookspec
def headway_fusions() -> Offers:  # type: ignore[empty-body]  # never called
    """
    Which cards are tried together.

    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_fusions(self):
    ...         return {"pairs": "shop.merging:Pairs"}
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> registry.names("fusion")
    ('pairs', 'union')
    """


@hookspec
def headway_acceptances() -> Offers:  # type: ignore[empty-body]  # never called
    """
    When a candidate is known to be better than the head.

    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_acceptances(self):
    ...         return {"bayes": "shop.merging:Bayes"}
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> registry.names("acceptance")
    ('bayes', 'sequential')
    """


@hookspec
def headway_promotions() -> Offers:  # type: ignore[empty-body]  # never called
    """
    When a committed version becomes the stable one.

    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_promotions(self):
    ...         return {"at-once": "shop.merging:AtOnce"}
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> registry.names("promotion")
    ('at-once', 'confirmed')
    """


@hookspec
def headway_observers() -> Offers:  # type: ignore[empty-body]  # never called
    """
    Functions that are told what happens, chosen by name; a factory makes each.

    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_observers(self):
    ...         return {"bell": "shop.bell:Bell"}
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> registry.names("observer")
    ('bell',)
    """


@hookspec
def headway_run_started(event: RunStarted) -> None:
    """
    A run began.

    >>> from headway.contracts import RunStarted
    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_run_started(self, event):
    ...         print(event.run)
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> event = RunStarted(
    ...     run="monday", mode="async", driver="serial", seed=7, choices={}, notes=(), limits={}
    ... )
    >>> registry.hooks_for(["shop"]).notify(event)
    monday
    ()
    """


@hookspec
def headway_sweep_done(event: SweepDone) -> None:
    """
    A sweep's cards have been judged, and its step has ended.

    >>> from headway.contracts import SweepDone
    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_sweep_done(self, event):
    ...         print(event.outcome)
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> event = SweepDone(
    ...     now=1.5, sweep=1, outcome="committed", considered=2, committed=2, stale=0, version=1,
    ...     reward=0.5, rollouts=2, calls=6
    ... )
    >>> registry.hooks_for(["shop"]).notify(event)
    committed
    ()
    """


@hookspec
def headway_committed(event: HeadCommitted) -> None:
    """
    The head moved to a version that the ledger has acknowledged.

    >>> from headway.contracts import Artifact, HeadCommitted, Snapshot
    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_committed(self, event):
    ...         print(event.head.version)
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> event = HeadCommitted(now=1.5, head=Snapshot(3, Artifact("x")), cards=(0, 1))
    >>> registry.hooks_for(["shop"]).notify(event)
    3
    ()
    """


@hookspec
def headway_run_finished(event: RunFinished) -> None:
    """
    A run ended.

    >>> from headway.contracts import RunFinished
    >>> from headway.registry import Registry, hookimpl
    >>> class Shop:
    ...     @hookimpl
    ...     def headway_run_finished(self, event):
    ...         print(event.stop_reason)
    >>> registry = Registry()
    >>> registry.register(Shop(), distribution="shop")
    >>> event = RunFinished(now=9.0, stop_reason="target", version=3, digest="")
    >>> registry.hooks_for(["shop"]).notify(event)
    target
    ()
    """
