"""
From the keywords of ``evolve`` to a program and the options of a run.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import attrs

from headway._checks import check_count
from headway._warning import warn_caller
from headway.contracts import FaultSeen, Notice, Observer, SweepDone
from headway.errors import OptionError
from headway.evolve._arguments import (
    FRONT,
    OWN_DEFAULTS,
    PROGRAM,
    RENAMED,
    arguments,
    run_defaults,
)
from headway.evolve._calls import UserCall
from headway.evolve._old_style import OldStyle, is_old_style, made_by
from headway.evolve._program import Program
from headway.evolve._repository import with_strategy
from headway.options import check_names, make_options
from headway.registry import Registry
from headway.run import usable_registry

DEFAULT_SECONDS = 20.0
"""Seconds of an asynchronous run that nothing else bounds."""

WORK_BUDGETS = ("max_rollouts", "max_calls", "max_tokens", "max_cost")
"""What, once given, leaves an asynchronous run without a bound on its time."""


@attrs.frozen(kw_only=True)
class Plan:
    """
    What ``evolve`` hands to ``run``.
    """

    program: Program
    options: Mapping[str, Any]
    registry: Registry
    observers: tuple[Observer | str, ...]
    run_dir: str | os.PathLike[str] | None


def plan(tasks: Iterable[Any], reward: Callable[..., Any], given: Mapping[str, Any]) -> Plan:
    """
    Check the keywords of ``evolve`` and put together what they stand for; nothing is run.

    Raises:
        OptionError: something cannot be used, or two things cannot be used together.
    """
    for option, name in RENAMED.items():
        if option in given:
            raise OptionError(option, given[option], f"Here it is called {name}.")
    check_names(given, arguments(asynchronous=True), "options of evolve")
    registry = usable_registry(given.get("registry"))
    given = with_strategy(given, registry)
    program = Program(
        tasks, reward, defaults={}, **{k: v for k, v in given.items() if k in _FOR_PROGRAM}
    )
    options, notes = _options(given)
    observers = _observers(given)
    options["aggregator"] = _aggregator(given, options, registry)
    make_options(options, {})  # what cannot be used is refused before anything is warned of
    for note in notes:
        warn_caller(note)
    return Plan(
        program=program,
        options=options,
        registry=registry,
        observers=observers,
        run_dir=given.get("run_dir"),
    )


_FOR_PROGRAM = frozenset(PROGRAM)


def _options(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """
    Options of a run, and what the caller is to be warned of.
    """
    own = {here: there for there, here in RENAMED.items()}
    known = run_defaults()
    options = {own.get(name, name): value for name, value in given.items() if name in known}
    options |= _mode(given)
    driver = given.get("driver")
    options["driver"] = "threads" if driver is None else driver
    rollouts = _same("max_rollouts", "max_iters", given)
    if rollouts is not None:
        options["max_rollouts"] = rollouts
    bound = _bound_async if options["mode"] == "async" else _bound_sync
    notes = [*_parallel(options), *bound(options)]
    if options.get("max_seconds") == math.inf:
        options["max_seconds"] = None
    return options, notes


def _mode(given: Mapping[str, Any]) -> dict[str, Any]:
    asynchronous, mode = given.get("asynchronous"), given.get("mode")
    if asynchronous is not None and not isinstance(asynchronous, bool):
        raise OptionError("asynchronous", asynchronous, "Give true or false.")
    if asynchronous is None:
        return {"mode": OWN_DEFAULTS["mode"] if mode is None else mode}
    asked = "async" if asynchronous else "sync"
    if mode is not None and mode != asked:
        remedy = f"asynchronous={asynchronous} asks for another mode: leave one of them out."
        raise OptionError("mode", mode, remedy)
    return {"mode": asked}


def _same(option: str, other: str, given: Mapping[str, Any]) -> Any:
    """
    The value of an option that has two names.
    """
    first, second = given.get(option), given.get(other)
    if first is not None and second is not None and first != second:
        remedy = f"It is another name of {option}, which is {first!r}: give one of them."
        raise OptionError(other, second, remedy)
    return second if first is None else first


def _parallel(options: dict[str, Any]) -> list[str]:
    """
    Take an object under ``parallel`` for a sampler.
    """
    if isinstance(options.get("parallel"), str | None):
        return []
    sampler = options.pop("parallel")
    if options["mode"] == "async":
        who = type(sampler).__qualname__
        return [f"parallel={who} has no meaning in async mode and is ignored; sampler has one"]
    if "sampler" in options:
        raise OptionError("parallel", sampler, "sampler is given as well: leave one of them out.")
    options["sampler"] = sampler
    return []


def _bound_sync(options: dict[str, Any]) -> list[str]:
    if options.get("max_rollouts") is None:
        options.setdefault("rounds", run_defaults()["rounds"])
    return []


def _bound_async(options: dict[str, Any]) -> list[str]:
    bounded = any(options.get(name) is not None for name in WORK_BUDGETS)
    defaults, notes = run_defaults(), list[str]()
    rounds = options.pop("rounds", defaults["rounds"])
    if options.get("max_rollouts") is None and rounds is not None:
        workers = options.get("n_workers", defaults["n_workers"])
        check_count("rounds", rounds, 1)
        check_count("n_workers", workers, 1)
        options["max_rollouts"] = rounds * workers
        notes.append(
            f"rounds={rounds} becomes max_rollouts={rounds * workers} without a round barrier: "
            f"{rounds} rounds of {workers} workers; give max_rollouts to choose another number"
        )
    if options.get("max_seconds") is None and not bounded:
        options["max_seconds"] = DEFAULT_SECONDS
        notes.append(
            f"max_seconds=None becomes {DEFAULT_SECONDS} without a round barrier; give max_seconds, "
            f"math.inf for no bound, or one of {', '.join(WORK_BUDGETS)}"
        )
    return notes


def _aggregator(given: Mapping[str, Any], options: dict[str, Any], registry: Registry) -> Any:
    aggregator, factory = given.get("aggregator"), given.get("aggregator_factory")
    if aggregator is not None and factory is not None:
        remedy = "aggregator is given as well: leave one of them out."
        raise OptionError("aggregator_factory", factory, remedy)
    if factory is not None:
        options["policy"] = registry.create(
            "staleness policy", options.get("policy", run_defaults()["staleness_policy"])
        )
        config = make_options({k: v for k, v in options.items() if k != "aggregator"}, {})
        return made_by(factory, config, options["policy"])
    if aggregator is None:
        # Whoever chooses the aggregator chooses how many of its steps race.
        options.setdefault("max_steps", OWN_DEFAULTS["max_steps"])
        return run_defaults()["aggregator"]
    return OldStyle(aggregator) if is_old_style(aggregator) else aggregator


def _observers(given: Mapping[str, Any]) -> tuple[Observer | str, ...]:
    asked = given.get("observers", FRONT["observers"])
    if isinstance(asked, str) or not isinstance(asked, Iterable):
        raise OptionError("observers", asked, "Give a list of observers or of their names.")
    on_round = given.get("on_round")
    if on_round is not None and UserCall.checked("on_round", on_round, ("sweep",), ()).is_async:
        remedy = "It is told, and nobody awaits it: give a plain function."
        raise OptionError("on_round", on_round, remedy)
    listed = tuple(cast("Iterable[Observer | str]", asked))
    told = () if on_round is None else (_EachRound(on_round),)
    return (_FirstInvalid(), *told, *listed)


@attrs.define(eq=False)
class _EachRound:
    """
    Tells a function every sweep, which is a round where there are rounds.
    """

    function: Callable[[SweepDone], Any]

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, SweepDone):
            self.function(notice)


@attrs.define(eq=False)
class _FirstInvalid:
    """
    Warns of the first value that was no reward, outcome or change.
    """

    warned: bool = False

    def __call__(self, notice: Notice) -> None:
        if self.warned or not isinstance(notice, FaultSeen):
            return
        fault = notice.fault
        if fault.type == "InvalidValue":
            self.warned = True
            message = (
                f"{fault.where} of task {fault.task!r}: {fault.message}; it counts as invalid. "
                "Later ones are counted in result.failures and not warned of."
            )
            warnings.warn(message, RuntimeWarning, stacklevel=1)
