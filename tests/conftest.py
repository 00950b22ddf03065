"""
Fixtures that several test files share.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from textwrap import dedent

import pytest


def write_distribution(
    site: Path, distribution: str, code: str, *, version="1.0", entries=None, requires=()
) -> Path:
    """
    Write what an installer would write: one module, and the metadata beside it.
    """
    module = distribution.replace("-", "_")
    (site / f"{module}.py").write_text(dedent(code), encoding="utf-8")
    info = site / f"{module}-{version}.dist-info"
    info.mkdir()
    metadata = ["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    (info / "METADATA").write_text("\n".join(metadata) + "\n", encoding="utf-8")
    lines = entries or [f"{distribution.removeprefix('headway-')} = {module}"]
    text = "\n".join(["[headway]", *lines]) + "\n"
    (info / "entry_points.txt").write_text(text, encoding="utf-8")
    (info / "RECORD").write_text(f"{module}.py,,\n", encoding="utf-8")
    return info


@pytest.fixture
def site(tmp_path, monkeypatch):
    """
    A folder for distributions, first on ``sys.path``; what is imported from it is forgotten.
    """
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.delenv("HEADWAY_PLUGINS", raising=False)
    monkeypatch.delenv("HEADWAY_PLUGINS_STRICT", raising=False)
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def install(site):
    """
    ``install("headway-x", code)`` puts a tiny distribution where importlib finds it.
    """

    def put(distribution, code, **more):
        info = write_distribution(site, distribution, code, **more)
        importlib.invalidate_caches()
        return info

    return put
