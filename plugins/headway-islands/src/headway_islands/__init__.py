"""
An optimizer for Headway that keeps a grid of different solutions on each of several islands.
"""

from headway_islands._optimizer import Islands

__all__ = ["Islands"]
