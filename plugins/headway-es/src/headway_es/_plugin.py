"""
What this distribution offers, by the names that people type.

Imports nothing that costs: numpy is loaded when one of them is asked for.
"""

from __future__ import annotations

import pluggy

hookimpl = pluggy.HookimplMarker("headway")


@hookimpl
def headway_aggregators() -> dict[str, str]:
    """
    The optimizer: name to ``"module:attribute"``, a factory that takes the options.

    >>> headway_aggregators()
    {'es': 'headway_es:ES'}
    """
    return {"es": "headway_es:ES"}


@hookimpl
def headway_observers() -> dict[str, str]:
    """
    Who tells at the end of a run whom it has dropped: name to ``"module:attribute"``.

    >>> headway_observers()
    {'es-fates': 'headway_es._told:ToldFates'}
    """
    return {"es-fates": "headway_es._told:ToldFates"}


@hookimpl
def headway_domains() -> dict[str, str]:
    """
    What it is tried on: name to ``"module:attribute"``.

    >>> headway_domains()
    {'es': 'headway_es:ESDomain'}
    """
    return {"es": "headway_es:ESDomain"}
