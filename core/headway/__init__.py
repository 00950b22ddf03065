"""
Headway: improvement loops without a round barrier.
"""

from headway.backpressure import Backpressure
from headway.buffer import EvidenceBuffer
from headway.contracts import (
    Artifact,
    Card,
    Carry,
    Commit,
    Compare,
    Consume,
    Domain,
    Measure,
    Outcome,
    Snapshot,
    Splits,
    StepContext,
    Task,
    Work,
    charge,
)
from headway.gate import Barrier, GateView, LagGate
from headway.merger import Merger
from headway.options import RunOptions
from headway.registry import Registry, get_policy
from headway.result import Result
from headway.run import arun, run

__all__ = [
    "Artifact",
    "Backpressure",
    "Barrier",
    "Card",
    "Carry",
    "Commit",
    "Compare",
    "Consume",
    "Domain",
    "EvidenceBuffer",
    "GateView",
    "LagGate",
    "Measure",
    "Merger",
    "Outcome",
    "Registry",
    "Result",
    "RunOptions",
    "Snapshot",
    "Splits",
    "StepContext",
    "Task",
    "Work",
    "arun",
    "charge",
    "get_policy",
    "run",
]
