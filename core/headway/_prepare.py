"""
What comes before a run: everything is looked up, checked and put together; nothing is run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from headway._checks import check_number
from headway._log import log_observer
from headway._notes import effect_notes, notes_before
from headway._report import Recorder, stable_of
from headway.backpressure import Backpressure
from headway.contracts import (
    Aggregator,
    Artifact,
    Domain,
    Observer,
    RunStarted,
    Snapshot,
    Splits,
    canonical_json,
)
from headway.drivers import Engine, StepHost, Telling, Workbench
from headway.errors import ContractError, HeadwayError, OptionError, UsageError, shown
from headway.gate import Barrier, Gate, LagGate
from headway.journal import Journal
from headway.machine import Machine, MachineConfig, PluginLookups, Started
from headway.options import DECISIONS, PARTS, TUNING, RunOptions, limits_remedy
from headway.registry import Choice, Registry

FEWEST_TASKS = 4


@attrs.frozen(kw_only=True)
class Prepared:
    """
    A run that is ready to start: everything was looked up and checked.

    Args:
        warned: Those of the notes that a program is warned of.
    """

    options: RunOptions
    splits: Splits
    engine: Engine
    started: Started
    recorder: Recorder
    durations: Mapping[str, Any]
    warned: tuple[str, ...]


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
    gather = _gather(domain, splits, options)
    parts = _Parts.look_up(registry, options, initial, chosen, gather)
    config = attrs.evolve(config, max_steps=getattr(parts.aggregator, "max_steps", 1))
    warned = (*notes_before(options, config, parts.policy), *parts.idle)
    width = domain.reward_range[1] - domain.reward_range[0]
    notes = (*warned, *effect_notes(config, parts.acceptance, width))
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
        started=Started(0.0, _first_head(parts), stable_of(parts.ledger)),
        warned=warned,
        recorder=recorder,
        durations=durations if options.durations is None else options.durations,
    )


def _first_head(parts: _Parts) -> Snapshot:
    try:
        head: Any = parts.ledger.snapshot()
    except HeadwayError:
        raise
    except (Exception, SystemExit) as error:  # a plug-in may raise anything
        message = f"the ledger {parts.choices['ledger']} cannot say its head: {error!r}"
        raise ContractError(message) from error
    if not isinstance(head, Snapshot):
        message = (
            f"the ledger {parts.choices['ledger']} gave {shown(head)} for its head, no Snapshot"
        )
        raise ContractError(message)
    return head


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
    acceptance: Any
    choices: Mapping[str, str]
    names: Mapping[str, str]
    distributions: tuple[str, ...]
    idle: tuple[str, ...]

    @classmethod
    def look_up(
        cls,
        registry: Registry,
        options: RunOptions,
        initial: Artifact,
        domain: Choice,
        gather: int,
    ) -> _Parts:
        registry.freeze()
        made: dict[str, Any] = {}
        choices: dict[str, str] = {"domain": str(domain)}
        names: dict[str, str] = {}
        distributions = [domain.distribution]
        tuning = _Tuning(registry, options, gather)
        aggregator = tuning.aggregator()
        for option, kind in PARTS.items():
            if option in DECISIONS and option not in tuning.decisions:
                continue
            spec, more = _spec(option, options, initial)
            choice = registry.describe(kind, spec)
            choices[kind] = str(choice)
            names["commit" if kind == "ledger" else kind] = choice.name
            distributions.append(choice.distribution)
            if option != "aggregator" and option not in DECISIONS:
                made[option] = registry.create(kind, spec, **more)
        return cls(
            **made,
            aggregator=aggregator,
            acceptance=tuning.decisions.get("acceptance"),
            choices=choices,
            names=names,
            distributions=tuple(d for d in distributions if d),
            idle=tuning.idle(choices["aggregator"]),
        )


@attrs.define(eq=False)
class _Tuning:
    """
    Makes the aggregator and its decisions, and hands each the options that its factory takes.

    An option that was left at its default is handed to nobody, so that a factory's own stands.

    Args:
        registry: Where names are looked up.
        options: The run's.
        gather: The batch size where none was given.
    """

    registry: Registry
    options: RunOptions
    gather: int
    decisions: dict[str, Any] = attrs.field(factory=dict[str, Any], init=False)
    _taken: set[str] = attrs.field(factory=set[str], init=False)

    @property
    def _given(self) -> dict[str, Any]:
        fields = attrs.fields_dict(RunOptions)
        held = {name: getattr(self.options, name) for name in (*TUNING, *DECISIONS)}
        return {name: value for name, value in held.items() if value != fields[name].default}

    def _make(self, kind: str, spec: object, **more: Any) -> Any:
        known = self.registry.options_of(kind, spec)
        given = {n: v for n, v in self._given.items() if n in known and n in TUNING}
        self._taken |= {*given, *more}
        if self.gather > 1 and "batch_size" in known:
            given.setdefault("batch_size", self.gather)
        return self.registry.create(kind, spec, **given, **more)

    def aggregator(self) -> Any:
        spec = self.options.aggregator
        known = self.registry.options_of("aggregator", spec)
        for option in DECISIONS:
            if option in known:
                self.decisions[option] = self._make(PARTS[option], getattr(self.options, option))
        return self._make("aggregator", spec, **self.decisions)

    def idle(self, aggregator: str) -> tuple[str, ...]:
        """
        What to say about options that were set and that nobody takes.
        """
        return tuple(
            f"{name}={value} has no meaning for the aggregator {aggregator} and is ignored"
            for name, value in self._given.items()
            if name not in self._taken
        )


def _gather(domain: Domain, splits: Splits, options: RunOptions) -> int:
    """
    How many cards async mode gathers for a step unless it is told: as many as a candidate costs
    rollouts, and at most two for each worker, since it waits for one round of rollouts at most.
    """
    price: float = domain.measure_price
    check_number("measure_price", price, least=0, below=math.inf)
    if options.mode == "sync":
        return 1
    return max(1, min(math.ceil(price * len(splits.held_out)), 2 * options.n_workers))


def _spec(option: str, options: RunOptions, initial: Artifact) -> tuple[Any, dict[str, Any]]:
    """
    What stands for a part, and what it is made with.
    """
    spec: Any = getattr(options, option)
    if option == "sampler" and options.parallel is not None and options.mode == "sync":
        return options.parallel, {"window": options.window}
    if option == "ledger" and isinstance(spec, str):
        return spec, {"initial": initial}
    return spec, {}


def _config(domain: Domain, splits: Splits, options: RunOptions) -> MachineConfig:
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
        max_rollouts=options.max_rollouts,
        max_calls=options.max_calls,
        max_tokens=options.max_tokens,
        max_cost=options.max_cost,
        tokens_per_call=options.tokens_per_call,
        cost_per_call=options.cost_per_call,
        max_rounds=options.rounds if options.mode == "sync" else None,
        max_seconds=options.max_seconds,
        shutdown_grace=options.shutdown_grace,
        target_reward=options.target_reward,
        patience=options.patience,
        rollout_timeout=options.rollout_timeout,
        eval_timeout=options.eval_timeout,
        straggler_factor=options.straggler_factor,
        straggler=options.straggler,
        round_timeout=options.round_timeout if options.mode == "sync" else None,
        failure_score=_failure_score(domain),
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


def _check_clock(options: RunOptions, durations: Mapping[str, Any]) -> None:
    """
    Refuse a simulated run that only time would end while nothing takes any.
    """
    timeless = options.driver == "simulated" and not (options.durations or durations)
    if timeless and set(options.limits) == {"max_seconds"}:
        remedy = "Nothing takes time in this simulated run: give durations, or max_rollouts."
        raise OptionError("max_seconds", options.max_seconds, remedy)


def _gate(options: RunOptions, aggregator: Aggregator) -> Gate:
    if options.mode == "sync":
        return Barrier(
            n_workers=options.at_once,
            round_size=options.window,
            refresh_interval=options.refresh_interval,
        )
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
        alpha=options.least_alpha if options.alpha is None else options.alpha,
        backpressure=Backpressure(
            stall_patience=options.stall_patience, carry_limit=options.carry_limit
        ),
        lookups=lookups,
        names={**parts.names, "domain": domain.name, "rebase": domain.name},
    )
    tasks = {
        task.id: task for task in (*splits.train, *splits.held_out, *splits.test, *splits.oracle)
    }
    return Engine(
        machine=machine,
        lookups=lookups,
        steps=StepHost(parts.aggregator, domain, config, options.blast_radius),
        bench=Workbench(
            domain=domain,
            ledger=parts.ledger,
            tasks=tasks,
            seed=options.seed,
            executor=parts.executor,
            max_proposal_bytes=options.max_proposal_bytes,
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
