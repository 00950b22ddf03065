"""
What the standard aggregator remembers between its steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from headway.contracts import Json, StepContext


def _numbers(held: Iterable[int]) -> tuple[int, ...]:
    return tuple(held)


@attrs.frozen(kw_only=True)
class Memory:
    """
    One value, kept by the machine and changed with commits; as JSON it is a dict of these fields.

    While rewards are deterministic it changes with commits and vetoes alone, so that racing steps
    are not abandoned for it.

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
        cursor: Which part's removal is tried next.
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
    cursor: int = 0

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

    def to_json(self) -> Json:
        """
        The memory as a JSON value.
        """
        return {**attrs.asdict(self), "spent": list(self.spent)}
