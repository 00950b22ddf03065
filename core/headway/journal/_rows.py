"""
The rows of a journal, kept in memory, and what a machine makes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import attrs

from headway.codec import decode, encode
from headway.contracts import Json, Ledger
from headway.errors import IllegalEventError, ReplayDivergence
from headway.machine import CallValue, Event, Instruction, Machine, RecordedLookups


@attrs.frozen
class Row:
    """
    One event, what was looked up while it was handled, and what the machine then was.

    Args:
        event: The event.
        answers: The look-ups' answers.
        witness: The machine's after it; ``""`` when nobody kept it.
    """

    event: Event
    answers: tuple[Any, ...]
    witness: str = ""


class Keeper(Protocol):
    """
    What keeps a run's events; a keeper that is on disk acknowledges them in groups.
    """

    def spell(self, call: int, value: CallValue) -> None:
        """
        Look at what a call gave before the machine takes it.

        Raises:
            TypeError: it holds what can't be kept.
            ValueError: it holds NaN or an infinity.
        """
        ...

    def append(self, event: Event, answers: Sequence[Any], witness: str) -> None:
        """
        Keep one event, as it and the answers are now.
        """
        ...

    def settle(self, *, urgent: bool = True) -> None:
        """
        Return once all that was appended before will survive a crash.
        """
        ...

    def comes_with(self, ledger: Ledger) -> bool:
        """
        Whether whatever a ledger commits next takes along all that was appended before.
        """
        ...


@attrs.define(eq=False)
class Journal:
    """
    The rows of one run, in memory.
    """

    rows: list[Row] = attrs.field(factory=list[Row])

    def spell(self, call: int, value: object) -> None:
        """
        Nothing to look at: what is in memory is kept as it is.
        """

    def append(self, event: Event, answers: Sequence[Any], witness: str = "") -> None:
        """
        Keep one event.
        """
        self.rows.append(Row(event, tuple(answers), witness))

    def settle(self, *, urgent: bool = True) -> None:
        """
        Nothing to wait for: what is in memory survives no crash.
        """

    def comes_with(self, ledger: Ledger) -> bool:
        """
        It does not: what is in memory is written nowhere.
        """
        del ledger
        return False

    def to_json(self) -> list[Json]:
        """
        The rows as JSON values.
        """
        return [[encode(row.event), encode(row.answers), row.witness] for row in self.rows]

    @classmethod
    def from_json(cls, rows: Iterable[Json]) -> Journal:
        """
        The journal that ``to_json`` gave.
        """
        return cls([Row(decode(event), decode(answers), seen) for event, answers, seen in rows])


def replay(
    rows: Iterable[Row],
    machine: Machine,
    lookups: RecordedLookups,
    follow: Callable[[Event, list[Instruction]], None] | None = None,
) -> int:
    """
    Feed rows to a machine that was built with ``lookups``.

    Args:
        rows: What was journalled.
        machine: A new machine, built from the same options.
        lookups: The machine's look-ups.
        follow: Told each event and its instructions, when given.

    Returns:
        How many rows there were.

    Raises:
        ReplayDivergence: the machine looks up something other than the journal holds, takes an event
            for impossible, or comes out another than it was; the event's number is named.
    """
    number = -1
    for number, row in enumerate(rows):
        lookups.load(row.answers)
        try:
            out = machine.handle(row.event)
        except (IllegalEventError, ReplayDivergence) as error:
            raise _divergence(number, row, str(error)) from error
        if lookups.answers:
            raise _divergence(number, row, f"left the look-ups {lookups.answers!r} unused")
        if row.witness not in ("", machine.witness):
            raise _divergence(number, row, f"led to {machine.witness}, not {row.witness}")
        if follow is not None:
            follow(row.event, out)
    return number + 1


def _divergence(number: int, row: Row, reason: str) -> ReplayDivergence:
    kind = type(row.event).__name__
    return ReplayDivergence(f"event {number} ({kind} at {row.event.now:.6g} s): {reason}")
