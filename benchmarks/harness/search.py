"""
The toy search that all engines are given: rules that are all wrong at first.

A task looks at an eighth of the rules, and what it scores is the share of them that is right.
A share of the training rollouts is unsolved and brings a proposal.  While rules are wrong, every
second proposal sets one of them right.  All others set a rule to a wrong value that was never seen
before, so that there are new candidates to measure for as long as a run lasts.
"""

from __future__ import annotations

import random
from itertools import count

KEYS = tuple(f"rule-{number:02}" for number in range(64))

TRAIN = 1024
"""
Training tasks: as many as the largest peer run has workers, at least, and so many that it never
happens that none of them has a proposal left, which would end a run as exhausted.
"""

HELD_OUT = 8

STRIDE = 37
"""Has no common divisor with the number of rules, so that steps of it visit every rule."""


def watched(task):
    """
    The rules that a task looks at, given its number.
    """
    return KEYS[task % HELD_OUT :: HELD_OUT]


class Search:
    """
    Who is unsolved and what is proposed, by counters and lists, so that it costs next to nothing.

    Args:
        share: The share of rollouts that is unsolved and proposes.
        number: Rollouts until the draws begin again.
    """

    def __init__(self, share, number, seed):
        rng = random.Random(f"search {seed}")
        self._unsolved = [rng.random() < share for _ in range(number)]
        self._proposals = count(1)

    def unsolved(self, arrival):
        """
        Whether the rollout with this number is unsolved and proposes.
        """
        return self._unsolved[arrival % len(self._unsolved)]

    def change(self, is_right):
        """
        The next proposal: a rule, and 0 to set it right or else the number of a wrong value.

        Args:
            is_right: Whether a rule is right in the state that is proposed against.
        """
        number = next(self._proposals)
        if number % 2:
            start = number // 2
            for step in range(len(KEYS)):
                key = KEYS[(start + step) % len(KEYS)]
                if not is_right(key):
                    return key, 0
        return KEYS[number * STRIDE // 2 % len(KEYS)], number
