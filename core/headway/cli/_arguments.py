"""
The parser of every command: what is wrong with arguments is said in one line.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any, NoReturn

from headway.cli._output import PARENT
from headway.contracts import Domain
from headway.errors import suggestion
from headway.registry import Registry


class Parser(argparse.ArgumentParser):
    """
    A parser that names the remedy instead of printing its usage; no flag is abbreviated.
    """

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**options, allow_abbrev=False)  # what works today keeps its meaning
        self.set_defaults(parser=self)

    def error(self, message: str) -> NoReturn:
        """
        End with exit code 2 and one line.
        """
        told = message.removeprefix("argument ").rstrip(".")
        self.exit(2, f"headway: error: {told}. See {self.prog} --help.\n")

    def refuse(self, extra: Sequence[str]) -> NoReturn:
        """
        Say what is wrong with arguments that nobody knows.
        """
        flag = next((text for text in extra if text.startswith("-")), None)
        if flag is None:
            self.error(f"{extra[0]!r}: nothing more can be given here")
        name = flag.partition("=")[0]
        known = [text for action in self._actions for text in action.option_strings]
        self.exit(2, f"headway: error: {name}: {self._missing('option', name, known)}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        told = self._missing(str(action.metavar or action.dest).lower(), str(value), choices)
        self.exit(2, f"headway: error: {value}: {told}\n")

    def _missing(self, what: str, name: str, known: Sequence[str]) -> str:
        return f"There is no such {what}.{suggestion(name, known)} See {self.prog} --help."


class DomainHelp(argparse.Action):
    """
    ``--help``; behind a domain's name it shows that domain's options too.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, default=argparse.SUPPRESS, **options)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ARG002 - argparse's signature
        option_string: str | None = None,  # noqa: ARG002 - argparse's signature
    ) -> NoReturn:
        """
        Print the help and end.
        """
        name: str | None = getattr(namespace, "domain", None)
        about = "" if name is None else _about(name)
        sys.stdout.write(parser.format_help() + about)
        parser.exit(0)


def add_shared(parser: Parser, *, folder: str, told: str) -> None:
    """
    Add what every command about a domain takes beside the options of a run.

    Args:
        parser: The command's.
        folder: The name that the folder of results gets by itself.
        told: What an observer is told.
    """
    about = "show this help and end; behind a domain's name with the domain's options"
    parser.add_argument("-h", "--help", action=DomainHelp, dest="help", help=about)
    what = "what is improved: inflect, FILE.py:NAME, MODULE:NAME"
    parser.add_argument("domain", metavar="DOMAIN", help=what)
    several: Mapping[str, Any] = {"action": "append", "default": []}
    set_ = "an option of the domain; may be repeated"
    parser.add_argument("--set", dest="settings", metavar="KEY=VALUE", help=set_, **several)
    config = "a TOML file of options; flags win over it"
    parser.add_argument("--config", metavar="FILE", help=config)
    out = f"a new or empty folder for the files (default: {PARENT}/{folder})"
    parser.add_argument("--out", metavar="DIR", help=out)
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")
    observer = f"an observer that is told {told}; may be repeated"
    parser.add_argument("--observer", dest="observers", metavar="NAME", help=observer, **several)


def _about(name: str) -> str:
    with redirect_stdout(sys.stderr):  # what a plug-in prints is no part of the help
        options = _options(name)
    width = max(map(len, options), default=0)
    lines = [f"  {option:{width}}  {text}".rstrip() + "\n" for option, text in options.items()]
    return "".join([f"\noptions of {name}, for --set:\n", *(lines or ["  none\n"])])


def _options(name: str) -> Mapping[str, str]:
    from headway.cli._targets import describe_options, registered

    registry = Registry.discover()
    if registered(name, registry) is None:
        return describe_options(name)
    domain: Domain = registry.create("domain", name)
    return domain.options
