"""
Headway: improvement loops without a round barrier.
"""

import os

from headway._secrets import look_in
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
from headway.contracts import SweepDone as RoundInfo
from headway.evolve import MergeReport, Program, aevolve, async_evolve, evolve
from headway.gate import Barrier, GateView, LagGate, Reservations
from headway.merger import Merger
from headway.options import RunOptions
from headway.registry import Registry, get_policy
from headway.result import Result
from headway.run import arun, run
from headway.strategies import AppendRules, FileTree, KeyedRules, SingleSlot, Strategy

__all__ = [
    "AppendRules",
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
    "FileTree",
    "GateView",
    "KeyedRules",
    "LagGate",
    "Measure",
    "MergeReport",
    "Merger",
    "Outcome",
    "Program",
    "Registry",
    "Reservations",
    "Result",
    "RoundInfo",
    "RunOptions",
    "SingleSlot",
    "Snapshot",
    "Splits",
    "StepContext",
    "Strategy",
    "Task",
    "Work",
    "aevolve",
    "arun",
    "async_evolve",
    "charge",
    "evolve",
    "get_policy",
    "run",
]

look_in(os.environ)  # a reference: it is read when a fault is made
