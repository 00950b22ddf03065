"""
Simulated annealing for Headway.
"""

from headway_annealing._optimizer import Annealing

__all__ = ["Annealing"]
