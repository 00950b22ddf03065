"""
A campaign: what schedules that let evidence grow old cost an evolution strategy, over paired seeds.

``Plan`` says what is run, ``carry_out`` runs it and can be stopped and gone on with at any moment, and
``write_report`` makes a page of what there is.  It needs headway-envs for MiniTerm.
"""

from headway_es.campaign._plan import FULL, SMOKE, Plan, Unit
from headway_es.campaign._problems import Problem
from headway_es.campaign._replay import Replayed, replay, whole
from headway_es.campaign._report import write_report
from headway_es.campaign._running import carry_out
from headway_es.campaign._statistics import (
    Difference,
    bootstrap,
    compare,
    equivalence,
    holm,
    seeds_needed,
    sign_flip,
)
from headway_es.campaign._store import Done, Store
from headway_es.campaign._traces import Trace, traced

__all__ = [
    "FULL",
    "SMOKE",
    "Difference",
    "Done",
    "Plan",
    "Problem",
    "Replayed",
    "Store",
    "Trace",
    "Unit",
    "bootstrap",
    "carry_out",
    "compare",
    "equivalence",
    "holm",
    "replay",
    "seeds_needed",
    "sign_flip",
    "traced",
    "whole",
    "write_report",
]
