"""
Tests of ``headway.registry.Registry``.
"""

from __future__ import annotations

import importlib
import pickle
import threading
import tomllib
from functools import partial
from pathlib import Path

import pytest

from headway.contracts import (
    Artifact,
    FaultSeen,
    HeadCommitted,
    RunFinished,
    RunStarted,
    Snapshot,
    SweepDone,
)
from headway.errors import (
    ContractError,
    OptionError,
    PluginConflictError,
    PluginLoadError,
    UnknownNameError,
    UsageError,
)
from headway.registry import EVENT_HOOKS, KINDS, Choice, Registry, _hookspecs, hookimpl, hookspec
from headway.registry._first_party import FOLDERS
from headway.registry._kinds import HOOK_KINDS

ROOT = Path(__file__).parent.parent
STARTED = RunStarted(run="r", mode="sync", driver="serial", seed=7, choices={}, notes=(), limits={})
FINISHED = RunFinished(now=1.0, stop_reason="target", version=1, digest="")


class Patient:
    """
    A staleness policy with an option.
    """

    def __init__(self, *, patience=3, verdict="rebase"):
        if patience < 0:
            raise ValueError("patience must not be negative")
        self.patience = patience
        self.verdict = verdict

    def decide(self, eta, alpha, contract_breaking):
        return self.verdict if eta <= self.patience else "discard"


class Shop:
    """
    A plug-in that offers whatever it is made with.
    """

    def __init__(self, policies):
        self.policies = policies

    @hookimpl
    def headway_staleness_policies(self):
        return self.policies


class Listener:
    """
    A plug-in that writes down what it is told.
    """

    def __init__(self, heard, fail=False):
        self.heard = heard
        self.fail = fail

    @hookimpl
    def headway_run_started(self, event):
        self.heard.append(event.run)
        if self.fail:
            raise RuntimeError("out of ink")

    @hookimpl
    def headway_run_finished(self):
        self.heard.append("finished")


@pytest.fixture
def registry():
    return Registry()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_hook_with_an_example(kind):
    """
    One hook a kind, named after it, with a runnable example.
    """
    hook = getattr(_hookspecs, KINDS[kind])

    assert kind == HOOK_KINDS[KINDS[kind]]
    assert f'names("{kind}")' in hook.__doc__


def test_every_hook_is_in_a_table():
    """
    What is specified is what is used.
    """
    specified = {name for name in vars(_hookspecs) if name.startswith("headway_")}

    assert specified == {*KINDS.values(), *EVENT_HOOKS.values()}


def test_markers_are_pluggys():
    """
    ``hookimpl`` and ``hookspec`` carry the project's name; anything else is not there.
    """
    import headway.registry

    assert "headway" == hookimpl.project_name == hookspec.project_name
    with pytest.raises(AttributeError, match="hookwrap"):
        _ = headway.registry.hookwrap


@pytest.mark.parametrize(
    ("kind", "name", "options"),
    [
        ("staleness policy", "full", {}),
        ("staleness policy", "guarded", {}),
        ("staleness policy", "reflective", {}),
        ("staleness policy", "window", {"window": 4}),
        ("duration estimator", "linear", {}),
        ("duration estimator", "ewma", {"weight": 0.5}),
        ("ledger", "memory", {"initial": Artifact(1)}),
        ("executor", "thread", {}),
        ("sampler", "shuffled", {}),
    ],
)
def test_builtin_parts_come_through_the_same_door(registry, kind, name, options):
    """
    Each is offered by its hook, is made with its options and says where it comes from.
    """
    made = registry.create(kind, name, **options)

    assert name in registry.names(kind)
    assert "headway" == registry.describe(kind, name).distribution
    assert type(made) is type(registry.create(kind, f"headway:{name}", **options))


def test_the_standard_aggregator_is_on_offer(registry):
    """
    It has a name before anything is imported.
    """
    assert ("best-of-n", "standard") == registry.names("aggregator")


def test_an_object_is_returned_as_it_is(registry):
    """
    The most explicit way: no look-up, no copy.
    """
    policy = Patient()

    assert policy is registry.create("staleness policy", policy)
    assert Choice(
        kind="staleness policy", name="Patient", target=f"{__name__}:Patient"
    ) == registry.describe("staleness policy", policy)
    assert "Patient (given by the program)" == str(registry.describe("staleness policy", policy))


@pytest.mark.parametrize(
    ("kind", "thing", "why"),
    [
        ("staleness policy", 42, "no StalenessPolicy: it lacks decide"),
        ("staleness policy", Patient, "is the class Patient: give an instance of it"),
        ("observer", 42, "which cannot be called"),
        ("domain", object(), "no Domain: it lacks apply"),
    ],
)
def test_an_object_that_is_no_such_part_is_the_callers_error(registry, kind, thing, why):
    """
    Said before the run, with what is missing.
    """
    with pytest.raises(UsageError, match=why):
        registry.create(kind, thing)


def test_an_object_takes_no_options(registry):
    """
    Options are for whoever is made, not for what is there already.
    """
    with pytest.raises(OptionError, match=r"type Patient has no such option\. It takes no options"):
        registry.create("staleness policy", Patient(), patience=3)


@pytest.mark.parametrize(
    "thing",
    [Patient, partial(Patient, patience=3), lambda patience=3: Patient(patience=patience)],
    ids=["class", "partial", "function"],
)
def test_what_is_added_is_made_by_its_factory(registry, thing):
    """
    A class, a function or a partial makes the part, with the options as keyword arguments.
    """
    registry.add("staleness policy", "patient", thing)

    assert 9 == registry.create("staleness policy", "patient", patience=9).patience
    assert 3 == registry.create("staleness policy", "patient").patience


def test_an_added_part_is_the_part(registry):
    """
    Anything else that is added is used as it is.
    """
    policy = Patient()
    registry.add("staleness policy", "patient", policy)

    assert policy is registry.create("staleness policy", "patient")
    assert "" == registry.describe("staleness policy", "patient").distribution
    with pytest.raises(OptionError, match="It takes no options"):
        registry.create("staleness policy", "patient", patience=3)


def test_added_names_come_before_everything_else(registry):
    """
    What the program says itself is more explicit than what happens to be installed.
    """
    registry.register(Shop({"patient": Patient}), distribution="shop")
    registry.add("staleness policy", "patient", partial(Patient, verdict="accept"), replace=True)

    assert "accept" == registry.create("staleness policy", "patient").verdict
    assert "rebase" == registry.create("staleness policy", "shop:patient").verdict


@pytest.mark.parametrize("name", ["guarded", "mine", "offered"])
def test_add_refuses_an_existing_name(registry, name):
    """
    Built-in, added or offered by a plug-in: taking over a name has to be asked for.
    """
    registry.register(Shop({"offered": Patient}), distribution="shop")
    registry.add("staleness policy", "mine", Patient)
    with pytest.raises(UsageError, match=f"{name}' already; pass replace=True"):
        registry.add("staleness policy", name, Patient)
    registry.add("staleness policy", name, Patient, replace=True)

    assert isinstance(registry.create("staleness policy", name), Patient)


@pytest.mark.parametrize("name", ["", "a:b"])
def test_add_refuses_a_name_that_nobody_could_ask_for(registry, name):
    """
    A colon parts a distribution from a name.
    """
    with pytest.raises(UsageError, match="cannot name a staleness policy"):
        registry.add("staleness policy", name, Patient)


def test_a_frozen_registry_takes_nothing_more(registry):
    """
    Frozen before a run, it stays what it was; it can still be asked.
    """
    assert registry is registry.freeze()
    assert registry.frozen
    with pytest.raises(UsageError, match="frozen"):
        registry.add("staleness policy", "patient", Patient)
    with pytest.raises(UsageError, match="frozen"):
        registry.register(Shop({}), distribution="shop")
    assert "patient" not in registry.names("staleness policy")
    assert "guarded" in registry.names("staleness policy")


def test_registries_share_nothing():
    """
    There is no manager behind them.
    """
    one, other = Registry(), Registry()
    one.add("staleness policy", "patient", Patient)

    assert "patient" not in other.names("staleness policy")


def test_an_unknown_name_is_told_with_the_nearest(registry):
    """
    The message has the suggestion and all choices.
    """
    with pytest.raises(
        UnknownNameError, match=r"Did you mean 'guarded'\? Choices: drop, full, guarded,"
    ):
        registry.create("staleness policy", "gaurded")


def test_an_unknown_kind_is_told_with_the_nearest(registry):
    """
    Kinds are names too.
    """
    with pytest.raises(UnknownNameError, match="Did you mean 'aggregator'"):
        registry.names("agregator")


def test_an_unknown_first_party_name_names_its_folder(registry):
    """
    Until the distributions are published, the remedy is a folder of this repository.
    """
    with pytest.raises(UnknownNameError, match=r"pip install \./plugins/headway-domains"):
        registry.create("domain", "inflect")


@pytest.mark.parametrize("folder", sorted(set(FOLDERS.values())))
def test_every_remedy_names_a_folder_that_is_there(folder):
    """
    A remedy that cannot be followed is none.
    """
    assert (ROOT / "plugins" / folder / "pyproject.toml").is_file()


@pytest.mark.parametrize("folder", sorted(path.name for path in (ROOT / "plugins").glob("*-*")))
def test_every_remedy_names_what_the_folder_offers(folder, monkeypatch):
    """
    All of its names and no other, read from the plug-in itself.
    """
    project = tomllib.loads((ROOT / "plugins" / folder / "pyproject.toml").read_text())
    monkeypatch.syspath_prepend(str(ROOT / "plugins" / folder / "src"))
    registry = Registry()
    for module in project["project"].get("entry-points", {}).get("headway", {}).values():
        registry.register(importlib.import_module(module), distribution=folder)
    offered = {
        (row.kind, row.name)
        for row in registry.listing()
        if row.distribution == folder and row.kind in KINDS
    }

    assert offered == {key for key, value in FOLDERS.items() if value == folder}


def test_an_unknown_option_is_told_before_the_call(registry):
    """
    With the option, the place, the nearest and all that there are.
    """
    registry.add("staleness policy", "patient", Patient)
    with pytest.raises(OptionError) as caught:
        registry.create("staleness policy", "patient", patiense=1)

    assert ("patiense", 1) == (caught.value.option, caught.value.value)
    assert (
        "patiense=1: staleness policy 'patient' has no such option. "
        "Did you mean 'patience'? Options: patience, verdict."
    ) == str(caught.value)


def test_a_factory_may_take_any_option(registry):
    """
    One with ``**options`` decides itself.
    """
    registry.add(
        "staleness policy", "patient", lambda **options: Patient(**options, verdict="accept")
    )

    assert 2 == registry.create("staleness policy", "patient", patience=2).patience


def test_a_missing_option_is_told_by_name(registry):
    """
    A parameter without a default has to be given.
    """
    registry.add("staleness policy", "patient", lambda patience: Patient(patience=patience))
    with pytest.raises(OptionError, match="'patient' cannot be made without this option") as caught:
        registry.create("staleness policy", "patient")

    assert "patience" == caught.value.option


def test_a_refused_value_is_the_callers_error(registry):
    """
    What a factory's own checks say about a value reaches the user in one line.
    """
    registry.add("staleness policy", "patient", Patient)

    with pytest.raises(UsageError, match="refused its options: ValueError: patience must not be"):
        registry.create("staleness policy", "patient", patience=-1)


@pytest.mark.parametrize("error", [RuntimeError("no ink"), TypeError("no ink")])
def test_a_factory_that_fails_is_the_plugins_error(registry, error):
    """
    Without an option to blame, the plug-in is.
    """

    def factory():
        raise error

    registry.register(Shop({"patient": factory}), distribution="shop")

    with pytest.raises(PluginLoadError, match=r"of shop cannot be loaded: \w+Error: no ink\.$"):
        registry.create("staleness policy", "patient")


def test_headways_own_errors_pass_through_a_factory(registry):
    """
    They are messages already.
    """

    def factory():
        raise OptionError("patience", -1, "give at least 0")

    registry.add("staleness policy", "patient", factory)

    with pytest.raises(OptionError, match="patience=-1: give at least 0"):
        registry.create("staleness policy", "patient")


def test_a_factory_of_something_else_breaks_the_contract(registry):
    """
    Found before the run, with the name of who offers it.
    """
    registry.register(Shop({"patient": lambda: 42}), distribution="shop")

    with pytest.raises(ContractError, match=r"of patient \(shop\) is 42, which is no Staleness"):
        registry.create("staleness policy", "patient")


def test_a_plugin_object_can_be_registered(registry):
    """
    As if a distribution had offered it; what is wrong with it is an error at once.
    """
    registry.register(Shop({"patient": Patient}), distribution="Shop_Of.Mine")

    assert isinstance(registry.create("staleness policy", "shop-of-mine:patient"), Patient)
    with pytest.raises(PluginLoadError, match="mark its functions with @hookimpl"):
        registry.register(object(), distribution="empty")


def test_two_registered_plugins_conflict_like_installed_ones(registry):
    """
    Registering is no way around the rule.
    """
    registry.register(Shop({"patient": Patient}), distribution="one")
    registry.register(Shop({"patient": Patient}), distribution="two")

    with pytest.raises(PluginConflictError, match="one:patient or two:patient"):
        registry.create("staleness policy", "patient")


def test_event_hooks_hear_only_of_chosen_distributions(registry):
    """
    A distribution of which a run uses nothing is not told of it.
    """
    chosen, other = [], []
    registry.register(Listener(chosen), distribution="chosen")
    registry.register(Listener(other), distribution="other")
    hooks = registry.hooks_for(["chosen", "headway", ""])
    hooks.notify(STARTED)
    hooks.notify(FINISHED)

    assert ["r", "finished"] == chosen
    assert [] == other
    assert () == registry.hooks_for(["headway"]).notify(STARTED)


def test_an_event_hook_that_raises_is_isolated(registry):
    """
    The others are told all the same; the error says which hook and plug-in raised it.
    """
    heard = []
    registry.register(Listener(heard, fail=True), distribution="sad")
    registry.register(Listener(heard), distribution="shop")
    (error,) = registry.hooks_for(["sad", "shop"]).notify(STARTED)

    assert ["r", "r"] == heard
    assert "out of ink" == str(error)
    assert ["raised in hook headway_run_started of plug-in sad (sad)"] == error.__notes__


def test_a_notice_without_a_hook_is_told_to_nobody(registry):
    """
    Only the notices of ``EVENT_HOOKS`` have a hook.
    """
    registry.register(Listener([]), distribution="shop")
    hooks = registry.hooks_for(["shop"])
    committed = HeadCommitted(now=1.0, head=Snapshot(1, Artifact(1)), cards=())

    assert FaultSeen not in EVENT_HOOKS
    assert () == hooks.notify(committed)
    assert {RunStarted, SweepDone, HeadCommitted, RunFinished} == set(EVENT_HOOKS)


def test_a_coroutine_behind_a_decorator_is_found_at_the_call(registry):
    """
    It is closed and reported, never left un-awaited.
    """

    async def told(event):
        raise AssertionError(event)

    class Sly:
        @hookimpl
        def headway_run_started(self, event):
            return told(event)

    registry.register(Sly(), distribution="sly")
    (error,) = registry.hooks_for(["sly"]).notify(STARTED)

    assert isinstance(error, ContractError)


def test_hooks_for_a_distribution_that_is_not_there(registry):
    """
    An observer that nobody can tell anything is an error before the run.
    """
    with pytest.raises(UnknownNameError, match="no plug-in named 'shpo'"):
        registry.hooks_for(["shpo"])


def test_a_registry_is_read_once_by_many_threads(install):
    """
    Threads that ask at the same time see one catalogue.
    """
    install(
        "headway-slow",
        """
        import time
        from headway.registry import hookimpl

        calls = []

        @hookimpl
        def headway_observers():
            calls.append(time.monotonic())
            return {"bell": "headway_slow:print"}
        """,
    )
    registry = Registry.discover()
    threads = [threading.Thread(target=registry.names, args=("observer",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    import headway_slow

    assert 1 == len(headway_slow.calls)


def test_the_listing_has_everything_on_offer(registry):
    """
    A row has its own hook and its plug-in's event hooks; what was added is there too.
    """

    class Both(Shop, Listener):
        def __init__(self):
            Shop.__init__(self, {"patient": Patient})

    registry.register(Both(), distribution="both")
    registry.register(Listener([]), distribution="events")
    registry.add("observer", "bell", print)
    rows = {(row.kind, row.name): row for row in registry.listing(check=True)}
    events = ("headway_run_finished", "headway_run_started")

    assert (*events, "headway_staleness_policies") == rows["staleness policy", "patient"].hooks
    assert events == rows["plug-in", "events"].hooks
    assert () == rows["observer", "bell"].hooks
    assert ("headway_samplers",) == rows["sampler", "shuffled"].hooks


@pytest.mark.parametrize(
    "error",
    [
        UnknownNameError("ledger", "gti", ("git",), "Try again."),
        PluginConflictError("ledger", "git", ("a", "b")),
        OptionError("weight", 2, "give less"),
    ],
)
def test_errors_pickle(error):
    """
    They cross process boundaries with what they say.
    """
    copy = pickle.loads(pickle.dumps(error))

    assert str(error) == str(copy)
