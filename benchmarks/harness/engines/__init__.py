"""
The engines that are compared.

An engine is one module here with ``search(case, waits, search)``.  It runs ``case.rollouts``
rollouts that each call ``waits.wait`` once, asks ``search`` who proposes and what, and returns what
it has to tell: ``final_reward``, ``decisions`` by kind, ``stop``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Engine:
    """
    Args:
        drivers: The drivers that it has.
        peer: Whether it lives in the peers' environment.
    """

    drivers: tuple[str, ...] = ("threads", "asyncio")
    peer: bool = False


ENGINES = {
    "headway": Engine(),
    "journalled": Engine(),
    "bare": Engine(),
    "agentdescent": Engine(drivers=("threads",), peer=True),
}
