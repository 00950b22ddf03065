"""
Run directories: all that a run leaves on disk, and all that is needed to go on with it.
"""

from headway.rundir._directory import TAKEN_BACK, RunDirectory
from headway.rundir._header import Header, Plan
from headway.rundir._lease import Lease
from headway.rundir._reading import OpenRun, Owner, open_run
from headway.rundir._recipe import Recipe
from headway.rundir._replaying import Replayed, changed_versions, replay_run
from headway.rundir._status import Status, read_status

__all__ = [
    "TAKEN_BACK",
    "Header",
    "Lease",
    "OpenRun",
    "Owner",
    "Plan",
    "Recipe",
    "Replayed",
    "RunDirectory",
    "Status",
    "changed_versions",
    "open_run",
    "read_status",
    "replay_run",
]
