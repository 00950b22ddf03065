"""
The values of the registry: where plug-ins come from, what they offer, what became of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import attrs

from headway._secrets import redact
from headway.errors import PluginLoadError

Status: TypeAlias = Literal["ok", "broken", "conflict", "shadowed", "left out"]


def normalized(distribution: str) -> str:
    """
    A distribution's name as package indexes compare it.

    >>> normalized("Headway_Git")
    'headway-git'
    """
    return re.sub(r"[-_.]+", "-", distribution).lower()


@attrs.frozen(kw_only=True)
class Origin:
    """
    Where a plug-in comes from.

    Args:
        entry: The entry point's name.
        value: What the entry point names, such as ``headway_git.plugin``.
        distribution: The distribution's name, normalized; ``""`` for what a program adds itself.
        version: The distribution's version.
        builtin: Whether it comes with the core.
    """

    entry: str
    value: str
    distribution: str = attrs.field(converter=normalized)
    version: str
    builtin: bool = False


@attrs.frozen(kw_only=True, eq=False)
class Offer:
    """
    One name that a plug-in offers.

    Args:
        kind: One of ``KINDS``.
        name: What people type.
        part: A factory, a part, or ``"module:attribute"`` naming one of them.
        origin: The plug-in that offers it.
    """

    kind: str
    name: str
    part: object
    origin: Origin

    @property
    def target(self) -> str:
        """
        The part as ``module:attribute``.
        """
        return self.part if isinstance(self.part, str) else target_of(self.part)

    @property
    def choice(self) -> Choice:
        """
        What a run that uses this offer says about it.
        """
        return Choice(
            kind=self.kind,
            name=self.name,
            target=self.target,
            distribution=self.origin.distribution,
            version=self.origin.version,
        )

    def load_error(self, cause: str) -> PluginLoadError:
        """
        The error for whoever asked for this offer, which cannot be had.
        """
        return PluginLoadError(
            kind=self.kind,
            name=self.name,
            target=self.target,
            distribution=self.origin.distribution,
            version=self.origin.version,
            cause=cause,
        )


@attrs.frozen(kw_only=True, eq=False)
class Failure:
    """
    What was wrong with a plug-in.

    Args:
        origin: The plug-in.
        kind: The kind whose hook failed, or ``"plug-in"`` when none of it can be used.
        cause: What went wrong, in words.
        error: The exception.
    """

    origin: Origin
    kind: str
    cause: str
    error: BaseException

    def as_error(self, kind: str = "", name: str = "") -> PluginLoadError:
        """
        The error for whoever asked for ``name``, or for the plug-in as a whole.
        """
        return PluginLoadError(
            kind=kind or self.kind,
            name=name or self.origin.entry,
            target=self.origin.value,
            distribution=self.origin.distribution,
            version=self.origin.version,
            cause=self.cause,
        )


@attrs.frozen(kw_only=True, eq=False)
class Implementation:
    """
    One function of a plug-in that implements a hook.

    Args:
        hook: The hook's name.
        function: The function.
        arguments: Those of the hook's arguments that it takes; it may have been written when there
            were fewer.
    """

    hook: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]

    def call(self, **given: object) -> Any:
        """
        Call it with as many of the hook's arguments as it takes.
        """
        return self.function(*(given[name] for name in self.arguments))


@attrs.frozen(kw_only=True, eq=False)
class Plugin:
    """
    What became of one plug-in.

    Args:
        origin: Where it comes from.
        implementations: Its functions, sorted by hook.
        offers: The names that it offers.
        failures: What was wrong with it.
        left_out: Whether ``HEADWAY_PLUGINS`` leaves it out.
    """

    origin: Origin
    implementations: tuple[Implementation, ...] = ()
    offers: tuple[Offer, ...] = ()
    failures: tuple[Failure, ...] = ()
    left_out: bool = False

    @property
    def hooks(self) -> tuple[str, ...]:
        """
        The hooks that it implements, each once.
        """
        return tuple(dict.fromkeys(i.hook for i in self.implementations))


@attrs.frozen(kw_only=True)
class Choice:
    """
    The part that a run uses for one kind.

    Args:
        kind: The kind, as people see it.
        name: The name that was asked for, or the type of an object that was given.
        target: The part as ``module:attribute``.
        distribution: Where it comes from; ``""`` when the program gave it itself.
        version: That distribution's version.
    """

    kind: str
    name: str
    target: str
    distribution: str = ""
    version: str = ""

    def __str__(self) -> str:
        where = f"{self.distribution} {self.version}".strip() or "given by the program"
        return f"{self.name} ({where})"


@attrs.frozen(kw_only=True)
class PluginRow:
    """
    One line of ``headway plugins``.

    Args:
        kind: The kind, or ``"plug-in"`` for a line about a plug-in as a whole.
        name: The name that it offers, or its entry point's.
        target: What the name stands for.
        distribution: Where it comes from.
        version: That distribution's version.
        hooks: The hook that offers it and the event hooks of its plug-in.
        status: What became of it.
        detail: Why, when that is not ``ok``.
    """

    kind: str
    name: str
    target: str
    distribution: str
    version: str
    hooks: tuple[str, ...]
    status: Status
    detail: str = ""


def target_of(part: object) -> str:
    """
    Where an object is defined, as ``module:attribute``; for an instance, its class.
    """
    named = part if hasattr(part, "__qualname__") else type(part)
    return f"{named.__module__}:{getattr(named, '__qualname__', '?')}"


def in_words(error: BaseException) -> str:
    """
    An exception on one line, without secrets and a full stop at its end.
    """
    text = " ".join(redact(str(error)).split()).rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
