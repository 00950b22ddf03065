"""
The registry: from the name that somebody typed to the part that it stands for.

Looked up, most explicit first: an object that is passed; what ``add`` was given; the offer of a
named distribution (``"distribution:name"``); the one plug-in that offers the name; a built-in.
A name that two distributions offer is never settled by who came first.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headway.errors import (
    HeadwayError,
    PluginConflictError,
    PluginLoadError,
    UnknownNameError,
    UsageError,
)
from headway.registry._events import EventHooks
from headway.registry._first_party import FOLDERS, remedy
from headway.registry._kinds import check_kind, check_part
from headway.registry._parts import part, refuse_options
from headway.registry._values import (
    Choice,
    Failure,
    Offer,
    Origin,
    Plugin,
    PluginRow,
    normalized,
    target_of,
)

if TYPE_CHECKING:
    from headway.registry._catalogue import Catalogue


class Registry:
    """
    The parts that a run can be made of.

    ``Registry()`` knows the built-in parts; ``Registry.discover()`` those of installed plug-ins
    too.  Neither looks for anything before it is first asked.  Safe to use from several threads at
    once.  It is a value to create, freeze before a run and pass; across a process boundary goes
    what it is asked for, a kind, a name and options, never a part.
    """

    def __init__(self) -> None:
        self._discovers = False
        self._frozen = False
        self._added: dict[tuple[str, str], Offer] = {}
        self._catalogue: Catalogue | None = None
        self._lock = threading.RLock()

    @classmethod
    def discover(cls) -> Registry:
        """
        A registry that looks for installed plug-ins when it is first asked for a part.
        """
        registry = cls()
        registry._discovers = True
        return registry

    @property
    def frozen(self) -> bool:
        """
        Whether it can no longer be added to.
        """
        return self._frozen

    def freeze(self) -> Registry:
        """
        Refuse every later ``add`` and ``register``; the registry itself, for chaining.
        """
        self._frozen = True
        return self

    def add(self, kind: str, name: str, obj: object, *, replace: bool = False) -> None:
        """
        Offer a part, or a class or function that makes one, under a name.

        Raises:
            UsageError: the registry is frozen, the name has a colon, or it exists and ``replace``
                was not asked for.
        """
        check_kind(kind)
        if not name or ":" in name:
            raise UsageError(f"{name!r} cannot name a {kind}: use a string without ':'")
        origin = Origin(entry=name, value=target_of(obj), distribution="", version="")
        with self._lock:
            self._check_thawed()
            if not replace and name in self.names(kind):
                raise UsageError(
                    f"there is a {kind} {name!r} already; pass replace=True to take over"
                )
            self._added[kind, name] = Offer(kind=kind, name=name, part=obj, origin=origin)

    def register(self, plugin: object, *, distribution: str) -> None:
        """
        Take in a plug-in object as if ``distribution`` had offered it.

        Raises:
            UsageError: the registry is frozen.
            PluginLoadError: something is wrong with it.
        """
        from headway.registry._loader import examine

        origin = Origin(
            entry=distribution, value=target_of(plugin), distribution=distribution, version=""
        )
        found = examine(plugin, origin)
        for failure in found.failures:
            raise failure.as_error() from failure.error
        with self._lock:
            self._check_thawed()
            self._catalogue = self._read().with_plugin(found)

    def names(self, kind: str) -> tuple[str, ...]:
        """
        The names of a kind that are on offer, sorted.
        """
        check_kind(kind)
        offered = {offer.name for offer in self._read().offers(kind)}
        return tuple(sorted(offered | {name for k, name in self._added if k == kind}))

    def distributions(self) -> tuple[str, ...]:
        """
        The distributions whose plug-ins can be used, sorted.
        """
        usable = (p for p in self._read().plugins if p.implementations)
        return tuple(sorted({p.origin.distribution for p in usable}))

    def create(self, kind: str, spec: object, **options: Any) -> Any:
        """
        The part that a specification stands for.

        Args:
            kind: One of ``KINDS``.
            spec: A part, which is returned as it is; a name; or ``"distribution:name"``.
            options: What the factory is called with.

        Raises:
            UnknownNameError: nobody offers the name.
            OptionError: an option is unknown or missing.
            UsageError: the object is no part of that kind, or the factory refused a value.
            PluginLoadError: the part cannot be loaded.
            PluginConflictError: two distributions offer the name.
            ContractError: what the factory made is no part of that kind.
        """
        check_kind(kind)
        if isinstance(spec, str):
            return part(self._offer(kind, spec), options)
        place = f"{kind} of type {type(spec).__qualname__}"
        check_part(kind, spec, f"what was given as {kind}", UsageError)
        refuse_options(place, options)
        return spec

    def describe(self, kind: str, spec: object) -> Choice:
        """
        What a specification stands for, without loading it.

        Raises:
            UnknownNameError: nobody offers the name.
            PluginLoadError: the plug-in that offers it cannot be loaded.
            PluginConflictError: two distributions offer the name.
        """
        check_kind(kind)
        if isinstance(spec, str):
            return self._offer(kind, spec).choice
        target = target_of(spec)
        return Choice(kind=kind, name=target.rpartition(":")[2], target=target)

    def hooks_for(self, distributions: Iterable[str]) -> EventHooks:
        """
        The event hooks of some distributions; ``""``, for what the program gave, has none.

        Raises:
            UnknownNameError: there is no such distribution.
            PluginLoadError: one of them cannot be loaded.
        """
        wanted = sorted({normalized(name) for name in distributions if name})
        return EventHooks(tuple(p for name in wanted for p in self._usable(name)))

    def listing(self, *, check: bool = False) -> tuple[PluginRow, ...]:
        """
        Everything on offer and what became of it.

        Args:
            check: Whether to import every target, to see if it can be.
        """
        from headway.registry._listing import rows

        return rows(self._read(), self._added.values(), check=check)

    def _read(self) -> Catalogue:
        from headway.registry._catalogue import read_catalogue

        with self._lock:
            if self._catalogue is None:
                self._catalogue = read_catalogue(discover=self._discovers)
            return self._catalogue

    def _check_thawed(self) -> None:
        if self._frozen:
            raise UsageError("the registry is frozen: add to it before the run, or make a new one")

    def _offer(self, kind: str, spec: str) -> Offer:
        if (kind, spec) in self._added:
            return self._added[kind, spec]
        distribution, _, name = spec.rpartition(":")
        offers = self._read().named(kind, name)
        if distribution:
            wanted = normalized(distribution)
            offers = tuple(o for o in offers if o.origin.distribution == wanted)
        found = [o for o in offers if not o.origin.builtin] or list(offers)
        if not found:
            raise self._missing(kind, spec)
        return _only(found)

    def _usable(self, distribution: str) -> tuple[Plugin, ...]:
        plugins = self._read().of(distribution)
        usable = tuple(plugin for plugin in plugins if plugin.implementations)
        if usable:
            return usable
        for failure in (failure for plugin in plugins for failure in plugin.failures):
            raise failure.as_error() from failure.error
        hint = self._read().left_out()
        raise UnknownNameError("plug-in", distribution, self.distributions(), hint)

    def _missing(self, kind: str, spec: str) -> HeadwayError:
        """
        The error for a name that nobody offers, or that only a broken plug-in could offer.
        """
        failures = self._read().failures(kind)
        for failure in failures:
            if _might_offer(failure, kind, spec):
                error = failure.as_error(kind, spec)
                error.__cause__ = failure.error
                return error
        broken = (f"{f.origin.distribution} cannot be loaded: {f.cause}." for f in failures)
        hints = (remedy(kind, spec), *broken, self._read().left_out())
        return UnknownNameError(kind, spec, self.names(kind), " ".join(filter(None, hints)))


def _only(offers: list[Offer]) -> Offer:
    first, *others = offers
    distributions = tuple(sorted({offer.origin.distribution for offer in offers}))
    if len(distributions) > 1:
        raise PluginConflictError(first.kind, first.name, distributions)
    if any(offer.target != first.target for offer in others):
        raise PluginLoadError(
            kind=first.kind,
            name=first.name,
            target=first.target,
            distribution=first.origin.distribution,
            version=first.origin.version,
            cause=f"the distribution offers this name also for {others[0].target}",
        )
    return first


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
