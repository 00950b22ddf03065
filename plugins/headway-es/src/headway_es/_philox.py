"""
The generator that all noise is drawn by, with a key of two words.

``numpy.random.Philox(key=...)`` asks the system for randomness that it then throws away: a step would have
an effect, and a generator would take four times as long to make.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random.bit_generator import ISeedSequence


class _Key(ISeedSequence):
    """
    A key where numpy expects a seed.
    """

    def __init__(self, first: int, second: int) -> None:
        self._words = np.array([first, second], dtype=np.uint64)

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> npt.NDArray[Any]:
        """
        The key itself; a Philox generator asks for two words of 64 bits.
        """
        del n_words, dtype
        return self._words


def philox(
    first: int, second: int, counter: tuple[int, int, int, int] = (0, 0, 0, 0)
) -> np.random.Philox:
    """
    ``numpy.random.Philox(key=[first, second], counter=counter)``, to the bit.

    >>> import numpy as np
    >>> plain = np.random.Philox(key=[5, 0xE5], counter=[0, 1, 2, 0])
    >>> philox(5, 0xE5, (0, 1, 2, 0)).random_raw() == plain.random_raw()
    True

    Args:
        first: The first word of the key, from 0 to 2**64 - 1.
        second: The other.
        counter: Where it begins, its lowest word first.
    """
    key: Any = _Key(first, second)  # the annotations of numpy know of fewer seeds than it takes
    return np.random.Philox(key, counter=np.array(counter, dtype=np.uint64))
