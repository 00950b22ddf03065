"""
What the commands that look at run directories have in common: versions by name, and their files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import Any

import attrs

from headway.cli._config_file import read_config, refuse_hidden
from headway.cli._targets import make_domain
from headway.contracts import Domain, Json, Ledger, LedgerEntry, Snapshot
from headway.errors import LedgerError, RunDirectoryError, UsageError
from headway.registry import Registry
from headway.rundir import OpenRun
from headway.rundir._files import CONFIG, check_files

PLAIN = "state.json"
"""The file that stands for a state that nobody renders."""


def add_directory(parser: Any) -> None:
    """
    Add the argument that names a run directory.
    """
    parser.add_argument("directory", metavar="DIR", help="the run directory")


def version_of(kept: OpenRun, ledger: Ledger, named: str) -> Snapshot:
    """
    The version that somebody named: a number, ``head``, or ``stable``.

    Raises:
        UsageError: there is no such version, or its state was let go.
    """
    try:
        if named == "head":
            return ledger.snapshot()
        if named == "stable":
            return ledger.snapshot("stable")
        if not (named.isascii() and named.isdigit()):
            raise UsageError(f"{named}: this is no version. Give a number, head or stable.")
        return ledger.snapshot("dev", int(named))
    except LedgerError as error:
        head = ledger.snapshot().version
        remedy = f"Give a number from 0 to {head}, head or stable."
        raise RunDirectoryError(str(kept.path), f"{error}.", remedy) from error


def entry_of(ledger: Ledger, version: int) -> LedgerEntry | None:
    """
    What the ledger says about a version; None about the one that a run began with.
    """
    return next((entry for entry in ledger.log() if entry.version == version), None)


def domain_of(kept: OpenRun) -> Domain:
    """
    The domain of a run, made again as the run directory says.

    Raises:
        UsageError: it can't be, or it was made with a secret.
    """
    path = str(kept.path / CONFIG)
    file = read_config(path)
    refuse_hidden(path, file.domain)
    return make_domain(file.name, file.domain, Registry.discover())


@attrs.define(eq=False)
class Renderer:
    """
    Makes files of states, as the run's domain does where it can be made by name.

    Args:
        kept: The run directory.
    """

    kept: OpenRun
    _domain: Domain | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        if not (self.kept.path / CONFIG).is_file():
            self._say(f"there is no {CONFIG} in it that names its domain")
            return
        with redirect_stdout(sys.stderr):  # what a plug-in prints is no part of the answer
            try:
                self._domain = domain_of(self.kept)
            except Exception as error:  # noqa: BLE001 - a domain can raise anything; it can be done without
                self._say(f"its domain can't be made here: {error}")

    def files(self, state: Json) -> Mapping[str, str]:
        """
        A state as files, path to text.

        Raises:
            ContractError: the domain names a file that would lie elsewhere.
        """
        if self._domain is None:
            return {PLAIN: json.dumps(state, indent=2, sort_keys=True, ensure_ascii=False) + "\n"}
        with redirect_stdout(sys.stderr):
            files = dict(self._domain.render(state))
        check_files(files)
        return files

    def _say(self, why: str) -> None:
        sys.stderr.write(f"headway: note: {self.kept.path} is shown as JSON, since {why}\n")
