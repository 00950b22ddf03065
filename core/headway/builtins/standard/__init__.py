"""
The standard aggregator and the decisions that it is made of.
"""

from headway.builtins.standard._acceptance import AnyGain, Sequential
from headway.builtins.standard._audit import Audit
from headway.builtins.standard._conflict import BetterDelta, SharedTasks
from headway.builtins.standard._fusion import Union
from headway.builtins.standard._promotion import Confirmed
from headway.builtins.standard._step import StandardAggregator

__all__ = [
    "AnyGain",
    "Audit",
    "BetterDelta",
    "Confirmed",
    "Sequential",
    "SharedTasks",
    "StandardAggregator",
    "Union",
]
