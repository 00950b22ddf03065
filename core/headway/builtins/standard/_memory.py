"""
What the standard aggregator remembers between its steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from headway._records import record
from headway.contracts import Json, StepContext


def _numbers(held: Iterable[int]) -> tuple[int, ...]:
    return tuple(held)


def _keys(held: Iterable[str]) -> frozenset[str]:
    return frozenset(held)


PRIOR_HELPED, PRIOR_UNIONS = 3.0, 4.0
"""What is believed of unions before one was tried: three of four help."""

FADES = 0.8
"""What a union counts, in units of the one that is tried next."""


@record(kw_only=True)
class Memory:
    """
    One value, kept by the machine and changed with commits; as JSON it is a dict of these fields.

    While rewards are deterministic it changes with commits and vetoes, and when a union or a removal
    was tried in vain: seldom, since racing steps are abandoned for it.

    Args:
        head: The content digest of the head that the draws and spent cards below belong to.
        first: The first draw of the tests on that head.  A head was committed for its earlier
            draws, so these would flatter it.
        used: The first draw that no finished step has used on that head.
        spent: Cards that had all their draws on that head and were left undecided.
        trust: How far cheap measurements are trusted, from 0.25 to 4.
        audited: Measurements spent by the oracle.
        committed: The content digest of what this aggregator committed last.
        since: The step that committed it.
        confirmed: Confirmations of it in a row.
        pruned: The content digest of the head that a removal was last tried on.
        pruned_in: The step that tried it.
        cursor: Which part's removal is tried next.
        probation: The keys of cards that were committed in a union and whose removal was not tried.
        unions: How many unions were tried, the latest counting most.
        helped: How many of them helped, likewise.
    """

    head: str = ""
    first: int = 0
    used: int = 0
    spent: tuple[int, ...] = attrs.field(default=(), converter=_numbers)
    trust: float = 1.0
    audited: int = 0
    committed: str = ""
    since: int = 0
    confirmed: int = 0
    pruned: str = ""
    pruned_in: int = 0
    cursor: int = 0
    probation: frozenset[str] = attrs.field(default=frozenset[str](), converter=_keys)
    unions: float = 0.0
    helped: float = 0.0

    @property
    def chance(self) -> float:
        """
        The chance that a union helps, from those that were tried lately; 3/4 before the first.
        """
        return (self.helped + PRIOR_HELPED) / (self.unions + PRIOR_UNIONS)

    @classmethod
    def read(cls, context: StepContext) -> Memory:
        """
        What a step begins with.
        """
        held: dict[str, Any] = context.memory or {}
        memory = cls(**held)
        head = context.head.digest
        if memory.head == head:
            return memory
        # Somebody else moved the head: no test has used its draws, and these are still fresh.
        return attrs.evolve(memory, head=head, first=memory.used, spent=())

    def after_commit(self, head: str, step: int, used: int) -> Memory:
        """
        The memory after a commit.

        Args:
            head: The content digest of what was committed.
            step: The step that committed it.
            used: The first draw of it that has not been seen.
        """
        return attrs.evolve(
            self,
            head=head,
            first=used,
            used=used,
            spent=(),
            committed=head,
            since=step,
            confirmed=0,
        )

    def after_union(self, *, helps: bool) -> Memory:
        """
        The memory after a union was tried.
        """
        unions, helped = FADES * self.unions + 1, FADES * self.helped + helps
        return attrs.evolve(self, unions=unions, helped=helped)

    def on_probation(self, keys: Iterable[str]) -> Memory:
        """
        The memory after a commit of cards that were not all tried alone.
        """
        return attrs.evolve(self, probation=self.probation.union(keys))

    def after_removal(self, head: str, step: int, keys: Iterable[str]) -> Memory:
        """
        The memory after a step tried the removal of a part on a head.
        """
        return attrs.evolve(
            self,
            pruned=head,
            pruned_in=step,
            cursor=self.cursor + self.probation.isdisjoint(keys),
            probation=self.probation.difference(keys),
        )

    def to_json(self) -> Json:
        """
        The memory as a JSON value.
        """
        held = attrs.asdict(self)
        return {**held, "spent": list(self.spent), "probation": sorted(self.probation)}
