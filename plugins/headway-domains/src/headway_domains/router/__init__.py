"""
Routing messages by their keywords, and the reference runtime over it; no model, no data.
"""

from headway_domains.router._domain import Router
from headway_domains.router._runtime import AsyncHeadway
from headway_domains.router._stats import AsyncConfig, AsyncStats
from headway_domains.router._table import read_routes, route
from headway_domains.router._universe import Item, TaskUniverse, make_task_universe

__all__ = [
    "AsyncConfig",
    "AsyncHeadway",
    "AsyncStats",
    "Item",
    "Router",
    "TaskUniverse",
    "make_task_universe",
    "read_routes",
    "route",
]
