"""
Where parts are found: built-in ones, installed plug-ins, and what a program adds itself.

``hookimpl`` and ``hookspec`` are pluggy's markers; pluggy is imported when they are asked for.
"""

from typing import TYPE_CHECKING, Any

from headway.registry._events import EventHooks
from headway.registry._kinds import EVENT_HOOKS, KINDS
from headway.registry._registry import Registry, get_policy
from headway.registry._values import Choice, PluginRow

if TYPE_CHECKING:
    from headway.registry._hookspecs import hookimpl, hookspec

__all__ = [
    "EVENT_HOOKS",
    "KINDS",
    "Choice",
    "EventHooks",
    "PluginRow",
    "Registry",
    "get_policy",
    "hookimpl",
    "hookspec",
]


def __getattr__(name: str) -> Any:
    # pluggy imports importlib.metadata, which ``import headway`` is not to pay for.
    if name in {"hookimpl", "hookspec"}:
        from headway.registry import _hookspecs

        return getattr(_hookspecs, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
