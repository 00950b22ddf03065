"""
What this distribution offers, by the names that people type.

Imports nothing that costs: a domain's module is imported when the domain is asked for.
"""

from __future__ import annotations

import pluggy

hookimpl = pluggy.HookimplMarker("headway")


@hookimpl
def headway_domains() -> dict[str, str]:
    """
    The domains: name to ``"module:attribute"``, a factory that takes the options.

    >>> headway_domains()["inflect"]
    'headway_domains.inflect:Inflect'
    """
    return {
        "inflect": "headway_domains.inflect:Inflect",
        "router": "headway_domains.router:Router",
    }
