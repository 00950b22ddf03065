"""
Flags of ``headway run`` that are made from the fields of ``RunOptions``.

A flag's text is turned into a value here; what values are allowed is for ``RunOptions`` to say.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any, get_args, get_type_hints

import attrs

from headway.durations import Law, parse_law
from headway.errors import OptionError, UsageError, suggestion
from headway.options import WORK, RunOptions

SHORT: Mapping[str, str] = {"n_workers": "--workers", "target_reward": "--target"}
"""Options whose flag is not simply their name."""

USUAL = (
    "mode",
    "driver",
    "seed",
    "n_workers",
    "async_ratio",
    "policy",
    "aggregator",
    "max_rollouts",
    "max_seconds",
    "target_reward",
)
"""The options that ``--help`` shows first."""


def flag_of(option: str) -> str:
    """
    The flag of an option.

    >>> flag_of("n_workers"), flag_of("max_rollouts")
    ('--workers', '--max-rollouts')
    """
    return SHORT.get(option, f"--{option.replace('_', '-')}")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """
    Add a flag for every option of a run.
    """
    fields = {field.name: field for field in attrs.fields(RunOptions)}
    usual = parser.add_argument_group("the usual options of a run")
    for name in USUAL:
        _add(usual, fields.pop(name))
    more = parser.add_argument_group("all other options of a run")
    for field in fields.values():
        _add(more, field)


def values_of(args: argparse.Namespace) -> dict[str, Any]:
    """
    The options that were given as flags, by name.

    Raises:
        OptionError: a flag's text does not stand for a value of its type.
    """
    names = (field.name for field in attrs.fields(RunOptions))
    texts = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return {name: _value(name, text) for name, text in texts.items()}


def read_laws(laws: Iterable[tuple[str, Any, str]]) -> dict[str, Law]:
    """
    Laws by kind of work.

    Args:
        laws: Kind, the law's text, and the place where both were given.

    Raises:
        UsageError: there is no such kind, or the text is no law.
    """
    found: dict[str, Law] = {}
    for kind, text, place in laws:
        if kind not in WORK:
            raise unknown(place, kind, WORK, "kinds of work")
        found[kind] = parse_law(str(text), option=f"{place}: {kind}")
    return found


def split_pair(flag: str, text: str, form: str = "KEY=VALUE") -> tuple[str, str]:
    """
    The two halves of ``key=value``.

    Args:
        flag: The flag that the text was given to.
        text: What was given.
        form: How to write it, for the error.

    Raises:
        OptionError: the text is no such pair.
    """
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise OptionError(flag, text, f"Write it as {form}.")
    return key, value


def unknown(place: str, name: str, known: Iterable[str], what: str) -> UsageError:
    """
    The error for a name that is not known, with a suggestion.
    """
    choices = sorted(known)
    hint = suggestion(name, choices)
    listed = ", ".join(choices) or "none"
    return UsageError(f"{place}: there is no {name!r}.{hint} The {what}: {listed}.")


def _add(group: Any, field: attrs.Attribute[Any]) -> None:
    types = _types(field.name)
    default = "" if field.default is None else f" (default: {_shown(field.default)})"
    more: dict[str, Any] = {"dest": field.name, "default": None}
    about = str(field.metadata["help"]).removesuffix(": a name or an object")
    more["help"] = f"{about}{default}"
    if bool in types:
        more["action"] = argparse.BooleanOptionalAction
    elif field.name == "durations":
        more |= {"action": "append", "metavar": "KIND=LAW", "help": f"{about}; may be repeated"}
    else:
        more["metavar"] = "N" if int in types else "X" if float in types else "NAME"
    group.add_argument(flag_of(field.name), **more)


def _shown(default: Any) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def _types(option: str) -> tuple[Any, ...]:
    hint = get_type_hints(RunOptions)[option]
    return (hint, *get_args(hint))


def _value(option: str, given: Any) -> Any:
    types = _types(option)
    if option == "durations":
        flag = flag_of(option)
        form = "KIND=LAW, such as rollout=lognormal:1,1"
        return read_laws((*split_pair(flag, pair, form), flag) for pair in given)
    if isinstance(given, bool):
        return given
    if int in types:
        return _number(option, given, int, "Give a whole number.")
    if float in types:
        return _number(option, given, float, "Give a number.")
    return given


def _number(option: str, text: str, read: type[int | float], remedy: str) -> int | float:
    try:
        return read(text)
    except ValueError:
        raise OptionError(flag_of(option), text, remedy) from None
