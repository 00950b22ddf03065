"""
Random numbers that depend on a key, never on the order of calls.

Every random choice of a run is a pure function of (run seed, what it is for, which one), so that a
ticket gives the same output on any thread, in any order, and again after a crash.
"""

from __future__ import annotations

import hashlib
import random


def keyed_int(*key: object) -> int:
    """
    A uniform 64-bit integer that is a pure function of the key.

    >>> keyed_int(7, "rollout", 3) == keyed_int(7, "rollout", 3)
    True
    """
    text = "\x1f".join(map(str, key))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def keyed_unit(*key: object) -> float:
    """
    A uniform number in [0, 1) that is a pure function of the key.
    """
    return (keyed_int(*key) >> 11) * 2.0**-53


def keyed_rng(*key: object) -> random.Random:
    """
    A generator of its own, seeded by the key.
    """
    return random.Random(keyed_int(*key))  # noqa: S311 - a simulation, not a secret
