"""
The command line.

Exit codes: 0 done, 1 failed, 2 bad input, 130 ended by Ctrl-C, 141 nobody read the output to its
end, 143 ended by SIGTERM.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from headway.cli._arguments import Parser
from headway.errors import HeadwayError, PluginWarning, UsageError

__all__ = ["main"]

_BROKEN_PIPE = 141
"""As a shell reports a process that SIGPIPE ended."""

COMMANDS = ("headway.cli._run", "headway.cli._plugins")
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
            sys.stdout.flush()  # here, where an error can still be caught
    except BrokenPipeError:  # plug-ins and domains cannot raise it: theirs are contained
        _let_go()
        return _BROKEN_PIPE


def _answer(argv: Sequence[str] | None) -> int:
    try:
        arguments, extra = _parser().parse_known_args(argv)
        if extra:
            arguments.parser.refuse(extra)
        run: Callable[[argparse.Namespace], int] = arguments.run
        return run(arguments)
    except HeadwayError as error:
        sys.stderr.write(f"headway: error: {error}\n")
        return 2 if isinstance(error, UsageError) else 1


def _let_go() -> None:
    """
    Point a standard stream that still holds what nobody reads at nothing: the interpreter flushes
    both when it ends, and complains.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _parser() -> Parser:
    parser = Parser(
        prog="headway",
        description="Improvement loops without a round barrier.",
        epilog="Example:\n  headway run inflect",
    )
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
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
                sys.stderr.write(f"headway: warning: {message}\n")
            else:
                usual(message, category, *rest, **more)

        warnings.showwarning = show
        yield
