"""
The rows of ``headway plugins``: one a name, and one a plug-in that offers none.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from headway.errors import PluginLoadError
from headway.registry._catalogue import Catalogue
from headway.registry._kinds import HOOK_KINDS
from headway.registry._parts import target
from headway.registry._values import Failure, Offer, Origin, Plugin, PluginRow, Status


def rows(catalogue: Catalogue, added: Iterable[Offer], *, check: bool) -> tuple[PluginRow, ...]:
    """
    Everything that is on offer and what became of it, sorted by kind and name.

    Args:
        catalogue: What was discovered.
        added: What the program added itself.
        check: Whether every target is to be imported.
    """
    found = [_row(offer, (), _Verdict("ok"), check=check) for offer in added]
    for plugin in catalogue.plugins:
        found += [_of_offer(catalogue, plugin, offer, check=check) for offer in plugin.offers]
        found += [_of_failure(failure, plugin.hooks) for failure in plugin.failures]
        if not plugin.offers and not plugin.failures:
            found.append(_of_plugin(plugin))
    return tuple(sorted(found, key=lambda row: (row.kind, row.name, row.distribution)))


@attrs.frozen
class _Verdict:
    status: Status
    detail: str = ""


def _of_offer(catalogue: Catalogue, plugin: Plugin, offer: Offer, *, check: bool) -> PluginRow:
    hooks = tuple(h for h in plugin.hooks if HOOK_KINDS.get(h, offer.kind) == offer.kind)
    return _row(offer, hooks, _standing(catalogue, offer), check=check)


def _row(offer: Offer, hooks: tuple[str, ...], verdict: _Verdict, *, check: bool) -> PluginRow:
    told = (_broken(offer) if check else None) or verdict
    return PluginRow(
        kind=offer.kind,
        name=offer.name,
        target=offer.target,
        distribution=offer.origin.distribution,
        version=offer.origin.version,
        hooks=hooks,
        status=told.status,
        detail=told.detail,
    )


def _broken(offer: Offer) -> _Verdict | None:
    try:
        target(offer)
    except PluginLoadError as error:
        return _Verdict("broken", error.cause)
    return None


def _standing(catalogue: Catalogue, offer: Offer) -> _Verdict:
    """
    How an offer stands among those of the same name.
    """
    offers = catalogue.named(offer.kind, offer.name)
    foreign = {o.origin.distribution for o in offers if not o.origin.builtin}
    rivals = ", ".join(sorted(foreign - {offer.origin.distribution}))
    if not rivals:
        return _Verdict("ok")
    say = f"say {offer.origin.distribution}:{offer.name} to get this one"
    if offer.origin.builtin:
        return _Verdict("shadowed", f"{rivals} comes first; {say}")
    return _Verdict("conflict", f"also offered by {rivals}; {say}")


def _of_failure(failure: Failure, hooks: tuple[str, ...]) -> PluginRow:
    return _about(failure.origin, hooks, failure.kind, _Verdict("broken", failure.cause))


def _of_plugin(plugin: Plugin) -> PluginRow:
    left_out = _Verdict("left out", "HEADWAY_PLUGINS does not name it")
    verdict = left_out if plugin.left_out else _Verdict("ok")
    return _about(plugin.origin, plugin.hooks, "plug-in", verdict)


def _about(origin: Origin, hooks: tuple[str, ...], kind: str, verdict: _Verdict) -> PluginRow:
    return PluginRow(
        kind=kind,
        name=origin.entry,
        target=origin.value,
        distribution=origin.distribution,
        version=origin.version,
        hooks=hooks,
        status=verdict.status,
        detail=verdict.detail,
    )
