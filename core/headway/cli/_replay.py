"""
``headway replay``: run the machine of a run again from its journal, and see that it comes to the same;
or ask what would have been with other options.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from typing import Any

import attrs

from headway.cli._directories import add_directory, domain_of
from headway.cli._flags import flag_of, read_option
from headway.cli._output import SIGNALLED
from headway.contracts import Domain
from headway.drivers import Interrupt
from headway.errors import OptionError, UsageError
from headway.rundir import Replayed, open_run, replay_run
from headway.rundir._files import CONFIG
from headway.what_if import Answer, Figures, what_if

_EXAMPLE = """\
Example:
  headway replay first
  headway replay first --what-if async_ratio=8 --what-if n_workers=16

A replay runs no code of a plug-in or a domain, and nothing is measured or paid.
With --what-if the run is made twice more under a virtual clock, with its own options and with the
others, and calls take as long as recorded ones did.  A domain that says that it is pure is run again;
of any other one no code runs, and the answer is about schedule and lag, not about rewards.

Exit codes: 0 the same, 1 an event differs or is damaged, 2 bad input, 130 after Ctrl-C, 143 after
SIGTERM.
"""


def add_parser(subparsers: Any) -> None:
    """
    Add the command's parser to what argparse's ``add_subparsers`` gave; that has no public type.
    """
    parser = subparsers.add_parser(
        "replay",
        help="see that a journal leads to what it led to, or ask what would have been",
        description="Run the machine of a run again from its journal.",
        epilog=_EXAMPLE,
    )
    add_directory(parser)
    about = "what would have been with another value of an option of the run; may be repeated"
    parser.add_argument("--what-if", action="append", metavar="KEY=VALUE", default=[], help=about)
    about = "replay also when Headway or a plug-in has another version than the run was begun with"
    parser.add_argument("--force", action="store_true", help=about)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """
    Replay.

    Returns:
        The exit code.
    """
    if args.what_if:
        interrupt = Interrupt()
        try:
            with interrupt.catching(signal.SIGINT, signal.SIGTERM):
                told, as_json = _asked(args)
        except KeyboardInterrupt:
            sys.stderr.write("headway: interrupted before there was an answer\n")
            return SIGNALLED + (interrupt.number or signal.SIGINT)
    else:
        replayed = replay_run(args.directory, force=args.force)
        for changed in replayed.changed:
            sys.stderr.write(f"headway: note: {changed}\n")
        told, as_json = list(_lines(args.directory, replayed)), attrs.asdict(replayed)
    text = "".join(f"{line}\n" for line in told)
    sys.stdout.write(json.dumps(as_json, indent=2) + "\n" if args.json else text)
    return 0


def _asked(args: argparse.Namespace) -> tuple[list[str], dict[str, Any]]:
    changes = dict(read_option("--what-if", text) for text in args.what_if)
    with redirect_stdout(sys.stderr):  # what a domain prints is no part of the answer
        try:
            answer = what_if(
                args.directory, changes, domain=_domain(args.directory), force=args.force
            )
        except OptionError as error:
            raise OptionError(f"--what-if {error.option}", error.value, error.remedy) from error
    return list(_answer_lines(args.directory, answer)), attrs.asdict(answer)


def _domain(directory: str) -> Domain | None:
    """
    The run's domain, when it says that it may be run again and has a name.
    """
    with open_run(directory) as kept:
        if not kept.header.pure or not (kept.path / CONFIG).is_file():
            return None
        try:
            return domain_of(kept)
        except UsageError as error:
            sys.stderr.write(f"headway: note: the domain can't be run again: {error}\n")
            return None


def _answer_lines(directory: str, answer: Answer) -> Iterator[str]:
    asked = ", ".join(f"{flag_of(name)[2:]} {value}" for name, value in answer.changes.items())
    how = "the domain was run again" if answer.rerun else "calls answered as recorded ones did"
    yield f"{directory}: what if {asked}; {how}, on a virtual clock"
    heads = ("", "recorded", "same options, simulated", "what if")
    rows = [heads, *_rows(answer)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(heads))]
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        yield f"  {row[0]:{widths[0]}}  {'  '.join(cells)}".rstrip()
    if not answer.rerun:
        yield "rewards are not answered: this domain is not pure, so none of its code was run"
    elif not answer.ended:
        yield "the run has not ended: the first column is how far it came, the others are whole runs"
    yield "compare the last two columns; the first one has what a virtual clock leaves out"


def _rows(answer: Answer) -> Iterator[tuple[str, ...]]:
    shown: Mapping[str, Callable[[Figures], str]] = {
        "rollouts": lambda f: str(f.rollouts),
        "seconds": lambda f: f"{f.seconds:.2f}",
        "commits": lambda f: str(f.commits),
        "idle share of slots": lambda f: f"{f.idle:.1%}",
        "stale share of cards": lambda f: f"{f.stale_rate:.1%}",
        "mean lag of cards": lambda f: f"{f.mean_lag:.2f}",
    }
    columns: tuple[Figures, ...] = (answer.recorded, answer.simulated, answer.changed)
    for name, show in shown.items():
        yield (name, *map(show, columns))
    for eta in sorted({eta for figures in columns for eta in figures.lag}):
        yield (f"  cards of lag {eta}", *(str(figures.lag.get(eta, 0)) for figures in columns))
    if answer.rerun:
        yield ("held-out reward", *(_reward(figures.reward) for figures in columns))


def _reward(reward: float | None) -> str:
    return "-" if reward is None else f"{reward:.3f}"


def _lines(directory: str, replayed: Replayed) -> Iterator[str]:
    counts = replayed.statistics
    yield f"{directory}: {replayed.events} events replayed, {replayed.seconds:.2f} s of the run"
    yield f"  version    {counts.version}"
    yield f"  rollouts   {counts.tickets}"
    decided = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.decisions.items()) if n)
    yield f"  decisions  {sum(counts.decisions.values())}{f': {decided}' if decided else ''}"
    yield f"  digest     {replayed.digest}"
    if replayed.kept is not None:
        yield f"same digest as the result: the run ended by {replayed.stop_reason}"
    elif replayed.ended:
        yield f"same after every event: the run ended by {replayed.stop_reason}, but its result is gone"
    else:
        yield "same digest after every event; the run has not ended, and its journal ends here"
