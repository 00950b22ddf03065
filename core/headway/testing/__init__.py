"""
Tools for testing: a fault-injecting simulator, an auditor, and small domains.

What each kind of part must do, as tests for its author, is in ``headway.testing.conformance``.
"""

from headway.testing._auditor import Auditor
from headway.testing._erratic import Erratic
from headway.testing._faults import ContendedLedger, Faults
from headway.testing._must import AuditError
from headway.testing._playing import Script, ScriptError
from headway.testing._rehearsal import Rehearsal, Rehearsed
from headway.testing._schedule import Schedule
from headway.testing._schedules import check, run_schedule
from headway.testing._toy import ToyDomain

__all__ = [
    "AuditError",
    "Auditor",
    "ContendedLedger",
    "Erratic",
    "Faults",
    "Rehearsal",
    "Rehearsed",
    "Schedule",
    "Script",
    "ScriptError",
    "ToyDomain",
    "check",
    "run_schedule",
]
