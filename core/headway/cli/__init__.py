"""
The command line.

Exit codes: 0 done, 1 failed, 2 bad input, 130 ended by Ctrl-C, 141 nobody read the output to its
end, 143 ended by SIGTERM.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

from headway._secrets import redact
from headway.cli._arguments import Parser
from headway.cli._output import answer, let_go
from headway.errors import HeadwayError, PluginWarning, UsageError

__all__ = ["main"]

_BROKEN_PIPE = 141
"""As a shell reports a process that SIGPIPE ended."""

_INTERRUPTED = 130
"""As a shell reports a process that Ctrl-C ended."""

COMMANDS = (
    "headway.cli._run",
    "headway.cli._resume",
    "headway.cli._compare",
    "headway.cli._status",
    "headway.cli._history",
    "headway.cli._replay",
    "headway.cli._plugins",
)
"""
The modules of the subcommands.

Each has ``add_parser(subparsers)``, which adds a parser with an example below its help and sets its
``run`` default to a function from the parsed arguments to the exit code.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run one command.

    Args:
        argv: The arguments after the program's name; by default the process's own.

    Returns:
        The exit code.
    """
    try:
        try:
            with _plain_warnings():
                return _answer(argv)
        finally:
            _flush()  # here, where an error can still be caught
    except BrokenPipeError:  # plug-ins and domains cannot raise it: theirs are contained
        _let_go()
        return _BROKEN_PIPE
    except KeyboardInterrupt:  # before a run began, or while plug-ins were listed
        sys.stderr.write("headway: interrupted\n")
        return _INTERRUPTED


def _answer(argv: Sequence[str] | None) -> int:
    try:
        parser = _parser()
        arguments, extra = parser.parse_known_args(argv)
        if extra:
            arguments.parser.refuse(extra)
        run: Callable[[argparse.Namespace], int] | None = getattr(arguments, "run", None)
        if run is None:
            parser.print_help(sys.stderr)
            return 2
        return run(arguments)
    except HeadwayError as error:
        sys.stderr.write(f"headway: error: {redact(str(error))}\n")
        return 2 if isinstance(error, UsageError) else 1


def _flush() -> None:
    try:
        answer(sys.stdout, "")
    except HeadwayError as error:
        sys.stderr.write(f"headway: error: {redact(str(error))}\n")
        sys.exit(1)


def _let_go() -> None:
    """
    Let go of the streams that nobody reads.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            let_go(stream)


class _Version(argparse.Action):
    """
    ``--version``; the metadata is read only then.
    """

    def __call__(self, parser: argparse.ArgumentParser, *rest: Any) -> NoReturn:
        """
        Print the version and end.
        """
        del rest
        from importlib.metadata import version

        sys.stdout.write(f"headway {version('headway')}\n")
        parser.exit(0)


def _parser() -> Parser:
    parser = Parser(
        prog="headway",
        description="Improvement loops without a round barrier.",
        epilog="Example:\n  headway run inflect",
    )
    about = "show the version and end"
    parser.add_argument("--version", action=_Version, nargs=0, help=about)
    subparsers = parser.add_subparsers(metavar="COMMAND")
    for name in COMMANDS:
        import_module(name).add_parser(subparsers)
    return parser


@contextmanager
def _plain_warnings() -> Generator[None, None, None]:
    """
    Show a warning about a plug-in as one line, without the line of code that gave it.
    """
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, PluginWarning):
                sys.stderr.write(f"headway: warning: {redact(str(message))}\n")
            else:
                usual(message, category, *rest, **more)

        warnings.showwarning = show
        yield
