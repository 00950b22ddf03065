"""
From an offer to a part: import the target, check the options, call the factory.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial, reduce
from importlib import import_module
from typing import Any, TypeGuard

from headway.errors import ContractError, HeadwayError, OptionError, UsageError, suggestion
from headway.registry._kinds import check_part
from headway.registry._values import Offer, in_words


def target(offer: Offer) -> object:
    """
    The factory or the part that an offer stands for, imported when it is lazy.

    Raises:
        PluginLoadError: it cannot be imported.
    """
    if not isinstance(offer.part, str):
        return offer.part
    module, _, attribute = offer.part.partition(":")
    try:
        return reduce(getattr, attribute.split("."), import_module(module))
    except (Exception, SystemExit) as error:  # an import can do anything; it is named
        raise offer.load_error(in_words(error)) from error


def part(offer: Offer, options: Mapping[str, Any]) -> object:
    """
    The part that an offer stands for, made with options where a factory makes it.

    Raises:
        OptionError: an option is unknown or missing.
        UsageError: the factory refused a value.
        PluginLoadError: the target cannot be imported, or the factory failed.
        ContractError: what came out is no part of that kind.
    """
    made = target(offer)
    place = f"{offer.kind} {offer.name!r}"
    if is_factory(made):
        check_options(place, made, options)
        made = _made(offer, place, partial(made, **options))
    elif options:
        refuse_options(place, options)
    check_part(offer.kind, made, f"{place} of {offer.choice}", ContractError)
    return made


def options_of(offer: Offer) -> tuple[str, ...]:
    """
    The options that the factory behind an offer takes by name; none when it is no factory.

    Raises:
        PluginLoadError: the target cannot be imported.
    """
    made = target(offer)
    if not is_factory(made):
        return ()
    try:
        parameters = inspect.signature(made).parameters.values()
    except ValueError:  # as in check_options
        return ()
    return tuple(p.name for p in parameters if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY})


def is_factory(thing: object) -> TypeGuard[Callable[..., object]]:
    """
    Whether a target makes a part instead of being one: a class, a function or a ``partial``.
    """
    return inspect.isclass(thing) or inspect.isroutine(thing) or isinstance(thing, partial)


def check_options(place: str, factory: Callable[..., object], options: Mapping[str, Any]) -> None:
    """
    Hold options against a factory's signature before it is called.

    Raises:
        OptionError: one is not among the factory's parameters, or one without a default is missing.
    """
    try:
        parameters = inspect.signature(factory).parameters.values()
    except ValueError:  # some built-in callables have no signature; the call itself will tell
        return
    named = [p for p in parameters if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}]
    known = tuple(p.name for p in named)
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        refuse_options(place, {o: v for o, v in options.items() if o not in known}, known)
    missing = [p.name for p in named if p.default is p.empty and p.name not in options]
    if missing:
        raise OptionError(missing[0], None, f"{place} cannot be made without this option.")


def refuse_options(place: str, options: Mapping[str, Any], known: tuple[str, ...] = ()) -> None:
    """
    Name the first option that a place does not have, if there is one.

    Raises:
        OptionError: there is one.
    """
    for option, value in options.items():
        hint = suggestion(option, known)
        choices = f"Options: {', '.join(known)}." if known else "It takes no options."
        raise OptionError(option, value, f"{place} has no such option.{hint} {choices}")


def _made(offer: Offer, place: str, make: partial[object]) -> object:
    try:
        return make()
    except HeadwayError:
        raise
    except (TypeError, ValueError) as error:
        if not make.keywords:
            raise offer.load_error(in_words(error)) from error
        # What validators of attrs classes raise: with options given, one of them is the likely
        # culprit, and the cause stands behind the message either way.
        raise UsageError(f"{place} refused its options: {in_words(error)}") from error
    except (Exception, SystemExit) as error:  # a factory can do anything; it is named
        raise offer.load_error(in_words(error)) from error
