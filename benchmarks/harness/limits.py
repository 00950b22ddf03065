"""
What bounds an evolution strategy: drawing its noise and nothing else, or copying.
"""

from __future__ import annotations

from time import process_time


def timed(work):
    """
    Seconds of CPU.
    """
    began = process_time()
    work()
    return process_time() - began


def drawing(dim, pairs):
    """
    The noise of a generation, into an array of its size.
    """
    import numpy as np

    out = np.zeros((pairs, dim), dtype=np.float32)
    generator = np.random.Generator(np.random.Philox(7))
    return lambda: generator.standard_normal(dtype=np.float32, out=out)


def copying(size):
    """
    One array of so many bytes onto another; those that are read and those that are written both count.
    """
    import numpy as np

    one = np.ones(size // 4, dtype=np.float32)
    other = np.ones_like(one)
    return lambda: np.copyto(other, one)


def told(pairs):
    """
    What a generation is told: the fitness of both halves of each pair.
    """
    return [(float(i % 7), float(i % 5)) for i in range(pairs)]
