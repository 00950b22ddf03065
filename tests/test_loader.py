"""
Tests of ``headway.registry``'s loader: real distributions on disk, each broken in its own way.
"""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import version

import pytest

from headway.errors import PluginConflictError, PluginLoadError, PluginWarning, UnknownNameError
from headway.registry import Registry
from headway.registry._entries import installed_entries
from headway.registry._versions import unmet

GOOD = """
    from headway.registry import hookimpl

    class Keen:
        def decide(self, eta, alpha, contract_breaking):
            return "accept"

    @hookimpl
    def headway_staleness_policies():
        return {"keen": Keen}
"""

FAILS_TO_IMPORT = "import a_module_that_is_not_there"

EXITS = "raise SystemExit(3)"

RAISES_IN_A_HOOK = """
    from headway.registry import hookimpl

    @hookimpl
    def headway_staleness_policies():
        raise RuntimeError("out of ink.")
"""

MISSPELT = """
    from headway.registry import hookimpl

    @hookimpl
    def headway_stalenes_policies():
        return {}
"""

ASYNC = """
    from headway.registry import hookimpl

    @hookimpl
    async def headway_sweep_done(event):
        pass
"""

DEFAULT = """
    from headway.registry import hookimpl

    @hookimpl
    def headway_sweep_done(event=None):
        pass
"""

WRONG_ARGUMENT = """
    from headway.registry import hookimpl

    @hookimpl
    def headway_sweep_done(sweep):
        pass
"""

WRAPPER = """
    from headway.registry import hookimpl

    @hookimpl(wrapper=True)
    def headway_sweep_done(event):
        return (yield)
"""

COMPARES_BY_VALUE = """
    import attrs
    from headway.registry import hookimpl

    @attrs.define
    class Plugin:
        @hookimpl
        def headway_domains(self):
            return {}

    plugin = Plugin()
"""

A_CLASS = """
    from headway.registry import hookimpl

    class plugin:
        @hookimpl
        def headway_domains(self):
            return {}
"""

NO_HOOK = """
    def headway_domains():
        return {}
"""

NO_MAPPING = """
    from headway.registry import hookimpl

    @hookimpl
    def headway_domains():
        return ["haiku"]
"""

NO_TARGET = """
    from headway.registry import hookimpl

    @hookimpl
    def headway_domains():
        return {"haiku": "shop.haiku"}
"""

COLON = """
    from headway.registry import hookimpl

    @hookimpl
    def headway_domains():
        return {"shop:haiku": "shop.haiku:Haiku"}
"""

BROKEN = {
    "fails to import": (FAILS_TO_IMPORT, "No module named 'a_module_that_is_not_there'"),
    "exits": (EXITS, "SystemExit: 3"),
    "raises in a hook": (
        RAISES_IN_A_HOOK,
        "headway_staleness_policies raised RuntimeError: out of ink",
    ),
    "misspelt hook": (MISSPELT, "Did you mean 'headway_staleness_policies'?"),
    "async hook": (ASYNC, "headway_sweep_done is async"),
    "default value": (DEFAULT, "headway_sweep_done gives 'event' a default value"),
    "wrong argument": (WRONG_ARGUMENT, "{'sweep'} are declared in the hookimpl"),
    "hook wrapper": (WRAPPER, "headway_sweep_done is a hook wrapper"),
    "no hook": (NO_HOOK, "mark its functions with @hookimpl"),
    "no mapping": (NO_MAPPING, "gave ['haiku'] instead of a mapping"),
    "no target": (NO_TARGET, "'shop.haiku': write it as 'module:attribute'"),
    "colon in a name": (COLON, "use a string without ':'"),
}
broken = pytest.mark.parametrize(("code", "cause"), BROKEN.values(), ids=BROKEN)


def row_of(registry, distribution):
    (row,) = [row for row in registry.listing() if row.distribution == distribution]
    return row


def test_a_good_plugin_is_offered_without_a_word(install):
    """
    A plug-in with nothing wrong is listed and loaded, and nothing is said.
    """
    install("headway-keen", GOOD)
    registry = Registry.discover()

    assert "accept" == registry.create("staleness policy", "keen").decide(3, 1, False)
    assert "ok" == row_of(registry, "headway-keen").status


@broken
def test_a_broken_plugin_nobody_asked_for_is_one_warning_and_a_row(install, code, cause):
    """
    What was asked for goes on; one warning names the plug-in, its fault and how to remove it.
    """
    install("headway-sad", code)
    install("headway-keen", GOOD)
    registry = Registry.discover()
    with pytest.warns(PluginWarning) as told:
        policy = registry.create("staleness policy", "keen")

    assert "accept" == policy.decide(0, 1, False)
    assert 1 == len(told)
    assert "(headway_sad) of headway-sad 1.0 cannot be loaded: " in str(told[0].message)
    assert cause in str(told[0].message)
    assert str(told[0].message).endswith(" To remove it: python -m pip uninstall headway-sad")
    assert "broken" == row_of(registry, "headway-sad").status
    assert cause in row_of(registry, "headway-sad").detail


@broken
def test_strict_mode_makes_every_failure_an_error(install, monkeypatch, code, cause):
    """
    With HEADWAY_PLUGINS_STRICT=1 a broken plug-in is an error although nobody asked for it.
    """
    install("headway-sad", code)
    monkeypatch.setenv("HEADWAY_PLUGINS_STRICT", "1")
    with pytest.raises(PluginLoadError) as caught:
        Registry.discover().names("aggregator")

    assert "headway-sad" == caught.value.distribution
    assert cause in caught.value.cause


@pytest.mark.filterwarnings("ignore::headway.errors.PluginWarning")
@pytest.mark.parametrize("spec", ["sad", "headway-sad", "headway-sad:glum", "Headway_Sad:glum"])
def test_a_broken_plugin_that_was_asked_for_is_an_error(install, spec):
    """
    The error has kind, name, target, distribution, version and cause, and the cause behind it.
    """
    install("headway-sad", FAILS_TO_IMPORT, version="2.5")
    with pytest.raises(PluginLoadError) as caught:
        Registry.discover().create("aggregator", spec)
    error = caught.value

    assert ("aggregator", spec, "headway_sad") == (error.kind, error.name, error.target)
    assert ("headway-sad", "2.5") == (error.distribution, error.version)
    assert "ModuleNotFoundError: No module named 'a_module_that_is_not_there'" == error.cause
    assert isinstance(error.__cause__, ModuleNotFoundError)


@pytest.mark.filterwarnings("ignore::headway.errors.PluginWarning")
def test_an_unknown_name_names_the_plugins_that_might_have_offered_it(install):
    """
    A name that only a broken plug-in knew ends in an error that names the plug-in and its fault.
    """
    install("headway-sad", FAILS_TO_IMPORT)
    with pytest.raises(UnknownNameError, match="headway-sad cannot be loaded: ModuleNotFound"):
        Registry.discover().create("aggregator", "glum")


@pytest.mark.filterwarnings("ignore::headway.errors.PluginWarning")
def test_a_hook_that_raises_spoils_only_its_own_kind(install):
    """
    The other hooks of the same plug-in still count.
    """
    install("headway-half", RAISES_IN_A_HOOK + GOOD.replace("staleness_policies", "observers"))
    registry = Registry.discover()

    assert "keen" in registry.names("observer")
    assert {"broken", "ok"} == {
        row.status for row in registry.listing() if row.distribution == "headway-half"
    }


@pytest.mark.parametrize(
    ("code", "cause"),
    [(COMPARES_BY_VALUE, "attrs.define(eq=False)"), (A_CLASS, "name an instance or a module")],
    ids=["compares by value", "a class"],
)
def test_an_object_that_pluggy_would_trip_over_is_refused(install, code, cause):
    """
    A plug-in is a thing with identity: an attrs class must be eq=False, and a class is no object.
    """
    install("headway-sad", code, entries=["sad = headway_sad:plugin"])
    with pytest.warns(PluginWarning, match="headway-sad 1.0 cannot be loaded") as told:
        Registry.discover().names("domain")

    assert cause in str(told[0].message)


def test_an_attrs_plugin_with_identity_is_taken(install):
    """
    With eq=False the same class is a plug-in like any other.
    """
    code = COMPARES_BY_VALUE.replace("@attrs.define", "@attrs.define(eq=False)")
    install("headway-fine", code, entries=["fine = headway_fine:plugin"])

    assert "ok" == row_of(Registry.discover(), "headway-fine").status


def test_damaged_entries_are_the_fault_of_their_distribution(install):
    """
    What is no entry point is that plug-in's error; what is no text is nobody's.  Others load.
    """
    install("headway-keen", GOOD)
    install("headway-sad", GOOD, entries=["a line without a sign"])
    (install("headway-torn", GOOD) / "entry_points.txt").write_bytes(b"[headway]\nx = \xff")
    with pytest.warns(PluginWarning, match="its entry_points.txt cannot be read: ") as told:
        names = Registry.discover().names("staleness policy")

    assert "keen" in names
    assert 1 == len(told)
    assert "headway-sad 1.0 cannot be loaded" in str(told[0].message)


def test_a_distribution_without_a_name_stops_nobody(install, tmp_path, monkeypatch):
    """
    An egg has its name in its metadata alone; where they are gone, what it offers is still found.
    """
    install("headway-keen", GOOD)
    egg = tmp_path / "old.egg"
    monkeypatch.setattr(sys, "path", [*sys.path, str(egg)])
    (egg / "EGG-INFO").mkdir(parents=True)
    (egg / "EGG-INFO" / "PKG-INFO").write_text("Metadata-Version: 1.0\n")
    (egg / "EGG-INFO" / "entry_points.txt").write_text("[headway]\nold = headway_keen\n")
    found = {e.origin.entry: e.origin.distribution for e in installed_entries()}

    assert ("unknown", "headway-keen") == (found["old"], found["keen"])


def test_of_two_copies_of_a_distribution_the_first_counts(install, site, tmp_path, monkeypatch):
    """
    As for an import: an older copy further down the path is not what runs.
    """
    old = tmp_path / "old"
    old.mkdir()
    install("headway-keen", GOOD, version="2.0")
    info = install("headway-keener", GOOD.replace('"keen"', '"keener"'), version="1.0")
    for path in (info / "METADATA", info / "entry_points.txt"):
        path.write_text(path.read_text().replace("keener", "keen"))
    info.rename(old / "headway_keen-1.0.dist-info")
    monkeypatch.setattr(sys, "path", [*sys.path, str(old)])
    found = [(e.origin.entry, e.origin.version) for e in installed_entries()]

    assert [("keen", "2.0")] == [entry for entry in found if "keen" in entry[0]]


def test_two_that_claim_one_name_are_told_apart(install):
    """
    Shown in the listing, an error only for whoever asks, and each can be had by its full name.
    """
    install("headway-keen", GOOD)
    install("headway-eager", GOOD.replace('"accept"', '"rebase"'))
    registry = Registry.discover()
    with pytest.raises(PluginConflictError) as caught:
        registry.create("staleness policy", "keen")
    details = [row.detail for row in registry.listing() if row.name == "keen"]

    assert ("headway-eager", "headway-keen") == caught.value.distributions
    assert "headway-eager:keen or headway-keen:keen" in str(caught.value)
    assert [
        "also offered by headway-keen; say headway-eager:keen to get this one",
        "also offered by headway-eager; say headway-keen:keen to get this one",
    ] == details
    assert "rebase" == registry.create("staleness policy", "headway-eager:keen").decide(1, 1, False)
    assert "accept" == registry.create("staleness policy", "headway-keen:keen").decide(1, 1, False)
    assert "discard" == registry.create("staleness policy", "guarded").decide(9, 1, False)


def test_one_distribution_with_two_targets_for_a_name_is_an_error(install):
    """
    No spelling tells them apart, so the distribution has to mend it.
    """
    code = GOOD + GOOD.replace("Keen", "Keener").replace(
        "@hookimpl\n    def headway_staleness_policies",
        '@hookimpl(specname="headway_staleness_policies")\n    def more',
    )
    install("headway-keen", code)
    with pytest.raises(PluginLoadError, match="offers this name also for headway_keen:Keen"):
        Registry.discover().create("staleness policy", "keen")


def test_a_plugin_takes_precedence_over_a_builtin_part(install):
    """
    The one plug-in that offers a name comes before a built-in part, which can still be had.
    """
    install("headway-full", GOOD.replace('"keen"', '"guarded"'))
    registry = Registry.discover()
    rows = {row.distribution: row for row in registry.listing() if row.name == "guarded"}

    assert "headway-full" == registry.describe("staleness policy", "guarded").distribution
    assert "headway" == registry.describe("staleness policy", "headway:guarded").distribution
    assert "ok" == rows["headway-full"].status
    assert "shadowed" == rows["headway"].status


def test_an_entry_that_is_found_twice_counts_once(install):
    """
    De-duplicated on (group, name, value): a stale copy of the metadata makes no conflict.
    """
    install("headway-keen", GOOD)
    install("headway-old-keen", "", entries=["keen = headway_keen"])
    install("headway-twice", "", entries=["x = headway_keen", "x = headway_keen"])
    found = [(e.origin.entry, e.origin.value) for e in installed_entries()]

    assert 1 == found.count(("keen", "headway_keen"))
    assert 1 == found.count(("x", "headway_keen"))


def test_entries_come_in_the_order_of_their_names(install):
    """
    Never in that of the file system.
    """
    for name in ("headway-c", "headway-a", "headway-b"):
        install(name, GOOD)
    found = [e.origin.entry for e in installed_entries() if e.origin.entry in "abc"]

    assert ["a", "b", "c"] == found


def test_a_plugin_for_another_version_is_not_imported(install):
    """
    Its requirement is held against the running version first; the error has both.
    """
    install("headway-future", GOOD, requires=["attrs", "headway>=9"])
    both = f"it requires headway>=9, and headway {version('headway')} is running"
    with pytest.warns(PluginWarning, match=both):
        row = row_of(Registry.discover(), "headway-future")

    assert "broken" == row.status
    assert "headway_future" not in sys.modules


def test_damaged_metadata_does_not_stop_the_tool(install):
    """
    A distribution whose METADATA is gone is still listed, under what is known of it.
    """
    (install("headway-keen", GOOD) / "METADATA").unlink()

    assert "accept" == Registry.discover().create("staleness policy", "keen").decide(1, 1, False)


def test_an_empty_setting_means_builtin_parts_only(install, monkeypatch):
    """
    HEADWAY_PLUGINS= loads no plug-in, broken or not; the listing says what is left out.
    """
    install("headway-keen", GOOD)
    install("headway-sad", FAILS_TO_IMPORT)
    monkeypatch.setenv("HEADWAY_PLUGINS", "")
    registry = Registry.discover()

    assert Registry().names("staleness policy") == registry.names("staleness policy")
    assert "left out" == row_of(registry, "headway-keen").status
    with pytest.raises(UnknownNameError, match=r"HEADWAY_PLUGINS leaves out .*headway-keen"):
        registry.create("staleness policy", "headway-keen:keen")


def test_a_setting_with_names_means_only_those(install, monkeypatch):
    """
    HEADWAY_PLUGINS=a,b loads these distributions, however their names are spelled.
    """
    install("headway-keen", GOOD)
    install("headway-eager", GOOD.replace('"keen"', '"eager"'))
    install("headway-sad", FAILS_TO_IMPORT)
    monkeypatch.setenv("HEADWAY_PLUGINS", "Headway_Keen, headway-eager")

    assert {"eager", "keen", *Registry().names("staleness policy")} == {
        *Registry.discover().names("staleness policy")
    }


def test_a_setting_that_names_nothing_installed_is_a_warning(site, monkeypatch):
    """
    A misspelt distribution in HEADWAY_PLUGINS is said, not passed over.
    """
    monkeypatch.setenv("HEADWAY_PLUGINS", "headway-kene")

    with pytest.warns(PluginWarning, match="names headway-kene, which is not installed"):
        Registry.discover().names("aggregator")


def test_a_lazy_target_is_imported_when_it_is_asked_for(install):
    """
    One that cannot be imported is found by a check or by whoever asks, not by anybody else.
    """
    install("headway-lazy", GOOD.replace("Keen}", '"headway_nowhere:Keen"}'))
    registry = Registry.discover()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choice = registry.describe("staleness policy", "keen")
    with pytest.raises(PluginLoadError) as caught:
        registry.create("staleness policy", "keen")
    (checked,) = [row for row in registry.listing(check=True) if row.name == "keen"]

    assert "headway_nowhere:Keen" == choice.target == caught.value.target
    assert "broken" == checked.status
    assert "ModuleNotFoundError: No module named 'headway_nowhere'" == checked.detail


@pytest.mark.parametrize(
    ("requirement", "running", "met"),
    [
        ("headway", "0.1.0", True),
        ("headway>=0.1", "0.1.0", True),
        ("headway>=9", "0.1.0", False),
        ("Headway (>=0.1,<0.2)", "0.1.5", True),
        ("headway>=0.1,<0.2", "0.2", False),
        ("headway[cli]>0.1", "0.1.0", False),
        ("headway~=0.1.2", "0.1.9", True),
        ("headway~=0.1.2", "0.2.0", False),
        ("headway~=0.1", "0.9", True),
        ("headway==0.1.*", "0.1.7", True),
        ("headway==0.1.*", "0.10.0", False),
        ("headway==1", "1.0.0", True),
        ("headway!=0.1.0", "0.1.0", False),
        ("headway===0.1.0", "0.1.0", True),
        ("headway<=1.0", "1.0.post1", False),
        ("headway>=1.0", "1.0rc1", False),
        ("headway>=1.0rc1", "1.0", True),
        ("headway>=1.0a1", "1.0.dev3", False),
        ("headway<2", "1!0.1", False),
        ("headway>=0.1", "0.1.0+local.7", True),
        ("headway>=9; extra == 'later'", "0.1.0", True),
        ("headway>=9; sys_platform == 'plan9'", "0.1.0", True),
        ("headway (>=9) ; python_version >= '3.11' and python_version < '4.0'", "0.1.0", False),
        ("headway (>=0.1) ; python_version >= '3.11' and python_version < '4.0'", "0.1.0", True),
        ('headway>=9; python_full_version < "3.0.1"', "0.1.0", True),
        ("headway<0.2", "0.2.0rc1", False),
        ("headway<0.2", "0.2.dev4", False),
        ("headway<0.2rc2", "0.2rc1", True),
        ("headway<0.2", "0.1.9rc1", True),
        ("headway>0.1", "0.1.post1", False),
        ("headway>0.1.post1", "0.1.post2", True),
        ("headway~=0.1.post1", "0.2", True),
        ("headway~=0.2rc1", "0.10", True),
        ("headway @ file:///somewhere", "0.1.0", True),
        ("headway-domains>=9", "0.1.0", True),
        ("headway>=what", "0.1.0", True),
    ],
)
def test_requirements_are_read_as_installers_read_them(requirement, running, met):
    """
    What cannot be read, or holds for an extra only, counts as met.
    """
    assert met == (unmet([requirement], running) is None)
