"""
Importing Headway costs little and looks for nothing; each check runs in an interpreter of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = ("numpy", "git", "rich", "pluggy", "structlog", "importlib.metadata", "headway_keen")

KEEN = """
    from headway.registry import hookimpl

    @hookimpl
    def headway_observers():
        return {"bell": "headway_keen_parts:Bell"}
"""


def loaded_after(site, code):
    """
    Which of the heavy modules an interpreter has loaded after some code.
    """
    show = f"import sys; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    "code",
    [
        "import headway",
        "import headway.contracts, headway.errors",
        "from headway.registry import Registry; Registry(); Registry.discover().freeze()",
        "import headway.cli",
    ],
)
def test_an_import_loads_no_plugin_and_nothing_heavy(site, install, code):
    """
    No plug-in, no scan for one, no library that only some runs need.
    """
    install("headway-keen", KEEN)

    assert [] == loaded_after(site, code)


def test_plugins_are_discovered_on_first_use(site, install):
    """
    The first question loads the plug-ins, and still no target of theirs.
    """
    install("headway-keen", KEEN)
    code = "from headway.registry import Registry; assert 'bell' in Registry.discover().names('observer')"

    assert ["pluggy", "importlib.metadata", "headway_keen"] == loaded_after(site, code)


def test_only_discovery_reads_the_environment(site, install):
    """
    A registry of built-in parts knows nothing of what is installed.
    """
    install("headway-keen", KEEN)
    code = "from headway.registry import Registry; assert () == Registry().names('observer')"

    assert "headway_keen" not in loaded_after(site, code)


def test_importing_prints_nothing_and_sets_up_no_logging(site):
    """
    Logging and output are the application's.
    """
    code = "import headway.registry, logging; assert not logging.getLogger().handlers"

    assert [] == loaded_after(site, code)


@pytest.mark.parametrize("package", ["headway_domains", "headway_es", "headway_git"])
def test_discovery_loads_nothing_of_a_plugin_but_its_entry(site, package):
    """
    What a plug-in's package imports is imported by everybody who looks for another one.
    """
    pytest.importorskip(package, reason=f"needs {package}")
    code = f"""
import sys
from headway.registry import Registry
Registry.discover().names("ledger")
loaded = {{name for name in sys.modules if name.split(".")[0] == {package!r}}}
assert loaded == {{{package!r}, {package!r} + "._plugin"}}, loaded
"""

    assert ["pluggy", "importlib.metadata"] == loaded_after(site, code)
