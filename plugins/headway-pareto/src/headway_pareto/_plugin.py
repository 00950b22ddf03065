"""
What this distribution offers, by the names that people type.

Imports nothing that costs: the optimizer's module is imported when it is asked for.
"""

from __future__ import annotations

import pluggy

hookimpl = pluggy.HookimplMarker("headway")


@hookimpl
def headway_aggregators() -> dict[str, str]:
    """
    The optimizer: name to ``"module:attribute"``, a factory that takes the options.

    >>> headway_aggregators()
    {'pareto': 'headway_pareto:ParetoFront'}
    """
    return {"pareto": "headway_pareto:ParetoFront"}
