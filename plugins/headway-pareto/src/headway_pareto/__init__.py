"""
An optimizer for Headway that keeps every candidate that is the best on some instance.
"""

from headway_pareto._optimizer import ParetoFront

__all__ = ["ParetoFront"]
