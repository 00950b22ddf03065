"""
The pure machine: events in, instructions out.
"""

from headway.machine._backoff import BEARABLE
from headway.machine._budget import Budget
from headway.machine._calls import (
    Call,
    CallValue,
    CommitCall,
    MeasureCall,
    PromoteCall,
    ProposeCall,
    RebaseCall,
    Rebased,
    RolloutCall,
    TicketCall,
    TrainCall,
    VerifyCall,
)
from headway.machine._config import LEARNS_FROM, MachineConfig
from headway.machine._digest import RunDigest
from headway.machine._events import (
    Done,
    Event,
    Failed,
    Raised,
    Resumed,
    Returned,
    Started,
    Stop,
    Tick,
    Yielded,
)
from headway.machine._instructions import (
    Abandon,
    Abort,
    Cancel,
    Finish,
    Instruction,
    Notify,
    Resume,
    Run,
    StepStart,
)
from headway.machine._lookups import (
    PLAIN,
    LookupRaised,
    Lookups,
    PluginLookups,
    RecordedLookups,
)
from headway.machine._machine import Machine
from headway.machine._measuring import FINAL_DRAW
from headway.machine._scoring import Score
from headway.machine._slots import Slots
from headway.machine._tally import FaultCount, Statistics

__all__ = [
    "BEARABLE",
    "FINAL_DRAW",
    "LEARNS_FROM",
    "PLAIN",
    "Abandon",
    "Abort",
    "Budget",
    "Call",
    "CallValue",
    "Cancel",
    "CommitCall",
    "Done",
    "Event",
    "Failed",
    "FaultCount",
    "Finish",
    "Instruction",
    "LookupRaised",
    "Lookups",
    "Machine",
    "MachineConfig",
    "MeasureCall",
    "Notify",
    "PluginLookups",
    "PromoteCall",
    "ProposeCall",
    "Raised",
    "RebaseCall",
    "Rebased",
    "RecordedLookups",
    "Resume",
    "Resumed",
    "Returned",
    "RolloutCall",
    "Run",
    "RunDigest",
    "Score",
    "Slots",
    "Started",
    "Statistics",
    "StepStart",
    "Stop",
    "Tick",
    "TicketCall",
    "TrainCall",
    "VerifyCall",
    "Yielded",
]
