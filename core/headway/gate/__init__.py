"""
The lag gate: who may start a rollout, against which version, and what a sweep may take.

A gate has two ends.  ``admit`` says whether one more rollout may start, ``take`` whether a sweep may
take what waits.  Each gate states the bound that it keeps, with its proof, in its docstring, and
``within_bound`` checks it.  When nothing runs and nothing can start, ``take`` is asked once more
with ``quiet=True``.
"""

from headway.gate._barrier import Barrier
from headway.gate._lag import LagGate
from headway.gate._reservations import Reservations
from headway.gate._standing import Standing
from headway.gate._view import Gate, GateView

__all__ = ["Barrier", "Gate", "GateView", "LagGate", "Reservations", "Standing"]
