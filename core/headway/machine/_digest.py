"""
The digest of a run: one number for all its decisions, versions and its final state.
"""

from __future__ import annotations

import hashlib

from headway.contracts import Decision


class RunDigest:
    """
    A running SHA-256 over decisions and commits, in order.

    Two runs with one digest took the same decisions on the same cards in the same order and ended
    in the same state; times, workers and drivers do not enter.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def decide(self, decision: Decision, content: str) -> None:
        """
        A card with this content digest was decided.
        """
        text = f"{decision.card} {content} {decision.kind} {decision.reason} {decision.version}\n"
        self._hash.update(text.encode())

    def commit(self, version: int, state: str) -> None:
        """
        The head moved to a version with this content digest.
        """
        self._hash.update(f"head {version} {state}\n".encode())

    def hexdigest(self) -> str:
        """
        The digest so far, as 64 hexadecimal digits.
        """
        return self._hash.hexdigest()
