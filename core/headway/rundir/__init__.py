"""
Run directories: all that a run leaves on disk, and all that is needed to go on with it.
"""

from headway.rundir._directory import RunDirectory
from headway.rundir._header import Header, Plan
from headway.rundir._lease import Lease

__all__ = ["Header", "Lease", "Plan", "RunDirectory"]
