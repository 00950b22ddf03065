"""
The TOML file of ``headway run``, read for ``--config``; ``headway.rundir`` writes one for every run.

Its top level holds options of a run under their names, ``[domain]`` what ``--set`` would give,
``[durations]`` a law for each kind of work.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from headway._secrets import REDACTED
from headway.cli._flags import ALIASES, SHORT, read_laws, unknown
from headway.errors import UsageError, suggestion
from headway.options import PARTS, option_names
from headway.rundir._recipe import NAME

_ALIASES: Mapping[str, str] = {
    flag.removeprefix("--").replace("-", "_"): option
    for flags in (SHORT, ALIASES)
    for option, flag in flags.items()
}
"""Options that a file may also call by another name."""


@attrs.frozen(kw_only=True)
class ConfigFile:
    """
    What a file says.

    Args:
        path: The file, as the user wrote it.
        options: Options of the run.
        domain: Options of the domain.
        observers: Names of observers.
        name: What the domain is called, where a run wrote the file; else ``""``.
    """

    path: str
    options: Mapping[str, Any]
    domain: Mapping[str, Any]
    observers: tuple[str, ...]
    name: str = ""


def read_config(path: str) -> ConfigFile:
    """
    Read a file.

    Raises:
        UsageError: it cannot be read, is no TOML, or has a key that nobody knows.
    """
    table = _parsed(path)
    domain = _table(path, table, "domain")
    laws = _table(path, table, "durations")
    observers = _observers(path, table.pop("observers", []))
    name = str(table.pop(NAME, ""))
    table = _under_own_names(path, table)
    known = (*option_names(), "domain", "durations", "observers")
    for key, value in table.items():
        if key not in known:
            raise _unknown(path, key, (*known, *_ALIASES))
        if key in PARTS and not isinstance(value, str):
            raise UsageError(f"{path}: {key}={value!r}: Give a name, in quotes.")
    if laws:
        place = f"{path}: durations"
        table["durations"] = read_laws((kind, text, place) for kind, text in laws.items())
    return ConfigFile(path=path, options=table, domain=domain, observers=observers, name=name)


def refuse_hidden(path: str, domain: Mapping[str, Any]) -> None:
    """
    Refuse an option of the domain in whose place ``Recipe.text`` wrote that it was a secret.

    Args:
        path: The file that it came from.
        domain: The options of the domain, with those that were given beside the file.

    Raises:
        UsageError: there is one.
    """
    for option, value in domain.items():
        if _is_hidden(value):
            # Worded so that nothing stands behind the name that could be taken for the secret.
            told = (
                f"{path}: the option {option!r} of the domain was a secret, and not written down."
            )
            remedy = "Give it again with --set KEY=VALUE, or in a copy of the file."
            raise UsageError(f"{told} {remedy}")


def _is_hidden(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_is_hidden, cast("dict[str, Any]", value).values()))
    if isinstance(value, list):
        return any(map(_is_hidden, cast("Sequence[Any]", value)))
    return bool(value == REDACTED)


def _parsed(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: this is no TOML: {error}. Mend the file there.") from None
    except UnicodeDecodeError as error:
        remedy = "Save it as UTF-8."
        raise UsageError(f"{path}: byte {error.start} is not UTF-8. {remedy}") from None
    except OSError as error:
        remedy = "Give a TOML file that can be read, or leave --config out."
        raise UsageError(f"--config {path}: {error.strerror}. {remedy}") from None


def _under_own_names(path: str, table: Mapping[str, Any]) -> dict[str, Any]:
    for alias, option in _ALIASES.items():
        if alias in table and option in table:
            raise UsageError(f"{path}: {alias} and {option} are the same option. Give one of them.")
    return {_ALIASES.get(key, key): value for key, value in table.items()}


def _unknown(path: str, key: str, known: Sequence[str]) -> UsageError:
    # Who is told what was meant does not want to read all that might have been.
    if hint := suggestion(key, known):
        return UsageError(f"{path}: there is no {key!r}.{hint}")
    return unknown(path, key, known, "options of a run and tables")


def _table(path: str, table: dict[str, Any], name: str) -> dict[str, Any]:
    held: Any = table.pop(name, {})
    if not isinstance(held, dict):
        raise UsageError(f"{path}: {name}={held!r}: Make it a table, [{name}].")
    return cast("dict[str, Any]", held)


def _observers(path: str, given: Any) -> tuple[str, ...]:
    names = tuple(cast("Sequence[object]", given)) if isinstance(given, list) else (None,)
    texts = tuple(name for name in names if isinstance(name, str))
    if texts != names:
        raise UsageError(f"{path}: observers={given!r}: Give a list of names.")
    return texts
