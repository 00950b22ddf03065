"""
Flags of ``headway run`` and ``headway compare`` that are made from the fields of ``RunOptions``.

A flag's text is turned into a value here; what values are allowed is for ``RunOptions`` to say.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args, get_type_hints

import attrs

from headway._checks import BOOLEANS
from headway._group_notes import FOR_OUTCOMES
from headway.durations import Law, parse_law
from headway.errors import OptionError, UsageError, suggestion
from headway.options import WORK, RunOptions

SHORT: Mapping[str, str] = {"n_workers": "--workers", "target_reward": "--target"}
"""Options whose flag is not simply their name."""

ALIASES: Mapping[str, str] = {
    "max_rollouts": "--max-iters",
    "policy": "--staleness-policy",
    "estimator": "--duration-estimator",
}
"""Flags that stand for the same: what ``evolve`` calls these options."""

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


def add_flags(parser: argparse.ArgumentParser, *, without: Iterable[str] = ()) -> None:
    """
    Add a flag for every option of a run.

    Args:
        parser: Whose flags they are.
        without: Options that get none, because the command takes several of each.
    """
    fields = {f.name: f for f in attrs.fields(RunOptions) if f.name not in set(without)}
    usual = parser.add_argument_group("the usual options of a run")
    for name in USUAL:
        if name in fields:
            _add(usual, fields.pop(name))
    groups = parser.add_argument_group(
        "for aggregators that learn from outcomes",
        "such as evolution strategies; any other has no use for them",
    )
    for name in ("updates", *FOR_OUTCOMES, "mask_beyond"):
        if name in fields:
            _add(groups, fields.pop(name))
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
    texts = {name: getattr(args, name, None) for name in names}
    return {name: _value(name, text) for name, text in texts.items() if text is not None}


def read_words(flag: str, text: str) -> tuple[str, ...]:
    """
    Words between commas; an empty text has none.

    Raises:
        OptionError: there is nothing between two commas.
    """
    words = tuple(word.strip() for word in text.split(",")) if text else ()
    if not all(words):
        raise OptionError(flag, text, "Give names with a comma between them.")
    return words


def read_workers(flag: str, text: str) -> tuple[int, ...]:
    """
    Whole numbers between commas.

    >>> read_workers("--workers", "8,32")
    (8, 32)

    Raises:
        OptionError: there is something else.
    """
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise OptionError(flag, text, "Give whole numbers, such as 8 or 8,32.") from None


def read_seeds(flag: str, text: str) -> tuple[int, ...]:
    """
    Seeds and ranges of seeds between commas; a range includes both of its ends.

    >>> read_seeds("--seeds", "7,0-3")
    (7, 0, 1, 2, 3)

    Raises:
        OptionError: there is something else, or a range that ends before it begins.
    """
    seeds: list[int] = []
    for word in text.split(","):
        found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", word)
        first, last = (found[1], found[2] or found[1]) if found else ("1", "0")
        if int(last) < int(first):
            raise OptionError(flag, text, "Give seeds and ranges, such as 0-9 or 1,3,5-7.")
        seeds += range(int(first), int(last) + 1)
    return tuple(seeds)


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


def read_option(flag: str, text: str) -> tuple[str, Any]:
    """
    An option of a run and its value, from ``KEY=VALUE``; the key may be a flag's name too.

    >>> read_option("--what-if", "n_workers=16"), read_option("--what-if", "workers=16")
    (('n_workers', 16), ('n_workers', 16))

    Raises:
        UsageError: there is no such option, or the text stands for no value of its type.
    """
    key, value = split_pair(flag, text)
    named = {
        f.removeprefix("--").replace("-", "_"): n for n, f in (*SHORT.items(), *ALIASES.items())
    }
    option = named.get(key.replace("-", "_"), key.replace("-", "_"))
    known = [field.name for field in attrs.fields(RunOptions)]
    if option not in known:
        raise unknown(flag, key, known, "options of a run")
    if bool in _types(option):
        if value.lower() not in BOOLEANS:
            raise OptionError(f"{flag} {key}", value, "Give true or false.")
        return option, BOOLEANS[value.lower()]
    return option, value if option == "durations" else _value(option, value)


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
    flags = [flag_of(field.name), *filter(None, [ALIASES.get(field.name)])]
    group.add_argument(*flags, **more)


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
