"""
Event hooks: the functions of a run's plug-ins that are told what happens.
"""

from __future__ import annotations

import inspect

import attrs

from headway.contracts import Notice
from headway.errors import ContractError
from headway.registry._kinds import EVENT_HOOKS
from headway.registry._values import Plugin


@attrs.frozen(eq=False)
class EventHooks:
    """
    The event hooks of the distributions that a run uses.

    Implementations are called one at a time, so that one that raises keeps no other from being
    told.  Call it from one thread at a time.
    """

    plugins: tuple[Plugin, ...] = ()

    @property
    def wanted(self) -> bool:
        """
        Whether there is any implementation.
        """
        hooks = set(EVENT_HOOKS.values())
        return any(hooks & set(plugin.hooks) for plugin in self.plugins)

    def notify(self, notice: Notice) -> tuple[BaseException, ...]:
        """
        Tell every implementation of the notice's hook, if it has one.

        Returns:
            What was raised, each with a note that names the hook and the plug-in.
        """
        hook = EVENT_HOOKS.get(type(notice))
        raised = (_told(plugin, hook, notice) for plugin in self.plugins if hook in plugin.hooks)
        return tuple(error for errors in raised for error in errors)


def _told(plugin: Plugin, hook: str | None, notice: Notice) -> list[BaseException]:
    errors: list[BaseException] = []
    for implementation in plugin.implementations:
        if implementation.hook != hook:
            continue
        try:
            _refuse_coroutine(implementation.call(event=notice))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - handed back, the run goes on
            where = f"{plugin.origin.distribution} {plugin.origin.version}".strip()
            error.add_note(f"raised in hook {hook} of plug-in {plugin.origin.entry} ({where})")
            errors.append(error)
    return errors


def _refuse_coroutine(answer: object) -> None:
    # An async function behind a decorator looks like a plain one until it is called.
    if inspect.iscoroutine(answer):
        answer.close()
        raise ContractError("the hook gave a coroutine: nobody would await it")
