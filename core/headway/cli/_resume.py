"""
``headway resume``: go on with a run that was interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.cli._config_file import read_config, refuse_hidden
from headway.cli._directories import add_directory
from headway.cli._ending import Ending
from headway.cli._flags import split_pair
from headway.cli._settings import Settings
from headway.cli._study import Study, carry_out, make_study, report, say_ended
from headway.cli._targets import in_a_file
from headway.errors import RunDirectoryError
from headway.rundir import open_run
from headway.rundir._files import CONFIG

_EXAMPLE = """\
Example:
  headway resume first      after headway run inflect --run-dir first, and a crash or Ctrl-C

What is done is not done again: calls that were in flight when the run broke off are made once more,
all others are not.  Start it in the folder in which the run was begun, if it names files of yours.

Exit codes: 0 done, 1 the run failed, 2 bad input, 130 after Ctrl-C, 141 when nobody reads the
output to its end, 143 after SIGTERM.
"""

_GIVEN = " (given by the program)"

_BEGUN_BY = "Give the command, or let the program make the call, that began it."


def add_parser(subparsers: Any) -> None:
    """
    Add the command's parser to what argparse's ``add_subparsers`` gave; that has no public type.
    """
    parser = subparsers.add_parser(
        "resume",
        help="go on with a run that was interrupted",
        description="Go on with a run that was interrupted, as its run directory says.",
        epilog=_EXAMPLE,
    )
    add_directory(parser)
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
    about = "an option of the domain that is a secret and so was not kept; may be repeated"
    parser.add_argument(
        "--set", dest="settings", metavar="KEY=VALUE", action="append", default=[], help=about
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """
    Go on.

    Returns:
        The exit code.
    """
    with open_run(args.directory) as kept:
        result = None if kept.ended is None else kept.result()
    if result is None:
        return carry_out(lambda: _study(args.directory, args.settings), as_json=args.json)
    say_ended(kept.path)
    config = kept.path / CONFIG
    name = read_config(str(config)).name if config.is_file() else kept.header.plan.name
    ending = Ending(name=name, bare=False, folder=kept.path, result=result, durable=True)
    report(ending, sys.stdout, as_json=args.json)
    return int(result.failed)


def _study(directory: str, given: Sequence[str]) -> Study:
    settings = _settings(directory, given)
    _check_files(directory, settings)
    return make_study(settings, out=None, run_dir=directory)


def _check_files(directory: str, settings: Settings) -> None:
    """
    Raises:
        RunDirectoryError: the run is made of a file that cannot be found from here.
    """
    for spec in (settings.name, *settings.options.values(), *settings.observers):
        file = spec.rpartition(":")[0] if isinstance(spec, str) and in_a_file(spec) else None
        if file is not None and not Path(file).is_file():
            reason = f"its run is made of {spec}, and there is no such file in {Path.cwd()}."
            remedy = "Start headway resume in the folder in which the run was begun."
            raise RunDirectoryError(directory, reason, remedy)


def _settings(directory: str, given: Sequence[str]) -> Settings:
    """
    With what the run of a directory was begun.

    Args:
        directory: The directory.
        given: Options of the domain, as ``KEY=VALUE``.

    Raises:
        RunDirectoryError: there is none, or it was begun from a program with what has no name.
    """
    with open_run(directory) as kept:
        choices = kept.header.plan.choices
    path = Path(directory) / CONFIG
    if not path.is_file():
        nameless = [f"{k} {c.removesuffix(_GIVEN)}" for k, c in choices.items() if _GIVEN in c]
        reason = f"there is no {CONFIG} in it, which says with what its run was begun."
        if nameless:
            given_by = ", the ".join(nameless)
            reason = f"its run was begun by a program in Python, which gave the {given_by}."
        remedy = f"Run that program again: the same call with run_dir={directory!r} goes on."
        raise RunDirectoryError(directory, reason, remedy if nameless else _BEGUN_BY)
    file = read_config(str(path))
    pairs = dict(split_pair("--set", text) for text in given)
    domain = {**file.domain, **pairs}
    refuse_hidden(str(path), domain)
    return Settings(
        name=file.name,
        options=file.options,
        domain=domain,
        observers=file.observers,
        places={name: f"{path}: {name}" for name in file.options},
        domain_places={
            **{key: f"{path}: domain.{key}" for key in file.domain},
            **{key: f"--set {key}" for key in pairs},
        },
    )
