"""
The digest of a run: one number for all its decisions, versions and its final state.
"""

from __future__ import annotations

import attrs

from headway.contracts import Decision, text_digest


@attrs.define(eq=False)
class RunDigest:
    """
    A chain of SHA-256 over decisions and commits, in order: each link is the digest of the link before
    and what happened next, so that a digest is all that must be known to go on.

    Two runs with one digest took the same decisions on the same cards in the same order and ended
    in the same state; times, workers and drivers do not enter.
    """

    _link: str = attrs.field(default="", init=False)

    def decide(self, decision: Decision, content: str) -> None:
        """
        A card with this content digest was decided.
        """
        self._add(f"{decision.card} {content} {decision.kind} {decision.reason} {decision.version}")

    def commit(self, version: int, state: str) -> None:
        """
        The head moved to a version with this content digest.
        """
        self._add(f"head {version} {state}")

    def _add(self, text: str) -> None:
        self._link = text_digest(f"{self._link}\n{text}")

    def hexdigest(self) -> str:
        """
        The digest so far, as 64 hexadecimal digits.
        """
        return self._link or text_digest("")
