"""
``headway run``: improve a domain's artifact, and leave the result as files.

Standard output holds the report, or with ``--json`` one object and nothing else; everything that is
said on the way goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO

import attrs

from headway._notes import uncharged
from headway._prepare import Prepared, prepare
from headway._words import why_failed
from headway.cli._arguments import add_shared
from headway.cli._config_file import config_text
from headway.cli._ending import Ending
from headway.cli._flags import add_flags, flag_of
from headway.cli._output import SIGNALLED, answer, check_files, claim, write, write_result
from headway.cli._progress import LiveTable, PlainLines, opening_text, progress
from headway.cli._settings import Settings, gather
from headway.cli._targets import make_domain, observer, registered, with_parts
from headway.drivers import Interrupt
from headway.options import RunOptions, make_options
from headway.registry import Registry
from headway.result import Result
from headway.run import finish

_EXAMPLE = """\
Example:
  headway run inflect --mode sync --workers 8 --max-rollouts 400 --seed 1

  headway run inflect --set latency=lognormal:0.05,1     an option of the domain
  headway run inflect --help                             all of them
  headway run inflect --driver simulated --durations rollout=lognormal:1,1
  headway run inflect --config study.toml --json
  headway run study.py:program --set held_out_frac=0.3   a domain that a file makes

Exit codes: 0 done, 1 the run failed, 2 bad input, 130 after Ctrl-C, 141 when nobody reads the
output to its end, 143 after SIGTERM.
"""


def add_parser(subparsers: Any) -> None:
    """
    Add the command's parser to what argparse's ``add_subparsers`` gave; that has no public type.
    """
    parser = subparsers.add_parser(
        "run",
        help="improve a domain's artifact",
        usage="headway run DOMAIN [option ...]",  # forty options would bury what matters
        description="Improve a domain's artifact, and leave the result as files.",
        epilog=_EXAMPLE,
        add_help=False,
    )
    add_shared(parser, folder="DOMAIN-SEED-N", told="what happens")
    add_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """
    Run the domain.

    Returns:
        The exit code.
    """
    interrupt, stdout = Interrupt(), sys.stdout
    # What a domain prints, on whichever thread, must not get between the lines of the answer.
    with interrupt.catching(signal.SIGINT, signal.SIGTERM), redirect_stdout(sys.stderr):
        try:
            study = _study(args)
            result = _watched(study, interrupt)
        except KeyboardInterrupt:
            sys.stderr.write("headway: interrupted before there was a result\n")
            return _code(interrupt, failed=True)
        try:
            write_result(study.folder, result)
        finally:
            _report(study, result, stdout, as_json=args.json)
        return _code(interrupt, failed=result.failed)


def _code(interrupt: Interrupt, *, failed: bool) -> int:
    return int(failed) if interrupt.number is None else SIGNALLED + interrupt.number


@attrs.frozen(kw_only=True)
class Study:
    """
    A run that is ready to start.
    """

    settings: Settings
    folder: Path
    prepared: Prepared
    display: PlainLines | LiveTable


def _study(args: argparse.Namespace) -> Study:
    settings = gather(args)
    registry = Registry.discover()
    with settings.naming_domain():
        domain = make_domain(settings.name, settings.domain, registry)
    with settings.naming():
        options = with_parts(make_options(settings.options, domain.defaults), registry)
        display = progress(sys.stderr, options)
        prepared = prepare(
            domain,
            options,
            registry=registry,
            observers=(display, *map(observer, settings.observers)),
            domain_name=registered(settings.name, registry),
        )
    check_files(domain.render(prepared.started.head.artifact.value))
    folder = claim(args.out, name=settings.name, seed=options.seed)
    named = make_options(settings.options, domain.defaults)
    text = config_text(settings.name, named, settings.domain, settings.observers)
    write(folder, "config.toml", text)
    return Study(settings=settings, folder=folder, prepared=prepared, display=display)


def _watched(study: Study, interrupt: Interrupt) -> Result:
    options, opening = study.prepared.options, study.prepared.engine.opening
    text = opening_text(study.settings.name, options, opening.choices, _limits(options))
    notes = "".join(f"  note: {note}\n" for note in opening.notes)
    sys.stderr.write(f"{text}{notes}  files go to {study.folder}\n")
    study.display.watch(study.prepared.engine.machine)
    with study.display:
        return finish(study.prepared, interrupt)


def _limits(options: RunOptions) -> str:
    return ", ".join(f"{flag_of(name)[2:]} {value:g}" for name, value in options.limits.items())


def _report(study: Study, result: Result, stdout: TextIO, *, as_json: bool) -> None:
    if as_json:
        text = json.dumps(result.to_json(), allow_nan=False) + "\n"
    else:
        text = Ending(
            name=study.settings.name,
            bare=study.settings.bare,
            folder=study.folder,
            result=result,
        ).text(ascii_only=not _has_blocks(stdout.encoding))
    try:
        answer(stdout, text, kept=f"; the result is in {study.folder}")
    finally:
        _say_why(study, result)


def _say_why(study: Study, result: Result) -> None:
    why = why_failed(result)
    if why is not None:
        sys.stderr.write(f"headway: error: {why}\n")
    for said in uncharged(study.prepared.options, result):
        sys.stderr.write(f"headway: note: {said}\n")


def _has_blocks(encoding: str | None) -> bool:
    try:
        "▁█".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
