"""
What a plug-in is held against before anything of it is used.

Each plug-in has a pluggy manager of its own: what is wrong with one says nothing about another,
and one that is refused leaves nothing behind.
"""

from __future__ import annotations

import inspect

from pluggy import HookImpl, PluginManager, PluginValidationError

from headway.errors import ContractError, suggestion
from headway.registry import _hookspecs
from headway.registry._kinds import EVENT_HOOKS, KINDS
from headway.registry._values import Implementation

_HOOKS = (*KINDS.values(), *EVENT_HOOKS.values())


def implementations(plugin: object) -> tuple[Implementation, ...]:
    """
    The hook implementations of a plug-in, sorted by hook.

    Raises:
        ContractError: something is wrong with it; the message says what to change.
    """
    _check_shape(plugin)
    found = _registered(plugin)
    if not found:
        raise ContractError(
            "it implements no hook: mark its functions with @hookimpl, outside any class"
        )
    for hook, implementation in found:
        _check_signature(hook, implementation)
    return tuple(
        Implementation(hook=hook, function=i.function, arguments=i.argnames) for hook, i in found
    )


def _check_shape(plugin: object) -> None:
    if inspect.isclass(plugin):
        raise ContractError(f"it is the class {plugin.__qualname__}: name an instance or a module")
    if type(plugin).__eq__ is not object.__eq__:
        # pluggy refuses a second instance that is equal, and cannot list one without a hash.
        raise ContractError(
            f"instances of {type(plugin).__qualname__} compare by value: a plug-in is a thing "
            "with identity, declare its class with @attrs.define(eq=False)"
        )


def _registered(plugin: object) -> list[tuple[str, HookImpl]]:
    manager = PluginManager("headway")
    manager.add_hookspecs(_hookspecs)
    try:
        manager.register(plugin, name="plug-in")
        manager.check_pending()
    except PluginValidationError as error:
        raise ContractError(_explained(manager, plugin, error)) from error
    callers = sorted(manager.get_hookcallers(plugin) or (), key=lambda caller: caller.name)
    return [(c.name, i) for c in callers if c.has_spec() for i in c.get_hookimpls()]


def _explained(manager: PluginManager, plugin: object, error: PluginValidationError) -> str:
    unknown = [c.name for c in manager.get_hookcallers(plugin) or () if not c.has_spec()]
    if not unknown:
        return " ".join(str(error).split())
    hint = suggestion(unknown[0], _HOOKS) or f" There are {', '.join(_HOOKS)}."
    return f"there is no hook {unknown[0]!r}.{hint}"


def _check_signature(hook: str, implementation: HookImpl) -> None:
    function = implementation.function
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise ContractError(f"{hook} is async: nobody would await it, make it a plain function")
    if implementation.wrapper or implementation.hookwrapper:
        raise ContractError(f"{hook} is a hook wrapper: implementations are called one by one")
    parameters = inspect.signature(function).parameters.values()
    defaults = [p.name for p in parameters if p.default is not inspect.Parameter.empty]
    if defaults:
        # pluggy passes no argument that has a default: the function would never see it.
        raise ContractError(f"{hook} gives {defaults[0]!r} a default value: remove the default")
