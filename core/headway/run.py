"""
``run``: from a domain and options to a result.

``arun`` is the same, awaited.  Both look up the parts, build the machine and its gate, and hand
them to a driver.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from headway._log import log_observer
from headway._report import Recorder, build_result
from headway.backpressure import Backpressure
from headway.contracts import (
    Aggregator,
    Artifact,
    Domain,
    Observer,
    RunStarted,
    Splits,
    canonical_json,
)
from headway.drivers import (
    DRIVE,
    Drive,
    Engine,
    Interrupt,
    StepHost,
    Telling,
    Workbench,
    catching_signals,
)
from headway.errors import ContractError, OptionError, UsageError
from headway.gate import Barrier, Gate, LagGate
from headway.journal import Journal
from headway.machine import Machine, MachineConfig, PluginLookups, Started
from headway.options import PARTS, RunOptions, limits_remedy, make_options
from headway.registry import Choice, Registry
from headway.result import Result

if TYPE_CHECKING:  # importing it costs, and most runs need no loop
    from asyncio import AbstractEventLoop

FEW_HELD_OUT = 8
"""Fewer held-out tasks than this are worth a warning."""

FEWEST_TASKS = 4
FEW_PROPOSALS = 3


@attrs.frozen(kw_only=True)
class Prepared:
    """
    A run that is ready to start: everything was looked up and checked.
    """

    options: RunOptions
    splits: Splits
    engine: Engine
    started: Started
    recorder: Recorder
    durations: Mapping[str, Any]


def run(
    domain: Domain | str,
    *,
    registry: Registry | None = None,
    observers: Iterable[Observer | str] = (),
    journal: Journal | None = None,
    **options: Any,
) -> Result:
    """
    Improve a domain's artifact until a limit, a target or the end of what can be found.

    Args:
        domain: What is improved; a name is looked up and made without options.
        registry: Where names are looked up; by default the built-in parts and installed plug-ins.
        observers: Told every notice, on one thread at a time; a name is looked up.
        journal: Keeps every event, when given.
        options: See ``RunOptions``; the domain's ``defaults`` stand where none is given.

    Raises:
        UsageError: an option, a name or the domain's tasks can't be used; nothing was run.
        PluginError: a plug-in that was asked for can't be loaded.
    """
    prepared = _prepared(domain, registry, observers, journal, options)
    with catching_signals() as interrupt:
        return finish(prepared, interrupt)


async def arun(
    domain: Domain | str,
    *,
    registry: Registry | None = None,
    observers: Iterable[Observer | str] = (),
    journal: Journal | None = None,
    **options: Any,
) -> Result:
    """
    As ``run``, for a program that has an event loop, which goes on meanwhile.

    The domain's coroutines run on the caller's loop, under ``threads`` and ``asyncio``.  Cancelling
    it interrupts the run: no call begins any more, and ``CancelledError`` is raised once it ended.

    Raises:
        UsageError: an option, a name or the domain's tasks can't be used; nothing was run.
        PluginError: a plug-in that was asked for can't be loaded.
        CancelledError: the caller was cancelled.
    """
    from headway.drivers.awaited import on_a_thread

    prepared = _prepared(domain, registry, observers, journal, options)
    interrupt = Interrupt()
    interrupt.begin()
    return await on_a_thread(partial(finish, prepared, interrupt), interrupt)


def _prepared(
    domain: Domain | str,
    registry: Registry | None,
    observers: Iterable[Observer | str],
    journal: Journal | None,
    options: Mapping[str, Any],
) -> Prepared:
    parts = registry or Registry.discover()
    made: Domain = parts.create("domain", domain)
    prepared = prepare(
        made,
        make_options(options, made.defaults),
        registry=parts,
        observers=observers,
        journal=journal,
        domain_name=domain if isinstance(domain, str) else None,
    )
    for note in prepared.engine.opening.notes:
        warnings.warn(note, RuntimeWarning, stacklevel=3)
    return prepared


def prepare(
    domain: Domain,
    options: RunOptions,
    *,
    registry: Registry,
    observers: Iterable[Observer | str] = (),
    journal: Journal | None = None,
    domain_name: str | None = None,
) -> Prepared:
    """
    Look up and check everything that a run needs; run nothing.

    Args:
        domain: What is improved.
        options: How.
        registry: Where names are looked up; frozen from now on.
        observers: Told every notice; a name is looked up.
        journal: Keeps every event, when given.
        domain_name: The name that ``registry`` made the domain for, when it did.

    Raises:
        UsageError: an option, a name or the domain's tasks can't be used.
        PluginError: a plug-in that was asked for can't be loaded.
    """
    chosen = registry.describe("domain", domain_name or domain)
    if options.driver == "simulated":
        domain = domain.virtual()
    splits, initial, durations = _ask_domain(domain)
    config = _config(domain, splits, options)
    _check_clock(options, durations)
    parts = _Parts.look_up(registry, options, initial, chosen)
    config = attrs.evolve(config, max_steps=getattr(parts.aggregator, "max_steps", 1))
    notes = _notes(options, config)
    opening = RunStarted(
        run=domain.name,
        mode=options.mode,
        driver=options.driver,
        seed=options.seed,
        choices=parts.choices,
        notes=notes,
        limits=options.limits,
    )
    recorder = Recorder()
    telling = _telling(domain.name, parts, registry, observers)
    return Prepared(
        options=options,
        splits=splits,
        engine=_engine(domain, config, options, parts, splits, opening, recorder, telling, journal),
        started=Started(0.0, parts.ledger.snapshot()),
        recorder=recorder,
        durations=durations if options.durations is None else options.durations,
    )


def _ask_domain(domain: Domain) -> tuple[Splits, Artifact, Mapping[str, Any]]:
    try:
        splits, state, durations = domain.tasks(), domain.initial(), domain.durations()
        canonical_json(state)  # what is no JSON value is refused here, not in the middle of a run
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # user code may raise anything
        message = f"the domain {domain.name!r} cannot say its tasks and initial state: {error!r}"
        raise ContractError(message) from error
    return splits, Artifact(state), durations


def finish(
    prepared: Prepared, interrupt: Interrupt, home: AbstractEventLoop | None = None
) -> Result:
    """
    Run what was prepared and report it.

    Args:
        prepared: What ``prepare`` gave; used once.
        interrupt: Ends the run early when it is asked to.
        home: The running loop of whoever awaits the run, for its coroutines.
    """
    interrupt.begin()
    engine, options = prepared.engine, prepared.options
    drive = Drive(
        seed=options.seed,
        durations=prepared.durations,
        interrupt=interrupt,
        home=home,
    )
    try:
        DRIVE[options.driver](engine, prepared.started, drive)
    except BaseException:
        with suppress(Exception):  # what the run raised is told, not what could not be closed
            engine.bench.close()
        raise
    finally:
        interrupt.end()
    return build_result(engine, prepared.recorder)


@attrs.frozen(kw_only=True)
class _Parts:
    """
    The plug-ins of one run.
    """

    aggregator: Any
    policy: Any
    sampler: Any
    estimator: Any
    executor: Any
    ledger: Any
    choices: Mapping[str, str]
    distributions: tuple[str, ...]

    @classmethod
    def look_up(
        cls, registry: Registry, options: RunOptions, initial: Artifact, domain: Choice
    ) -> _Parts:
        registry.freeze()
        made: dict[str, Any] = {}
        choices: dict[str, str] = {"domain": str(domain)}
        distributions = [domain.distribution]
        for option, kind in PARTS.items():
            spec = getattr(options, option)
            more = {"initial": initial} if kind == "ledger" and isinstance(spec, str) else {}
            made[option] = registry.create(kind, spec, **more)
            choice = registry.describe(kind, spec)
            choices[kind] = str(choice)
            distributions.append(choice.distribution)
        return cls(**made, choices=choices, distributions=tuple(d for d in distributions if d))


def _config(domain: Domain, splits: Splits, options: RunOptions) -> MachineConfig:
    _check_splits(splits)
    _check_target(domain, options)
    _check_limits(options)
    return MachineConfig(
        seed=options.seed,
        train=tuple(task.id for task in splits.train),
        held_out=tuple(task.id for task in splits.held_out),
        test=tuple(task.id for task in splits.test),
        deterministic=domain.deterministic,
        solved=domain.solved,
        n_workers=options.n_workers,
        slots=options.capacity,
        bind=options.bind,
        self_verify=options.self_verify,
        final_draws=options.final_draws,
        max_proposal_bytes=options.max_proposal_bytes,
        max_worker_errors=options.max_worker_errors,
        max_rollouts=options.max_rollouts,
        max_calls=options.max_calls,
        max_rounds=options.rounds if options.mode == "sync" else None,
        max_seconds=options.max_seconds,
        shutdown_grace=options.shutdown_grace,
        target_reward=options.target_reward,
        patience=options.patience,
        rollout_timeout=options.rollout_timeout,
        eval_timeout=options.eval_timeout,
        straggler_factor=options.straggler_factor,
    )


def _check_splits(splits: object) -> None:
    if not isinstance(splits, Splits):
        raise ContractError(f"tasks() returned {splits!r}; it must return Splits(train=..., ...)")
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


def _check_clock(options: RunOptions, durations: Mapping[str, Any]) -> None:
    """
    Refuse a simulated run that only time would end while nothing takes any.
    """
    timeless = options.driver == "simulated" and not (options.durations or durations)
    if timeless and set(options.limits) == {"max_seconds"}:
        remedy = "Nothing takes time in this simulated run: give durations, or max_rollouts."
        raise OptionError("max_seconds", options.max_seconds, remedy)


def _notes(options: RunOptions, config: MachineConfig) -> tuple[str, ...]:
    notes: list[str] = []
    held_out = len(config.held_out)
    if held_out < FEW_HELD_OUT:
        notes.append(
            f"{held_out} held-out tasks: the smallest difference in mean reward that one task can "
            f"make is {1 / held_out:.3f} of the reward range; {FEW_HELD_OUT} or more are better"
        )
    if config.max_calls is not None:
        notes += _call_notes(config, config.max_calls)
    if options.durations is not None and options.driver != "simulated":
        notes.append(f"durations have no meaning under {options.driver} and are ignored")
    return (*notes, *_idle_notes(options))


def _idle_notes(options: RunOptions) -> list[str]:
    """
    Options that were set and mean nothing in the run's mode.
    """
    idle = {
        "async": ("rounds", "round_size"),
        # Without an alpha of its own, a policy takes the async ratio for it, in either mode.
        "sync": ("resync", "max_wait_rounds", *(() if options.alpha is None else ("async_ratio",))),
    }[options.mode]
    defaults = {field.name: field.default for field in attrs.fields(RunOptions)}
    held = {name: getattr(options, name) for name in idle}
    return [
        f"{name}={value} has no meaning in {options.mode} mode and is ignored"
        for name, value in held.items()
        if value != defaults[name]
    ]


def _call_notes(config: MachineConfig, max_calls: int) -> list[str]:
    held_out = len(config.held_out)
    draws = 1 if config.deterministic else config.final_draws
    final = draws * (held_out + len(config.test))
    left = max_calls - held_out - final
    if left < 0:
        final, left = 0, max_calls - held_out
        text = "too few to score the final state; its reward will be the gate's last measurement"
        notes = [f"max_calls={max_calls}: {text}"]
    else:
        notes = []
    if left < 0:
        remedy = (
            f"Give at least {held_out + config.calls_per_ticket}: the baseline takes {held_out}."
        )
        raise OptionError("max_calls", max_calls, remedy)
    proposals = left // (config.calls_per_ticket + held_out)
    if proposals < FEW_PROPOSALS:
        notes.append(f"max_calls={max_calls} affords about {proposals} proposals that are measured")
    return notes


def _gate(options: RunOptions, aggregator: Aggregator) -> Gate:
    if options.mode == "sync":
        size = options.n_workers if options.round_size is None else options.round_size
        return Barrier(n_workers=options.n_workers, round_size=size)
    return LagGate(
        n_workers=options.n_workers,
        async_ratio=options.async_ratio,
        batch=aggregator.batch,
        max_wait_rounds=options.max_wait_rounds,
        resync=options.resync,
    )


def _engine(
    domain: Domain,
    config: MachineConfig,
    options: RunOptions,
    parts: _Parts,
    splits: Splits,
    opening: RunStarted,
    recorder: Recorder,
    telling: Telling,
    journal: Journal | None,
) -> Engine:
    lookups = PluginLookups(
        aggregator=parts.aggregator,
        policy=parts.policy,
        sampler=parts.sampler,
        estimator=parts.estimator,
    )
    machine = Machine(
        config,
        gate=_gate(options, parts.aggregator),
        alpha=max(1, options.async_ratio) if options.alpha is None else options.alpha,
        backpressure=Backpressure(
            stall_patience=options.stall_patience, carry_limit=options.carry_limit
        ),
        lookups=lookups,
    )
    tasks = {task.id: task for task in (*splits.train, *splits.held_out, *splits.test)}
    return Engine(
        machine=machine,
        lookups=lookups,
        steps=StepHost(parts.aggregator, domain, config),
        bench=Workbench(
            domain=domain,
            ledger=parts.ledger,
            tasks=tasks,
            seed=options.seed,
            executor=parts.executor,
        ),
        recorder=recorder,
        tell=telling,
        opening=opening,
        journal=journal,
        validate=options.validate,
    )


def _telling(
    run: str,
    parts: _Parts,
    registry: Registry,
    observers: Iterable[Observer | str],
) -> Telling:
    asked = tuple(observers)
    named = [registry.describe("observer", o).distribution for o in asked if isinstance(o, str)]
    hooks = registry.hooks_for((*parts.distributions, *filter(None, named)))
    given = tuple(registry.create("observer", o) for o in asked)
    log = log_observer(run)
    told = given if log is None else (log, *given)
    return Telling(told, hooks.notify) if hooks.wanted else Telling(told)
