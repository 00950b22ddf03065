"""
An observer that counts what became of the evidence, and says so when a run ends.
"""

from __future__ import annotations

import sys
from collections import Counter

from headway.contracts import CardDecided, Notice, RunFinished, RunStarted


class NewcomerObserver:
    """
    Writes one line at the end of a run: how many cards were committed, and why others were not.

    It is told one notice at a time.  Notices of kinds that it does not know pass by, so it goes on
    working when there are more of them.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __call__(self, notice: Notice) -> None:
        """
        Count a decision; begin anew with a run, and write the line at its end.
        """
        match notice:
            case RunStarted():
                self.counts.clear()
            case CardDecided(decision=decision):
                self.counts[decision.reason or decision.kind] += 1
            case RunFinished():
                sys.stderr.write(f"{self.line()}\n")
            case _:
                pass

    def line(self) -> str:
        """
        The counts, the largest first.
        """
        told = ", ".join(f"{number} {what}" for what, number in self.counts.most_common())
        return f"cards: {told or 'none'}"
