"""
Hooks change without breaking the plug-ins that were written before.
"""

from __future__ import annotations

import re
from importlib.metadata import version

import pytest

from headway import _deprecated
from headway._deprecated import Deprecation
from headway.contracts import Artifact, HeadCommitted, Snapshot
from headway.errors import DeprecatedHookWarning
from headway.registry import EVENT_HOOKS, KINDS, Registry, _hookspecs, hookimpl, hookspec

LEAVING = Deprecation(since="0.2", gone="0.4", instead="headway_samplers")

OLD = """
    from headway.registry import hookimpl

    @hookimpl
    def headway_observers():
        return {"bell": "headway_old:Bell"}

    @hookimpl
    def headway_committed():
        print("told")
"""


class Shop:
    """
    A plug-in that takes what the hooks of today have.
    """

    def __init__(self):
        self.told = []

    @hookimpl
    def headway_samplers(self):
        return {"hardest": "shop.order:Hardest"}

    @hookimpl
    def headway_committed(self, event):
        self.told.append(event)


@pytest.fixture
def leaving(monkeypatch):
    """
    A hook is on its way out.
    """
    monkeypatch.setattr("headway.registry._catalogue.HOOKS", {"headway_samplers": LEAVING})


def notified(registry, distribution, event):
    return registry.hooks_for([distribution]).notify(event)


@pytest.fixture
def event():
    return HeadCommitted(now=1.0, head=Snapshot(1, Artifact("x")), cards=())


def test_an_implementation_may_take_fewer_arguments_than_the_hook_has(install, capsys, event):
    """
    One that was written before a hook had an argument is loaded, and called without it.
    """
    install("headway-old", OLD)
    raised = notified(Registry.discover(), "headway-old", event)

    assert () == raised
    assert "told\n" == capsys.readouterr().out


def test_a_hook_that_gets_an_argument_keeps_its_implementations(monkeypatch, event):
    """
    A kind's hook that hands something over, and an event hook with a second argument.
    """

    @hookspec
    def headway_samplers(kinds):
        """What a later version may hand over."""

    @hookspec
    def headway_committed(event, run):
        """The same for an event."""

    monkeypatch.setattr(_hookspecs, "headway_samplers", headway_samplers)
    monkeypatch.setattr(_hookspecs, "headway_committed", headway_committed)
    shop, registry = Shop(), Registry()
    registry.register(shop, distribution="shop")

    assert "hardest" in registry.names("sampler")
    assert () == notified(registry, "shop", event)
    assert [event] == shop.told


def test_an_event_with_a_new_field_reaches_implementations_as_one_object(event):
    """
    A later notice is another class with more fields; nothing else of the hook changes.
    """

    class Later(HeadCommitted):
        """With a field more."""

        branch = "dev"

    later = Later(now=event.now, head=event.head, cards=event.cards)
    shop, registry = Shop(), Registry()
    registry.register(shop, distribution="shop")
    (implementation,) = (
        i
        for plugin in registry.hooks_for(["shop"]).plugins
        for i in plugin.implementations
        if i.hook == "headway_committed"
    )
    implementation.call(event=later)

    assert ["dev"] == [told.branch for told in shop.told]


def test_a_deprecated_hook_works_and_says_when_it_goes(leaving):
    """
    The warning names the plug-in, both versions and what to use; the part can still be had.
    """
    registry = Registry()
    with pytest.warns(DeprecatedHookWarning) as told:
        registry.register(Shop(), distribution="shop")

    (warning,) = told
    assert str(warning.message) == (
        "plug-in 'shop' of shop implements headway_samplers, which is deprecated since headway 0.2 "
        "and gone in 0.4: use headway_samplers"
    )
    assert "hardest" in registry.names("sampler")


def test_an_installed_plugin_with_a_deprecated_hook_is_told_of_too(leaving, install):
    """
    Whoever uses it loses it when the hook goes; a run with it goes on.
    """
    install("headway-old", OLD.replace("headway_observers", "headway_samplers"))
    with pytest.warns(DeprecatedHookWarning, match="'old' of headway-old implements headway_sam"):
        names = Registry.discover().names("sampler")

    assert "bell" in names


def release(text):
    return tuple(map(int, re.match(r"(\d+)\.(\d+)", text).groups()))


def wrong(table, running):
    """
    Deprecations that are due, begin later than now, or are too short; and hooks that are no hooks.
    """
    hooks = {*KINDS.values(), *EVENT_HOOKS.values()}
    found = []
    for hook, one in table.items():
        since, gone = release(one.since), release(one.gone)
        long_enough = gone[0] > since[0] or gone[1] >= since[1] + 2
        if not since <= release(running) < gone or not long_enough or hook not in hooks:
            found.append(hook)
    return found


def test_no_deprecation_is_due():
    """
    A hook is removed in the version that says so, after two minor versions of warning.
    """
    table = {
        "headway_samplers": LEAVING,
        "headway_fusions": Deprecation(since="0.2", gone="0.3", instead="x"),
        "headway_gone": Deprecation(since="0.2", gone="0.9", instead="x"),
    }

    assert ["headway_fusions", "headway_gone"] == wrong(table, "0.3.1")
    assert ["headway_samplers", "headway_fusions", "headway_gone"] == wrong(table, "0.4.0")
    assert [] == wrong(_deprecated.HOOKS, version("headway"))
