"""
``run``: from a domain and options to a result.

``arun`` is the same, awaited.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from headway._checks import check_folder_name
from headway._notes import uncharged
from headway._prepare import Prepared, choose_options, prepare
from headway._report import build_result
from headway._warning import warn_caller
from headway._words import observers_raised, why_failed
from headway.contracts import Domain, Observer
from headway.drivers import DRIVE, Drive, Interrupt, catching_signals
from headway.errors import OptionError
from headway.journal import Journal
from headway.options import PARTS, RunOptions
from headway.registry import Registry
from headway.result import Result
from headway.rundir import Recipe, RunDirectory

if TYPE_CHECKING:  # importing it costs, and most runs need no loop
    from asyncio import AbstractEventLoop


def run(
    domain: Domain | str,
    *,
    registry: Registry | None = None,
    observers: Iterable[Observer | str] = (),
    journal: Journal | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Result:
    """
    Improve a domain's artifact until a limit, a target or the end of what can be found.

    Args:
        domain: What is improved; a name is looked up and made without options.
        registry: Where names are looked up; by default the built-in parts and installed plug-ins.
        observers: Told every notice, on one thread at a time; a name is looked up.
        journal: Keeps every event, when given.
        run_dir: A directory that keeps every event, the versions and the result.  A run that was
            begun there is gone on with, and no call that it was paid for is made again; one that
            has ended there is not run, and its result returned.
        options: See ``RunOptions``; where none is given, the ``defaults`` of the aggregator stand, then
            the domain's.

    Raises:
        UsageError: an option, a name or the domain's tasks can't be used, or the run directory is
            another run's or used by another process; nothing was run.
        PluginError: a plug-in that was asked for can't be loaded.
        LedgerError: what keeps the run can't be read or written; the message names the file.
    """
    prepared = _prepared(domain, registry, observers, journal, run_dir, options)
    if prepared.result is not None:
        prepared.give_up()
        return prepared.result
    with catching_signals() as interrupt:
        result = finish(prepared, interrupt)
    _warn_at_end(prepared, result)
    return result


async def arun(
    domain: Domain | str,
    *,
    registry: Registry | None = None,
    observers: Iterable[Observer | str] = (),
    journal: Journal | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Result:
    """
    As ``run``, for a program that has an event loop, which goes on meanwhile.

    The domain's coroutines run on the caller's loop, under ``threads`` and ``asyncio``.  Cancelling
    it interrupts the run: no call begins any more, and ``CancelledError`` is raised once it ended.

    Raises:
        UsageError: an option, a name or the domain's tasks can't be used, or the run directory is
            another run's or used by another process; nothing was run.
        PluginError: a plug-in that was asked for can't be loaded.
        LedgerError: what keeps the run can't be read or written; the message names the file.
        asyncio.CancelledError: the caller was cancelled.
    """
    from headway.drivers.awaited import on_a_thread

    prepared = _prepared(domain, registry, observers, journal, run_dir, options)
    if prepared.result is not None:
        prepared.give_up()
        return prepared.result
    interrupt = Interrupt()
    interrupt.begin()
    result = await on_a_thread(partial(finish, prepared, interrupt), interrupt)
    _warn_at_end(prepared, result)
    return result


def _prepared(
    domain: Domain | str,
    registry: Registry | None,
    observers: Iterable[Observer | str],
    journal: Journal | None,
    run_dir: str | os.PathLike[str] | None,
    options: Mapping[str, Any],
) -> Prepared:
    parts = usable_registry(registry)
    made: Domain = parts.create("domain", domain)
    if run_dir is not None and journal is not None:
        raise OptionError("journal", journal, "run_dir keeps one on disk: give one of the two.")
    asked = tuple(observers)
    kept = durable(run_dir, options.get("repo_path"))
    chosen = choose_options({**kept, **options}, made, parts.defaults_of)
    with working_in(run_dir) as directory:
        prepared = prepare(
            made,
            chosen,
            registry=parts,
            observers=asked,
            journal=journal,
            directory=directory,
            domain_name=domain if isinstance(domain, str) else None,
            recipe=_recipe(parts, domain, chosen, asked),
        )
        for note in prepared.warned if prepared.result is None else ():
            warn_caller(note)  # where warnings are errors, nothing is run
    return prepared


def durable(run_dir: object | None, repo_path: object | None = None) -> Mapping[str, str]:
    """
    The options that a run directory or a repository brings, unless others are given.

    Raises:
        OptionError: both of them are given.
    """
    if repo_path is None:
        return {} if run_dir is None else {"ledger": "sqlite"}
    if run_dir is not None:
        remedy = (
            "run_dir keeps the versions itself, with ledger='git' in a repository: leave it out."
        )
        raise OptionError("repo_path", repo_path, remedy)
    return {"ledger": "git"}


def _recipe(
    registry: Registry,
    domain: Domain | str,
    options: RunOptions,
    observers: Iterable[Observer | str],
) -> Recipe | None:
    """
    With what a run begins, by names; None when another process would not know one of them.
    """
    chosen: dict[str, Any] = {"domain": domain}
    chosen |= {kind: getattr(options, option) for option, kind in PARTS.items()}
    named = {kind: spec for kind, spec in chosen.items() if isinstance(spec, str)}
    if named != chosen or not all(registry.describe(k, s).distribution for k, s in named.items()):
        return None
    told = [observer for observer in observers if isinstance(observer, str)]
    return Recipe(domain=named["domain"], options=options, observers=told)


@contextmanager
def working_in(run_dir: str | os.PathLike[str] | None) -> Generator[RunDirectory | None]:
    """
    A run directory while its run is prepared; it is given up when that fails.

    Raises:
        OptionError: it names no folder.
        RunDirectoryError: it holds something else, or another process works in it.
        LedgerError: it can't be read or written.
    """
    if run_dir is not None:
        check_folder_name("run_dir", run_dir)
    directory = None if run_dir is None else RunDirectory(run_dir)
    try:
        yield directory
    except BaseException:
        if directory is not None:
            directory.abandon()
        raise


def usable_registry(given: Registry | None) -> Registry:
    """
    The registry that was given, or one of the built-in parts and the installed plug-ins.

    Raises:
        OptionError: something else was given.
    """
    if given is None:
        return Registry.discover()
    if not isinstance(cast("object", given), Registry):
        raise OptionError("registry", given, "Give a Registry, or leave it out.")
    return given


def _warn_at_end(prepared: Prepared, result: Result) -> None:
    """
    Say once why the run failed or its final state could not be scored, unless that was said before
    the start; that observers raised; and that nothing was charged.

    Where warnings are errors, these are not: what the run found has been paid for.
    """
    ended = "; ".join(filter(None, (why_failed(result), result.unscored)))
    for said in (ended, observers_raised(result), *uncharged(prepared.options, result)):
        if said:
            with suppress(RuntimeWarning):
                warn_caller(said)


def finish(
    prepared: Prepared,
    interrupt: Interrupt,
    home: AbstractEventLoop | None = None,
    taken_up: Callable[[], None] | None = None,
) -> Result:
    """
    Run what was prepared and report it.

    Args:
        prepared: What ``prepare`` gave; used once.
        interrupt: Ends the run early when it is asked to.
        home: The running loop of whoever awaits the run, for its coroutines.
        taken_up: Called once what an earlier process did of it has been read.
    """
    interrupt.begin()
    engine, options = prepared.engine, prepared.options
    drive = Drive(
        seed=options.seed,
        durations=prepared.durations,
        interrupt=interrupt,
        home=home,
        earlier=prepared.earlier,
        taken_up=taken_up,
    )
    try:
        DRIVE[options.driver](engine, prepared.started, drive)
    except BaseException:
        with suppress(Exception):  # what the run raised is told, not what could not be closed
            engine.bench.close()
        with suppress(Exception):  # nor this
            prepared.close()
        raise
    finally:
        interrupt.end()
    return _kept(prepared)


def _kept(prepared: Prepared) -> Result:
    """
    The result of a run that is over, kept in the run directory where there is one.

    Raises:
        LedgerError: it can't be; all that it was made from has been, so that running on gives it.
    """
    directory = prepared.directory
    try:
        result = build_result(prepared.engine, prepared.recorder)
        if directory is not None:
            directory.journal.close()
            directory.end(result, prepared.engine.stopped_at or 0)
    finally:
        prepared.close()
    return result
