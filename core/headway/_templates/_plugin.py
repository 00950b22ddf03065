"""
What this distribution offers.

Headway imports this module whenever it looks for plug-ins, so it imports next to nothing: a part's
own module is imported when somebody asks for the part.
"""

from __future__ import annotations

from collections.abc import Mapping

from headway.registry import hookimpl


@hookimpl
def headway_aggregators() -> Mapping[str, str]:
    """
    The names that people type, and what each stands for.
    """
    return {
        "newcomer": "headway._templates.aggregator:NewcomerAggregator",
    }
