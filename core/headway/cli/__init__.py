"""
The command line.

Exit codes: 0 done, 1 failed, 2 bad input, 130 ended by Ctrl-C, 143 ended by SIGTERM.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from headway.errors import HeadwayError, PluginWarning, UsageError

__all__ = ["main"]

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
    arguments = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    with _plain_warnings():
        try:
            return run(arguments)
        except HeadwayError as error:
            sys.stderr.write(f"headway: error: {error}\n")
            return 2 if isinstance(error, UsageError) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headway",
        description="Improvement loops without a round barrier.",
        epilog="Example:\n  headway run inflect",
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
