"""
Everything that is on offer: the built-in parts and those of installed plug-ins.
"""

from __future__ import annotations

import warnings
from importlib import import_module

import attrs

from headway._deprecated import HOOKS
from headway._secrets import redact
from headway.errors import DeprecatedHookWarning, HeadwayError, PluginWarning, UsageError
from headway.registry._entries import (
    Entry,
    allowed_distributions,
    installed_entries,
    is_strict,
    missing_distributions,
    running_version,
)
from headway.registry._loader import load
from headway.registry._values import Failure, Offer, Origin, Plugin

_BUILTINS = "headway.builtins._plugin"


@attrs.frozen(eq=False)
class Catalogue:
    """
    What became of every plug-in, in the order in which they were loaded.
    """

    plugins: tuple[Plugin, ...]

    def offers(self, kind: str) -> tuple[Offer, ...]:
        """
        Everything of a kind, whoever offers it.
        """
        return tuple(o for plugin in self.plugins for o in plugin.offers if o.kind == kind)

    def named(self, kind: str, name: str) -> tuple[Offer, ...]:
        """
        Who offers a name.
        """
        return tuple(offer for offer in self.offers(kind) if offer.name == name)

    def failures(self, kind: str) -> tuple[Failure, ...]:
        """
        What failed and might have offered a part of this kind.
        """
        every = (failure for plugin in self.plugins for failure in plugin.failures)
        return tuple(failure for failure in every if failure.kind in {kind, "plug-in"})

    def distributions(self) -> tuple[str, ...]:
        """
        The distributions that have a plug-in which can be used, sorted.
        """
        usable = (p for p in self.plugins if p.implementations)
        return tuple(sorted({p.origin.distribution for p in usable}))

    def of(self, distribution: str) -> tuple[Plugin, ...]:
        """
        The plug-ins of a distribution.
        """
        return tuple(p for p in self.plugins if p.origin.distribution == distribution)

    def left_out(self) -> tuple[str, ...]:
        """
        The distributions that ``HEADWAY_PLUGINS`` leaves out.
        """
        return tuple(sorted({p.origin.distribution for p in self.plugins if p.left_out}))

    def with_plugin(self, plugin: Plugin) -> Catalogue:
        """
        The same and one more.
        """
        return Catalogue((*self.plugins, plugin))


def read_catalogue(*, discover: bool) -> Catalogue:
    """
    Load the built-in parts and, when asked to, every installed plug-in that may be loaded.

    A plug-in that cannot be loaded is one warning, unless ``HEADWAY_PLUGINS_STRICT`` is set.

    Raises:
        PluginLoadError: a plug-in cannot be loaded, in strict mode.
    """
    running = running_version()
    builtins = load(_builtins(running), running)
    loaded = _installed(running) if discover else ()
    return Catalogue((builtins, *loaded))


def _builtins(running: str) -> Entry:
    origin = Origin(
        entry="builtins", value=_BUILTINS, distribution="headway", version=running, builtin=True
    )
    return Entry(origin=origin, requires=(), load=lambda: import_module(_BUILTINS))


def _installed(running: str) -> tuple[Plugin, ...]:
    allowed, entries = allowed_distributions(), installed_entries()
    plugins: list[Plugin] = []
    for entry in entries:
        if allowed is not None and entry.origin.distribution not in allowed:
            plugins.append(Plugin(origin=entry.origin, left_out=True))
            continue
        plugins.append(load(entry, running))
        _report(plugins[-1])
        warn_of_deprecated(plugins[-1])
    for name in missing_distributions(allowed or (), entries):
        _complain(UsageError(f"HEADWAY_PLUGINS names {name}, which is not installed"))
    return tuple(plugins)


def _report(plugin: Plugin) -> None:
    if not plugin.failures:
        return
    error = plugin.failures[0].as_error()
    error.__cause__ = plugin.failures[0].error
    _complain(error)


def warn_of_deprecated(plugin: Plugin) -> None:
    """
    Say which hooks of a plug-in will be removed.
    """
    for hook in plugin.hooks:
        if hook in HOOKS:
            who = f"plug-in {plugin.origin.entry!r} of {plugin.origin.distribution}"
            told = HOOKS[hook].told(f"{who} implements {hook}, which")
            warnings.warn(DeprecatedHookWarning(told), stacklevel=2)


def _complain(error: HeadwayError) -> None:
    if is_strict():
        raise error
    warnings.warn(PluginWarning(redact(str(error))), stacklevel=2)
