"""
Who is dropped: an observer that compares the pairs that were discarded with those that were used.

It belongs beside any run whose schedule discards, since what is slow to evaluate is discarded more often than
what is quick, and where the two differ in fitness, the optimizer learns from a sample that is not the one it
asked for.  It sees the run's notices and nothing else, and keeps what open groups gave alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

import attrs

from headway.contracts import CardDecided, GroupDropped, Notice, TicketEnded


@attrs.frozen(kw_only=True)
class Fate:
    """
    What became of some cards, in short.

    Args:
        cards: How many there are.
        fitness: Their mean fitness; None of none.
        seconds: How long they took on average; None of none.
    """

    cards: int
    fitness: float | None
    seconds: float | None


@attrs.define(eq=False)
class _Sum:
    cards: int = 0
    fitness: float = 0.0
    seconds: float = 0.0

    def add(self, fitness: float, seconds: float) -> None:
        self.cards += 1
        self.fitness += fitness
        self.seconds += seconds

    def told(self) -> Fate:
        if not self.cards:
            return Fate(cards=0, fitness=None, seconds=None)
        fitness, seconds = self.fitness / self.cards, self.seconds / self.cards
        return Fate(cards=self.cards, fitness=fitness, seconds=seconds)


class Fates:
    """
    Compares what a run discarded with what it used: ``run(..., observers=[fates])``.

    For groups of one member, as those of ``ES`` and ``AskTell`` are.  Not safe to share between runs.

    >>> from headway import run
    >>> from headway.durations import parse_law
    >>> from headway_es import ESDomain, schedule
    >>> fates, law = Fates(), {"rollout": parse_law("lognormal:1,1.5")}
    >>> more = {"driver": "simulated", "durations": law, "n_workers": 24, **schedule("drop-1")}
    >>> result = run(ESDomain(dim=4, population=8), updates=20, observers=[fates], **more)
    >>> fates.dropped.cards == result.stale_discarded
    True
    """

    def __init__(self) -> None:
        self._open = dict[int, tuple[float, float]]()
        self._used, self._dropped = _Sum(), _Sum()
        self._lost = Counter[str]()

    def __call__(self, notice: Notice) -> None:
        """
        Take note of a notice.
        """
        match notice:
            case TicketEnded(completion="ok", group=group, reward=reward, seconds=seconds):
                if group >= 0 and reward is not None:
                    self._open[group] = (reward, seconds)
            case CardDecided(decision=decision):
                seen = self._open.pop(decision.card, None)
                into = {"committed": self._used, "discarded": self._dropped}.get(decision.kind)
                if seen is not None and into is not None:
                    into.add(*seen)
            case GroupDropped(group=group, reason=reason):
                self._open.pop(group, None)
                self._lost[reason] += 1
            case _:
                pass

    @property
    def used(self) -> Fate:
        """
        Those that steps have used, also when a delay held them.
        """
        return self._used.told()

    @property
    def dropped(self) -> Fate:
        """
        Those that were evaluated and discarded.
        """
        return self._dropped.told()

    @property
    def lost(self) -> Mapping[str, int]:
        """
        Those that were given up before they were evaluated, by reason; nobody knows their fitness.
        """
        return MappingProxyType(dict(self._lost))

    @property
    def bias(self) -> float | None:
        """
        Mean fitness of those that were dropped less that of those that were used; None without both.
        """
        used, dropped = self.used.fitness, self.dropped.fitness
        return None if used is None or dropped is None else dropped - used
