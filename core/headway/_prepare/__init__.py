"""
What comes before a run: everything is looked up, checked and put together; nothing is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import attrs

from headway._log import log_observer
from headway._notes import effect_notes, notes_before, notes_on_ages
from headway._prepare._choosing import brought_notes, choose_options
from headway._prepare._config import check_clock, make_blueprint, make_config
from headway._prepare._parts import Parts, gathered
from headway._prepare._taking_up import Course, check_state, course, make_plan
from headway._report import Recorder, stable_of
from headway.contracts import (
    Artifact,
    Domain,
    Observer,
    RunStarted,
    Snapshot,
    Splits,
    canonical_json,
)
from headway.drivers import Checkpoints, Earlier, Engine, StepHost, Telling, Workbench
from headway.errors import ContractError, HeadwayError, OptionError, UsageError, shown
from headway.journal import Blueprint, Journal, Keeper
from headway.machine import PluginLookups, Started
from headway.options import RunOptions
from headway.registry import Registry
from headway.result import Result
from headway.rundir import Recipe, RunDirectory

__all__ = ["Prepared", "choose_options", "prepare"]


@attrs.frozen(kw_only=True)
class Prepared:
    """
    A run that is ready to start: everything was looked up and checked.

    Args:
        warned: Those of the notes that a program is warned of.
        directory: Keeps its events, versions and result.
        earlier: What an earlier process did of it.
        result: What it came to, when it has ended already: then it is not started.
    """

    options: RunOptions
    splits: Splits
    engine: Engine
    started: Started
    recorder: Recorder
    durations: Mapping[str, Any]
    warned: tuple[str, ...]
    directory: RunDirectory | None
    earlier: Earlier | None
    result: Result | None = None

    def give_up(self) -> None:
        """
        Let go of everything; it will not be started.
        """
        with suppress(Exception):  # whatever a part raises, nobody waits for it
            self.engine.bench.close()
        self.close()

    def close(self) -> None:
        """
        Let others work in the run directory.
        """
        if self.directory is not None:
            self.directory.close()


def prepare(
    domain: Domain,
    options: RunOptions,
    *,
    registry: Registry,
    observers: Iterable[Observer | str] = (),
    journal: Journal | None = None,
    directory: RunDirectory | None = None,
    domain_name: str | None = None,
    recipe: Recipe | None = None,
) -> Prepared:
    """
    Look up and check everything that a run needs; run nothing.

    Args:
        domain: What is improved.
        options: How.
        registry: Where names are looked up; frozen from now on.
        observers: Told every notice; a name is looked up.
        journal: Keeps every event, when given.
        directory: Keeps all of the run, when given; one that was begun there is gone on with.
        domain_name: The name that ``registry`` made the domain for, when it did.
        recipe: With what the run begins, by names; kept in the directory.

    Raises:
        UsageError: an option, a name or the domain's tasks can't be used.
        PluginError: a plug-in can't be loaded, or the domain renders what no directory can hold.
        LedgerError: the run directory can't be read or written.
    """
    chosen = registry.describe("domain", domain_name or domain)
    if options.driver == "simulated":
        domain = domain.virtual()
    splits, initial, durations = _ask_domain(domain, kept=directory is not None)
    config = make_config(domain, splits, options)
    check_clock(options, durations)
    gather = gathered(domain, splits, options)
    parts = Parts.look_up(registry, options, initial, chosen, gather, directory)
    blueprint = make_blueprint(domain, config, options, parts)
    warned = _warned(options, blueprint, parts, initial)
    way = Course(blueprint=blueprint, lookups=_lookups(parts), journal=journal)
    if directory is not None:
        plan = make_plan(domain, options, parts, splits, initial, blueprint, warned)
        way = course(directory, plan, way.lookups, recipe=recipe, pure=domain.pure)
    notes = (*warned, *way.told, *_effects(domain, options, way.blueprint, parts))
    recorder = Recorder()
    engine = Engine(
        machine=way.blueprint.machine(way.lookups),
        lookups=way.lookups,
        steps=StepHost(parts.aggregator, domain, way.blueprint.config, options.blast_radius),
        bench=_bench(domain, options, parts, splits, way.journal),
        recorder=recorder,
        tell=_telling(domain.name, parts, registry, observers),
        opening=_opening(domain, options, parts, notes),
        journal=way.journal,
        validate=options.validate,
    )
    if directory is not None and options.driver != "simulated":
        engine.after = Checkpoints(engine, directory.journal.keep, at=way.checkpoint_at)
    return Prepared(
        options=options,
        splits=splits,
        engine=engine,
        started=Started(0.0, _first_head(parts), stable_of(parts.ledger)),
        warned=warned,
        recorder=recorder,
        durations=durations if options.durations is None else options.durations,
        directory=directory,
        earlier=way.earlier,
        result=way.result,
    )


def _effects(
    domain: Domain, options: RunOptions, blueprint: Blueprint, parts: Parts
) -> tuple[str, ...]:
    """
    What nobody is warned of: the ages to expect, and what the acceptance can show.
    """
    config, width = blueprint.config, domain.reward_range[1] - domain.reward_range[0]
    ages = notes_on_ages(options, config, parts.policy, blueprint.new_gate())
    return (*ages, *effect_notes(config, parts.acceptance, width))


def _warned(
    options: RunOptions, blueprint: Blueprint, parts: Parts, initial: Artifact
) -> tuple[str, ...]:
    gate, other = blueprint.new_gate(), _other_beginning(options, parts, initial)
    notes = notes_before(options, blueprint.config, parts.policy, gate)
    return (*notes, *parts.idle, *other)


def _other_beginning(options: RunOptions, parts: Parts, initial: Artifact) -> tuple[str, ...]:
    """
    What to say of a repository whose history began otherwise than this run would have.

    Raises:
        OptionError: what it holds can be no state of this run.
    """
    if options.repo_path is None:
        return ()
    head = _first_head(parts)
    held, wanted = (type(a.value).__name__ for a in (head.artifact, initial))
    if held != wanted:
        parts.ledger.close()
        remedy = (
            f"The state that is kept there is a {held}, and this run's is a {wanted}: "
            "give the strategy that it was made with, or another repository."
        )
        raise OptionError("repo_path", options.repo_path, remedy)
    began: Snapshot = parts.ledger.snapshot("dev", 0)
    if began.artifact.digest == initial.digest:
        return ()
    told = (
        f"repo_path={options.repo_path}: what is kept there began with another state; the run goes on "
        f"from version {head.version} of that, and the state to start from is not used"
    )
    return (told,)


def _opening(
    domain: Domain, options: RunOptions, parts: Parts, notes: tuple[str, ...]
) -> RunStarted:
    return RunStarted(
        run=domain.name,
        mode=options.mode,
        driver=options.driver,
        seed=options.seed,
        choices=parts.choices,
        notes=(*notes, *brought_notes(parts.brings, options, parts.choices["aggregator"])),
        limits=options.limits,
    )


def _lookups(parts: Parts) -> PluginLookups:
    return PluginLookups(
        aggregator=parts.aggregator,
        policy=parts.policy,
        sampler=parts.sampler,
        estimator=parts.estimator,
    )


def _bench(
    domain: Domain, options: RunOptions, parts: Parts, splits: Splits, journal: Keeper | None
) -> Workbench:
    tasks = (*splits.train, *splits.held_out, *splits.test, *splits.oracle)
    return Workbench(
        domain=domain,
        ledger=parts.ledger,
        tasks={task.id: task for task in tasks},
        seed=options.seed,
        executor=parts.executor,
        max_proposal_bytes=options.max_proposal_bytes,
        journal=journal,
    )


def _first_head(parts: Parts) -> Snapshot:
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


def _ask_domain(domain: Domain, *, kept: bool) -> tuple[Splits, Artifact, Mapping[str, Any]]:
    try:
        splits, state, durations = domain.tasks(), domain.initial(), domain.durations()
        canonical_json(state)  # what is no JSON value is refused here, not in the middle of a run
    except UsageError:
        raise
    except (Exception, SystemExit) as error:  # user code may raise anything
        message = f"the domain {domain.name!r} cannot say its tasks and initial state: {error!r}"
        raise ContractError(message) from error
    initial = Artifact(state)
    if kept:
        check_state(domain, initial)
    return splits, initial, durations


def _telling(
    run: str,
    parts: Parts,
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
