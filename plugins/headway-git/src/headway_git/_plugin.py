"""
What this distribution offers, by the names that people type.

Imports nothing that costs, and nothing that needs the program git.
"""

from __future__ import annotations

import pluggy

hookimpl = pluggy.HookimplMarker("headway")


@hookimpl
def headway_ledgers() -> dict[str, str]:
    """
    The ledger: name to ``"module:attribute"``, a factory that takes ``path`` and ``initial``.

    >>> headway_ledgers()
    {'git': 'headway_git._ledger:GitLedger'}
    """
    return {"git": "headway_git._ledger:GitLedger"}
