"""
Tools for testing: a fault-injecting simulator, an auditor, and small domains.
"""

from headway.testing._auditor import AuditError, Auditor
from headway.testing._erratic import Erratic
from headway.testing._faults import ContendedLedger, Faults
from headway.testing._schedules import Schedule, check, run_schedule
from headway.testing._toy import ToyDomain

__all__ = [
    "AuditError",
    "Auditor",
    "ContendedLedger",
    "Erratic",
    "Faults",
    "Schedule",
    "ToyDomain",
    "check",
    "run_schedule",
]
