"""
What ``Fates`` has seen, told at the end: ``headway run es --observer es-fates``.
"""

from __future__ import annotations

import sys

from headway.contracts import Notice, RunFinished
from headway_es._fates import Fate, Fates


class ToldFates(Fates):
    """
    The same, which writes two lines to the standard error stream when a run has ended.

    Not safe to share between runs.
    """

    def __call__(self, notice: Notice) -> None:
        """
        Take note of a notice.
        """
        super().__call__(notice)
        if isinstance(notice, RunFinished):
            sys.stderr.write("\n".join([*self.lines(), ""]))

    def lines(self) -> list[str]:
        """
        What there is to tell.
        """
        lost = "".join(f", {count} lost ({why})" for why, count in sorted(self.lost.items()))
        told = [f"pairs: {_told(self.used, 'used')}, {_told(self.dropped, 'dropped')}{lost}"]
        if self.bias is not None:
            told.append(f"mean fitness of those dropped less that of those used: {self.bias:+g}")
        return told


def _told(fate: Fate, word: str) -> str:
    means = f" (mean fitness {fate.fitness:g}, mean {fate.seconds:g} s)" if fate.cards else ""
    return f"{fate.cards} {word}{means}"
