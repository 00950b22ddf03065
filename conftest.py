"""
What every test run of this repository shares.

A plug-in that is not installed has its tests left out, and the header says so.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

PLUGINS = Path(__file__).parent / "plugins"

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def _left_out() -> list[str]:
    """
    The plug-ins of this tree whose package cannot be imported, by folder name.
    """
    folders = sorted(p.parent.name for p in PLUGINS.glob("*/pyproject.toml"))
    return [name for name in folders if find_spec(name.replace("-", "_")) is None]


LEFT_OUT = _left_out()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """
    Leave out the tests of plug-ins that are not installed.
    """
    del config
    roots = [PLUGINS / name for name in LEFT_OUT]
    return True if any(collection_path.is_relative_to(root) for root in roots) else None


def pytest_report_header(config: pytest.Config) -> list[str]:
    """
    Say which plug-ins' tests are left out, and how to bring them in.
    """
    del config
    return [f"left out: {name} (python -m pip install -e ./plugins/{name})" for name in LEFT_OUT]


def pytest_collection_finish(session: pytest.Session) -> None:
    """
    Refuse tests whose names hold an address: each process that runs tests would name them otherwise.
    """
    for item in session.items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(
                f"{item.nodeid}: its name differs in each process; give it ids="
            )
