"""
Which folder of this repository offers which name.

Until the distributions are published, this is how an unknown name gets its remedy.  A test holds
the table against the folders.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

FOLDERS: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("aggregator", "annealing"): "headway-annealing",
        ("aggregator", "es"): "headway-es",
        ("aggregator", "groups"): "headway-rl",
        ("aggregator", "islands"): "headway-islands",
        ("aggregator", "pareto"): "headway-pareto",
        ("domain", "es"): "headway-es",
        ("domain", "inflect"): "headway-domains",
        ("domain", "rl"): "headway-rl",
        ("domain", "router"): "headway-domains",
        ("ledger", "git"): "headway-git",
        ("observer", "es-fates"): "headway-es",
    }
)
"""Distribution, which is also the folder below ``plugins/``, by (kind, name)."""


def remedy(kind: str, name: str) -> str:
    """
    How to get a first-party name that is not installed; ``""`` for any other.

    >>> remedy("domain", "inflect")
    'To get it: python -m pip install ./plugins/headway-domains'
    """
    folder = FOLDERS.get((kind, name))
    return f"To get it: python -m pip install ./plugins/{folder}" if folder else ""
