"""
What ``headway run`` and ``headway resume`` have in common: a run that is watched, its files, its report.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TextIO

import attrs

from headway._notes import uncharged
from headway._prepare import Prepared, choose_options, prepare
from headway._words import why_failed
from headway.cli._ending import Ending
from headway.cli._flags import flag_of
from headway.cli._output import SIGNALLED, answer, claim
from headway.cli._progress import LiveTable, PlainLines, opening_text, progress
from headway.cli._settings import Settings
from headway.cli._targets import defaults_of, make_domain, observer, registered, with_parts
from headway.drivers import Interrupt
from headway.options import RunOptions
from headway.registry import Registry
from headway.result import Result
from headway.run import durable, finish, working_in
from headway.rundir import Recipe
from headway.rundir._files import check_files, write_result


@attrs.frozen(kw_only=True)
class Study:
    """
    A run that is ready to start, or that has ended before.

    Args:
        settings: What the user gave.
        folder: Where its files are.
        durable: Whether that is a run directory.
        prepared: The run.
        display: Shows how it goes.
    """

    settings: Settings
    folder: Path
    durable: bool
    prepared: Prepared
    display: PlainLines | LiveTable


def carry_out(make: Callable[[], Study], *, as_json: bool) -> int:
    """
    Make a study, run it, and report what it came to.

    Args:
        make: Makes it, with what it prints going to standard error.
        as_json: Whether the report is one JSON object.

    Returns:
        The exit code.
    """
    interrupt, stdout = Interrupt(), sys.stdout
    # What a domain prints, on whichever thread, must not get between the lines of the answer.
    with interrupt.catching(signal.SIGINT, signal.SIGTERM), redirect_stdout(sys.stderr):
        try:
            study = make()
            result = _result(study, interrupt)
        except KeyboardInterrupt:
            sys.stderr.write("headway: interrupted before there was a result\n")
            return _code(interrupt, failed=True)
        try:
            if not study.durable:
                write_result(study.folder, result)
        finally:
            ending = Ending(
                name=study.settings.name,
                bare=study.settings.bare,
                folder=study.folder,
                result=result,
                durable=study.durable,
            )
            report(ending, stdout, as_json=as_json, notes=uncharged(study.prepared.options, result))
        return _code(interrupt, failed=result.failed)


def make_study(settings: Settings, *, out: str | None, run_dir: str | None) -> Study:
    """
    Look up and check everything that a run needs, and claim its folder.

    Args:
        settings: What the user gave.
        out: The folder for the files of a run without a journal; None for the next free one.
        run_dir: The run directory, when there is to be one.

    Raises:
        UsageError: something that was given can't be used.
        PluginError: a plug-in that was asked for can't be loaded.
        LedgerError: the run directory can't be read or written.
    """
    registry = Registry.discover()
    with settings.naming_domain():
        domain = make_domain(settings.name, settings.domain, registry)
    with settings.naming(), working_in(run_dir) as directory:
        kept = durable(run_dir, settings.options.get("repo_path"))
        given = {**kept, **settings.options}
        named = choose_options(given, domain, partial(defaults_of, registry=registry))
        options = with_parts(named, registry)
        display = progress(sys.stderr, options)
        recipe = Recipe(
            domain=settings.name,
            options=named,
            settings=settings.domain,
            observers=settings.observers,
        )
        prepared = prepare(
            domain,
            options,
            registry=registry,
            observers=(display, *map(observer, settings.observers)),
            domain_name=registered(settings.name, registry),
            directory=directory,
            recipe=recipe,
        )
    if directory is not None:
        folder = directory.path
    else:
        check_files(domain.render(prepared.started.head.artifact.value))
        folder = claim(out, name=settings.name, seed=options.seed)
        recipe.keep(folder)
    return Study(
        settings=settings,
        folder=folder,
        durable=directory is not None,
        prepared=prepared,
        display=display,
    )


def _result(study: Study, interrupt: Interrupt) -> Result:
    prepared = study.prepared
    if prepared.result is not None:
        prepared.give_up()
        say_ended(study.folder)
        return prepared.result
    options, opening = prepared.options, prepared.engine.opening
    learns_from = prepared.engine.machine.config.learns_from
    limits = _limits(options)
    text = opening_text(study.settings.name, options, opening.choices, limits, learns_from)
    notes = "".join(f"  note: {note}\n" for note in opening.notes)
    sys.stderr.write(f"{text}{notes}  files go to {study.folder}\n")
    study.display.watch(prepared.engine.machine)
    with study.display:
        return finish(prepared, interrupt, taken_up=lambda: _say_taken_up(study))


def say_ended(folder: Path) -> None:
    """
    Say that the run of a directory is not run, since it has ended.
    """
    sys.stderr.write(f"headway: the run in {folder} has ended: here is its result again\n")


def _say_taken_up(study: Study) -> None:
    """
    Say where a run goes on, once its journal has been read and before anything new happens.
    """
    engine = study.prepared.engine
    machine = engine.machine
    again = sum(call.paid or call.kind == "train" for call in machine.in_flight)
    made = machine.statistics().tickets
    sys.stderr.write(
        f"  taken up after {engine.events} events: version {machine.head.version}, {made} rollouts; "
        f"{again} calls in flight are made again\n"
    )
    sys.stderr.flush()


def _code(interrupt: Interrupt, *, failed: bool) -> int:
    return int(failed) if interrupt.number is None else SIGNALLED + interrupt.number


def _limits(options: RunOptions) -> str:
    return ", ".join(f"{flag_of(name)[2:]} {value:g}" for name, value in options.limits.items())


def report(ending: Ending, stdout: TextIO, *, as_json: bool, notes: Iterable[str] = ()) -> None:
    """
    Write the report of a run, and why it failed, where it did.

    Args:
        ending: What there is to say.
        stdout: Where the report goes.
        as_json: Whether it is one JSON object.
        notes: What else there is to say.
    """
    result = ending.result
    if as_json:
        text = json.dumps(result.to_json(), allow_nan=False) + "\n"
    else:
        text = ending.text(ascii_only=not _has_blocks(stdout.encoding))
    try:
        answer(stdout, text, kept=f"; the result is in {ending.folder}")
    finally:
        why = why_failed(result)
        if why is not None:
            sys.stderr.write(f"headway: error: {why}\n")
        for said in notes:
            sys.stderr.write(f"headway: note: {said}\n")


def _has_blocks(encoding: str | None) -> bool:
    try:
        "▁█".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
