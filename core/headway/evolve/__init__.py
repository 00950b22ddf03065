"""
``evolve`` and its kin: from tasks, a reward, an agent and a strategy to a result.
"""

from headway.evolve._front import aevolve, async_evolve, evolve
from headway.evolve._old_style import Audit, MergeReport, StepLedger, Verifier, old_style
from headway.evolve._options import ProgramOptions
from headway.evolve._program import Program

__all__ = [
    "Audit",
    "MergeReport",
    "Program",
    "ProgramOptions",
    "StepLedger",
    "Verifier",
    "aevolve",
    "async_evolve",
    "evolve",
    "old_style",
]
