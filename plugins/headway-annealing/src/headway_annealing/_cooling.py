"""
The temperature, and whether a move is made.
"""

from __future__ import annotations

import math
import random

import attrs


@attrs.frozen(kw_only=True)
class Cooling:
    """
    A temperature that falls to a half every so many rollouts.

    Args:
        start: The temperature before the first rollout, in units of the reward range.
        half_life: Rollouts after which it is half of that.
    """

    start: float
    half_life: int

    def at(self, rollout: int) -> float:
        """
        The temperature at a rollout.

        >>> Cooling(start=0.02, half_life=100).at(200)
        0.005
        """
        return self.start * math.exp2(-rollout / self.half_life)


def accepts(gain: float, temperature: float, rng: random.Random) -> bool:
    """
    Whether a move is made, by the rule of Metropolis.

    One that is no worse always is; one that is worse with the chance ``exp(gain / temperature)``.

    Args:
        gain: The score after the move minus the one before, in units of the reward range.
        temperature: The temperature; at 0 nothing worse is accepted.
        rng: What draws; one number for a move that is worse.
    """
    if gain >= 0:
        return True
    return temperature > 0 and rng.random() < math.exp(gain / temperature)
