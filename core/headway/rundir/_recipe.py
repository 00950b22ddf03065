"""
The file from which a run can be begun again, or gone on with, by names alone.

Its top level holds options of the run under their names and, as ``domain_name``, what the domain is
called; ``[domain]`` holds the options that the domain is made with, ``[durations]`` a law for each
kind of work.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from headway._secrets import without_secrets
from headway.errors import OtherRunError
from headway.options import PARTS, RunOptions, option_names
from headway.rundir._files import CONFIG, write

NAME = "domain_name"
"""The key that says what the domain is called."""

_OF_A_DIRECTORY = "sqlite"
"""The ledger that a run directory has unless another one is chosen; elsewhere it has no file."""


@attrs.frozen(kw_only=True)
class Recipe:
    """
    What a run is begun with, when all of it has a name.

    Args:
        domain: The domain's name, as it was given.
        options: The effective options of the run, every part by its name; one that is an object is
            among the domain's defaults, and comes with the domain.
        settings: The options that the domain is made with.
        observers: Names of observers.
    """

    domain: str
    options: RunOptions
    settings: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    observers: Sequence[str] = ()

    def text(self) -> str:
        """
        The file.

        A secret is not written down: ``[redacted]`` stands in its place, and must be given again.
        """
        options = self.options
        names = (name for name in option_names() if name != "durations")
        top = {name: held for name in names if (held := getattr(options, name)) is not None}
        top = {name: held for name, held in top.items() if not _is_brought(name, held)}
        if top["ledger"] == _OF_A_DIRECTORY:
            del top["ledger"]
        laws = {kind: str(law) for kind, law in (options.durations or {}).items()}
        if self.observers:
            top["observers"] = list(self.observers)
        top[NAME] = self.domain
        lines = [f"# headway run {self.domain} --config THIS-FILE", *_lines(top)]
        safe = cast("Mapping[str, Any]", without_secrets(self.settings))
        tables: dict[str, Mapping[str, Any]] = {"domain": safe, "durations": laws}
        for title, table in tables.items():
            if table:
                lines += ["", f"[{title}]", *_lines(table)]
        return "\n".join(lines) + "\n"

    def keep(self, folder: Path) -> None:
        """
        Write the file into a run directory.

        Raises:
            HeadwayError: it cannot be written.
        """
        write(folder, CONFIG, self.text())

    def check(self, folder: Path) -> None:
        """
        See that the run of a directory was begun with a domain that was made like this one.

        Raises:
            OtherRunError: it was not; the first option that differs is named.
        """
        try:
            began = tomllib.loads((folder / CONFIG).read_text(encoding="utf-8"))
        except (OSError, ValueError):  # it is for people, and they may have mended or removed it
            return
        mine = tomllib.loads(self.text())
        was, now = (cast("dict[str, Any]", table.get("domain", {})) for table in (began, mine))
        for key in {**was, **now}:
            if was.get(key) != now.get(key):
                raise OtherRunError(str(folder), f"domain.{key}", was.get(key), now.get(key))


def _is_brought(name: str, held: object) -> bool:
    return name in PARTS and not isinstance(held, str)


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_toml(value)}" for key, value in table.items()]


def _key(key: str) -> str:
    bare = key.replace("-", "").replace("_", "")
    return key if bare.isascii() and bare.isalnum() else _quoted(key)


def _quoted(text: str) -> str:
    # JSON's escapes are TOML's too; of the characters that TOML wants escaped, JSON leaves DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, cast('Sequence[object]', value)))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(_lines(cast('Mapping[str, object]', value)))}}}"
    return str(value)  # numbers, dates and times are written as Python writes them
