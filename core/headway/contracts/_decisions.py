"""
The decisions inside the standard aggregator, each of which a plug-in can take instead.

All of these parts are pure: equal arguments give equal answers, and what a run learns is kept in
the aggregator's memory, never in a part.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from headway._records import record
from headway.contracts._protocols import StepContext
from headway.contracts._requests import Request
from headway.contracts._structural import Structural
from headway.contracts._values import Card
from headway.statistics import Verdict

Resolved: TypeAlias = tuple[tuple[Card, ...], tuple[Card, ...]]
"""The cards that stay and those that go, both oldest first; together they are all the cards."""


@runtime_checkable
class Conflict(Protocol, metaclass=Structural):
    """
    Says which cards contradict each other, and which of them stay.
    """

    def resolve(
        self, cards: Sequence[Card], context: StepContext
    ) -> Resolved | Generator[Request, Any, Resolved]:
        """
        The cards that can be merged together, and those that contradict a better one.

        It may be a generator: then it yields what it wants measured, as the step of an aggregator does,
        and is resumed with the answers.  Whoever measures for it chooses by what was seen, so draws
        of the held-out tasks are not for it: the card that stays is tested on them.

        Args:
            cards: All of a step, oldest first.
            context: The step's.
        """
        ...


@runtime_checkable
class Fusion(Protocol, metaclass=Structural):
    """
    Says which cards are tried together.
    """

    def groups(self, cards: Sequence[Card], chance: float) -> tuple[tuple[Card, ...], ...]:
        """
        What is to be measured: groups of cards, each of which is applied, and committed, as one.

        A card may be in several groups.  A group of several cards stands after all single ones.

        Args:
            cards: Cards that do not contradict each other.
            chance: How likely it is that a union helps, by those that were tried lately.
        """
        ...


@record(kw_only=True)
class TrialTerms:
    """
    What a trial is about.

    Args:
        tasks: How many tasks a candidate is compared with the head on.
        deterministic: Whether one draw a task is enough.
        step: The number of the step, 1, 2, 3, ... over the run, abandoned ones included.
        part: The share of what the step may spend that this trial may spend, above 0 and at most 1.
        removal: Whether the candidate lacks a part, and need only be no worse.
    """

    tasks: int
    deterministic: bool
    step: int
    part: float = 1.0
    removal: bool = False


@runtime_checkable
class Trial(Protocol, metaclass=Structural):
    """
    The comparison of one candidate with the head.

    A trial that only needs to know who is better may also have ``told(better) -> Verdict``.  Where all
    trials of a round have it and rewards are deterministic, the measurements end as soon as that is
    certain, and ``told`` is called once instead of ``add``: with whether the candidate's mean is above
    the head's, or, for a removal, not below it.

    Attributes:
        opening: How many cycles to measure before the first look; a cycle scores candidate and head
            once on every task.
        cycles: How many cycles there may be in all.
        seen: How many cycles it has taken in.
        mean: The mean difference so far, in units of the reward range.
        verdict: What is known now; ``undecided`` after the last cycle is the end.
    """

    @property
    def opening(self) -> int:
        """
        How many cycles to measure before the first look.
        """
        ...

    @property
    def cycles(self) -> int:
        """
        How many cycles there may be in all.
        """
        ...

    @property
    def seen(self) -> int:
        """
        How many cycles it has taken in.
        """
        ...

    @property
    def mean(self) -> float:
        """
        The mean difference so far, in units of the reward range.
        """
        ...

    @property
    def verdict(self) -> Verdict:
        """
        What is known now.
        """
        ...

    def add(self, differences: Sequence[float]) -> Verdict:
        """
        Take in a cycle: candidate minus head, a difference a task, in units of the reward range.
        """
        ...


@runtime_checkable
class Acceptance(Protocol, metaclass=Structural):
    """
    Says when a candidate is known to be better than the head.
    """

    def trial(self, terms: TrialTerms) -> Trial:
        """
        A new trial, which belongs to whoever asked.
        """
        ...


@runtime_checkable
class Promotion(Protocol, metaclass=Structural):
    """
    Says when a committed version has stood long enough to become the stable one.
    """

    def confirms(self, head: Sequence[float], stable: Sequence[float]) -> bool:
        """
        Whether the head held its own against the stable version.

        Args:
            head: Fresh scores of the head; empty when rewards are deterministic.
            stable: Scores of the stable version on the same tasks; empty with the other.
        """
        ...

    def due(self, confirmations: int) -> bool:
        """
        Whether that many confirmations in a row are enough.
        """
        ...
