"""
What this distribution offers, by the names that people type.

Imports nothing that costs: a part's module is imported when the part is asked for.
"""

from __future__ import annotations

import pluggy

hookimpl = pluggy.HookimplMarker("headway")


@hookimpl
def headway_aggregators() -> dict[str, str]:
    """
    The optimizer: name to ``"module:attribute"``, a factory that takes the options.

    >>> headway_aggregators()
    {'groups': 'headway_rl:GroupTrainer'}
    """
    return {"groups": "headway_rl:GroupTrainer"}


@hookimpl
def headway_domains() -> dict[str, str]:
    """
    The domain: name to ``"module:attribute"``, a factory that takes the options.

    >>> headway_domains()
    {'rl': 'headway_rl._named:NamedRL'}
    """
    return {"rl": "headway_rl._named:NamedRL"}
