"""
The registry: from the name that somebody typed to the part that it stands for.

Looked up, most explicit first: an object that is passed; what ``add`` was given; the offer of a
named distribution (``"distribution:name"``); the one plug-in that offers the name; a built-in.
A name that two distributions offer is never settled by who came first.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from headway.errors import ContractError, UsageError, shown
from headway.registry._events import EventHooks
from headway.registry._kinds import check_kind, check_part
from headway.registry._parts import options_of, part, refuse_options, target
from headway.registry._values import (
    Choice,
    Offer,
    Origin,
    PluginRow,
    normalized,
    target_of,
)

if TYPE_CHECKING:
    from headway.contracts import StalenessPolicy
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
        from headway.registry._catalogue import warn_of_deprecated
        from headway.registry._loader import examine

        origin = Origin(
            entry=distribution, value=target_of(plugin), distribution=distribution, version=""
        )
        found = examine(plugin, origin)
        for failure in found.failures:
            raise failure.as_error() from failure.error
        warn_of_deprecated(found)
        with self._lock:
            self._check_thawed()
            self._catalogue = self._read().with_plugin(found)

    def names(self, kind: str) -> tuple[str, ...]:
        """
        The names of a kind that are on offer, sorted.
        """
        check_kind(kind)
        with self._lock:
            offered = {offer.name for offer in self._read().offers(kind)}
            return tuple(sorted(offered | {name for k, name in self._added if k == kind}))

    def distributions(self) -> tuple[str, ...]:
        """
        The distributions whose plug-ins can be used, sorted.
        """
        return self._read().distributions()

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

    def load(self, kind: str, name: str) -> Any:
        """
        What a name stands for, imported and not called: a factory, or a part.

        Args:
            kind: One of ``KINDS``.
            name: A name, or ``"distribution:name"``.

        Raises:
            UnknownNameError: nobody offers the name.
            PluginLoadError: it cannot be imported.
            PluginConflictError: two distributions offer the name.
        """
        check_kind(kind)
        return target(self._offer(kind, name))

    def options_of(self, kind: str, spec: object) -> tuple[str, ...]:
        """
        The options that ``create`` takes for a specification; none for a part that is passed.

        Raises:
            UnknownNameError: nobody offers the name.
            PluginLoadError: the part cannot be loaded.
            PluginConflictError: two distributions offer the name.
        """
        check_kind(kind)
        return options_of(self._offer(kind, spec)) if isinstance(spec, str) else ()

    def defaults_of(self, spec: object) -> Mapping[str, Any]:
        """
        The options of a run that an aggregator brings, as its ``defaults`` say.

        Args:
            spec: As for ``create``; also a class or a function that makes an aggregator.

        Raises:
            UnknownNameError: nobody offers the name.
            PluginLoadError: the part cannot be loaded.
            PluginConflictError: two distributions offer the name.
            ContractError: its ``defaults`` are no mapping.
        """
        found = target(self._offer("aggregator", spec)) if isinstance(spec, str) else spec
        defaults: Any = getattr(found, "defaults", {})
        if not isinstance(defaults, Mapping):
            who = self.describe("aggregator", spec)
            raise ContractError(
                f"the aggregator {who} has defaults={shown(defaults)}; it must be a mapping from "
                "options of a run to values"
            )
        return cast("Mapping[str, Any]", defaults)

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
        from headway.registry._lookup import usable

        wanted = sorted({normalized(name) for name in distributions if name})
        return EventHooks(tuple(p for name in wanted for p in usable(self._read(), name)))

    def listing(self, *, check: bool = False) -> tuple[PluginRow, ...]:
        """
        Everything on offer and what became of it.

        Args:
            check: Whether to import every target, to see if it can be.
        """
        from headway.registry._listing import rows

        return rows(self._read(), tuple(self._added.values()), check=check)

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
        from headway.registry._lookup import find

        return find(self._read(), kind, spec, self.names(kind))


def get_policy(name: str) -> StalenessPolicy:
    """
    The staleness policy of that name, built in or of an installed plug-in.

    >>> get_policy("reflective").decide(9, 2, False)
    'rebase'

    Raises:
        UnknownNameError: nobody offers the name; the error lists the names on offer.
        PluginLoadError: the plug-in that offers it cannot be loaded.
        PluginConflictError: two distributions offer the name.
    """
    policy: StalenessPolicy = Registry.discover().create("staleness policy", name)
    return policy
