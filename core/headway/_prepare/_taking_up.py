"""
What a run directory adds to a run: with what it is begun, or where it goes on.
"""

from __future__ import annotations

import json
import math
from typing import Any

import attrs

from headway._prepare._parts import Parts
from headway._report import Recorder
from headway.contracts import (
    Artifact,
    Domain,
    Json,
    Splits,
    Task,
    canonical_json,
    content_digest,
)
from headway.drivers import Earlier, ResumedLookups
from headway.errors import ContractError, OptionError
from headway.journal import Blueprint, Keeper
from headway.machine import Lookups, RecordedLookups
from headway.options import PARTS, RunOptions
from headway.result import Result
from headway.rundir import Header, Plan, Recipe, RunDirectory
from headway.rundir._files import check_files


@attrs.frozen(kw_only=True)
class Course:
    """
    How a run goes on from what there is.

    Args:
        blueprint: What its machine is built from.
        lookups: The machine's look-ups.
        journal: What keeps its events, if anything does.
        earlier: What an earlier process journalled.
        told: What is to be said about that.
        result: The result, when the run has ended.
    """

    blueprint: Blueprint
    lookups: Lookups
    journal: Keeper | None = None
    earlier: Earlier | None = None
    told: tuple[str, ...] = ()
    result: Result | None = None

    @property
    def checkpoint_at(self) -> int:
        """
        How many events came before the checkpoint that the run goes on from; 0 without one.
        """
        return 0 if self.earlier is None else self.earlier.first


def course(
    directory: RunDirectory, plan: Plan, lookups: Lookups, *, recipe: Recipe | None, pure: bool
) -> Course:
    """
    Begin the run of a directory, or go on with it.

    Args:
        directory: The directory.
        plan: With what.
        lookups: The machine's look-ups.
        recipe: The same by names, when all of it has one.
        pure: Whether the domain says so of itself.

    Raises:
        RunDirectoryError: its run was begun with something else.
        LedgerError: it can't be read or written.
    """
    header = directory.header
    if header is None:
        header = Header.new(plan, pure=pure)
        directory.begin(header, recipe)
    told = header.check(str(directory.path), plan)
    if recipe is not None:
        recipe.check(directory.path)
    answers = directory.reopen()
    blueprint = header.plan.blueprint
    if not directory.journal.stored:
        return Course(blueprint=blueprint, lookups=lookups, journal=directory.journal)
    resumed = ResumedLookups(lookups)
    first, checkpoint = _usable_checkpoint(directory, blueprint, lookups)
    return Course(
        blueprint=blueprint,
        lookups=resumed,
        journal=directory.journal,
        result=directory.result(),
        earlier=Earlier(
            rows=directory.journal.rows(first),
            lookups=resumed,
            first=first,
            checkpoint=checkpoint,
            answers=answers,
        ),
        told=(*told, f"goes on with the run in {directory.path}"),
    )


def _usable_checkpoint(
    directory: RunDirectory, blueprint: Blueprint, lookups: Lookups
) -> tuple[int, Json | None]:
    """
    How many events came before the newest checkpoint, and that; without one that this version and its
    plug-ins can read, the journal is read from its first event.
    """
    first, checkpoint = directory.journal.checkpoint() or (0, None)
    if checkpoint is not None:
        try:
            blueprint.machine(RecordedLookups()).restore(checkpoint["machine"])
            Recorder().memory = checkpoint["recorded"]
            lookups.recall(checkpoint["learnt"])
        except (Exception, SystemExit):  # noqa: BLE001 - the estimator is a plug-in
            return 0, None
    return first, checkpoint


def check_state(domain: Domain, initial: Artifact) -> None:
    """
    See that a run directory can give a domain's state back as it is.

    Raises:
        ContractError: it would come back as another one.
    """
    if json.loads(canonical_json(initial.value)) != initial.value:
        message = (
            f"the initial state of the domain {domain.name!r} holds a tuple, or a key that is no "
            "text; no file gives it back as it is: build it of lists and texts"
        )
        raise ContractError(message)


def make_plan(
    domain: Domain,
    options: RunOptions,
    parts: Parts,
    splits: Splits,
    initial: Artifact,
    blueprint: Blueprint,
    notes: tuple[str, ...],
) -> Plan:
    """
    With what a run is begun.

    Raises:
        OptionError: its ledger keeps nothing that survives the process.
        ContractError: the domain renders files that no directory can hold.
    """
    _check_rendered(domain, initial)
    if getattr(parts.ledger, "durability", "none") == "none":
        remedy = "It survives no process, so no run directory can go on with it: give sqlite."
        raise OptionError("ledger", parts.names["commit"], remedy)
    return Plan(
        name=domain.name,
        options={
            field.name: _plain(field.name, getattr(options, field.name), parts)
            for field in attrs.fields(RunOptions)
            if field.name != "validate"
        },
        choices=parts.choices,
        tasks=_tasks_digest(splits),
        initial=initial.digest,
        blueprint=blueprint,
        notes=notes,
    )


def _check_rendered(domain: Domain, initial: Artifact) -> None:
    """
    Refuse a domain whose files no folder could hold, before anything is paid for.
    """
    try:
        files = domain.render(initial.value)
    except (Exception, SystemExit):  # noqa: BLE001 - the result tells of it, and needs no files
        return
    check_files(files)


def _plain(option: str, value: Any, parts: Parts) -> Any:
    if option in PARTS:
        kind = PARTS[option]
        unused = value if isinstance(value, str) else type(value).__name__
        return parts.names.get("commit" if kind == "ledger" else kind, unused)
    if option == "durations" and value is not None:
        return {kind: str(law) for kind, law in value.items()}
    return repr(value) if value == math.inf else value  # JSON knows no infinities


def _tasks_digest(splits: Splits) -> str:
    held = {field.name: getattr(splits, field.name) for field in attrs.fields(Splits)}
    return content_digest({name: [_task(task) for task in tasks] for name, tasks in held.items()})


def _task(task: Task) -> list[str]:
    try:
        return [task.id, content_digest(task.data)]
    except (TypeError, ValueError):  # what is no JSON value is told apart by its id alone
        return [task.id, ""]
