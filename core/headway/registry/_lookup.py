"""
Which offer a name stands for, among those of plug-ins and the built-in ones.

The one plug-in that offers a name comes before a built-in part of that name.  Two plug-ins that
offer one name are an error for whoever asks for it, never settled by who came first.
"""

from __future__ import annotations

from headway.errors import HeadwayError, PluginConflictError, UnknownNameError
from headway.registry._catalogue import Catalogue
from headway.registry._first_party import FOLDERS, remedy
from headway.registry._values import Failure, Offer, Plugin, normalized


def find(catalogue: Catalogue, kind: str, spec: str, known: tuple[str, ...]) -> Offer:
    """
    The offer that ``"name"`` or ``"distribution:name"`` stands for.

    Args:
        catalogue: What is on offer.
        kind: One of ``KINDS``.
        spec: What somebody typed.
        known: The names to suggest when there is no such offer.

    Raises:
        UnknownNameError: nobody offers the name.
        PluginLoadError: the plug-in that would offer it cannot be loaded.
        PluginConflictError: several distributions offer it.
    """
    distribution, _, name = spec.rpartition(":")
    offers = catalogue.named(kind, name)
    if distribution:
        wanted = normalized(distribution)
        offers = tuple(o for o in offers if o.origin.distribution == wanted)
    found = [o for o in offers if not o.origin.builtin] or list(offers)
    if not found:
        raise _missing(catalogue, kind, spec, known)
    return _only(found)


def usable(catalogue: Catalogue, distribution: str) -> tuple[Plugin, ...]:
    """
    The plug-ins of a distribution, which somebody asked for as a whole.

    Raises:
        UnknownNameError: there is no such distribution.
        PluginLoadError: it cannot be loaded.
    """
    plugins = catalogue.of(distribution)
    found = tuple(plugin for plugin in plugins if plugin.implementations)
    if found:
        return found
    for failure in (failure for plugin in plugins for failure in plugin.failures):
        raise failure.as_error() from failure.error
    known = catalogue.distributions()
    raise UnknownNameError("plug-in", distribution, known, _left_out(catalogue, distribution))


def _only(offers: list[Offer]) -> Offer:
    first, *others = offers
    distributions = tuple(sorted({offer.origin.distribution for offer in offers}))
    if len(distributions) > 1:
        raise PluginConflictError(first.kind, first.name, distributions)
    if any(offer.target != first.target for offer in others):
        raise first.load_error(f"the distribution offers this name also for {others[0].target}")
    return first


def _missing(catalogue: Catalogue, kind: str, spec: str, known: tuple[str, ...]) -> HeadwayError:
    failures = catalogue.failures(kind)
    for failure in failures:
        if _might_offer(failure, kind, spec):
            error = failure.as_error(kind, spec)
            error.__cause__ = failure.error
            return error
    broken = (f"{f.origin.distribution} cannot be loaded: {f.cause}." for f in failures)
    wanted = spec.rpartition(":")[0] or FOLDERS.get((kind, spec), "")
    there = normalized(wanted) in catalogue.left_out()
    hints = (*broken, _left_out(catalogue, wanted), "" if there else remedy(kind, spec))
    return UnknownNameError(kind, spec, known, " ".join(filter(None, hints)))


def _left_out(catalogue: Catalogue, wanted: str) -> str:
    """
    What ``HEADWAY_PLUGINS`` leaves out, and that it need not leave out what somebody wants.
    """
    names = catalogue.left_out()
    if normalized(wanted) in names:
        return f"HEADWAY_PLUGINS leaves out {normalized(wanted)}: name it there, too."
    return f"HEADWAY_PLUGINS leaves out {', '.join(names)}." if names else ""


def _might_offer(failure: Failure, kind: str, spec: str) -> bool:
    """
    Whether whoever asked for a name asked, by all signs, for a plug-in that failed.
    """
    distribution, _, name = spec.rpartition(":")
    origin = failure.origin
    if distribution:
        return normalized(distribution) == origin.distribution
    named = {origin.entry, origin.distribution, origin.distribution.removeprefix("headway-")}
    return name in named or FOLDERS.get((kind, name)) == origin.distribution
