"""
Loads plug-ins one at a time, so that what is wrong with one stays with it.

Guarantees: a plug-in's fault, whatever it is, ends in a ``Failure`` of that plug-in and never in
an exception; a plug-in that requires another version of Headway is not imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from headway._secrets import redact
from headway.errors import ContractError
from headway.registry._entries import Entry
from headway.registry._kinds import HOOK_KINDS
from headway.registry._values import Failure, Implementation, Offer, Origin, Plugin, in_words
from headway.registry._versions import unmet
from headway.registry._vetting import implementations


def load(entry: Entry, running: str) -> Plugin:
    """
    Import a plug-in and see what it offers.

    Args:
        entry: The entry point that names it.
        running: The version of Headway that is running; ``""`` when that is not known.
    """
    try:
        _check_version(entry, running)
        plugin = entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - an import can do anything
        return Plugin(origin=entry.origin, failures=(_failure(entry.origin, "plug-in", error),))
    return examine(plugin, entry.origin)


def examine(plugin: object, origin: Origin) -> Plugin:
    """
    See what an imported plug-in offers.
    """
    try:
        found = implementations(plugin)
    except Exception as error:  # noqa: BLE001 - looking at an object can run its code
        return Plugin(origin=origin, failures=(_failure(origin, "plug-in", error),))
    offers: list[Offer] = []
    failures: list[Failure] = []
    for implementation in found:
        kind = HOOK_KINDS.get(implementation.hook)
        if kind is None:
            continue
        try:
            offers += _offers(implementation, kind, origin)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a hook can do anything
            failures.append(_failure(origin, kind, error, f"{implementation.hook} raised "))
    return Plugin(
        origin=origin, implementations=found, offers=tuple(offers), failures=tuple(failures)
    )


def _check_version(entry: Entry, running: str) -> None:
    requirement = running and unmet(entry.requires, running)
    if requirement:
        raise ContractError(f"it requires {requirement}, and headway {running} is running")


def _offers(implementation: Implementation, kind: str, origin: Origin) -> list[Offer]:
    names = implementation.call()
    if not isinstance(names, Mapping):
        raise ContractError(f"{implementation.hook} gave {names!r} instead of a mapping")
    offered = cast("Mapping[object, object]", names)
    return [_offer(kind, name, part, origin) for name, part in offered.items()]


def _offer(kind: str, name: object, part: object, origin: Origin) -> Offer:
    if not isinstance(name, str) or not name or ":" in name:
        raise ContractError(f"{name!r} cannot name a {kind}: use a string without ':'")
    if isinstance(part, str) and not all(part.partition(":")):
        raise ContractError(f"{kind} {name!r} is {part!r}: write it as 'module:attribute'")
    return Offer(kind=kind, name=name, part=part, origin=origin)


def _failure(origin: Origin, kind: str, error: BaseException, before: str = "") -> Failure:
    # A contract error was written for people; any other exception is shown with its type.
    told = str(error) if isinstance(error, ContractError) else before + in_words(error)
    return Failure(origin=origin, kind=kind, cause=redact(told).rstrip("."), error=error)
