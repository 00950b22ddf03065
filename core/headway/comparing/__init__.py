"""
Comparing modes with each other and with controls, at equal budget.

A plan says which arms run with which seeds; a runner makes the runs; a comparison reads them:
medians, paired differences with intervals, a table and a figure.  Nothing here writes to the
terminal or handles signals.
"""

from headway.comparing._comparison import Comparison, Difference, Metric, Summary
from headway.comparing._figure import draw
from headway.comparing._plan import CONTROLS, EQUAL, Arm, Plan, make_plan
from headway.comparing._running import Runner
from headway.comparing._statistics import Interval, paired_t
from headway.comparing._table import table
from headway.comparing._trial import Point, Trial

__all__ = [
    "CONTROLS",
    "EQUAL",
    "Arm",
    "Comparison",
    "Difference",
    "Interval",
    "Metric",
    "Plan",
    "Point",
    "Runner",
    "Summary",
    "Trial",
    "draw",
    "make_plan",
    "paired_t",
    "table",
]
