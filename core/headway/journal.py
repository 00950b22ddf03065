"""
The journal: every event of a machine, in order, with the look-ups' answers.

From it a machine can be rebuilt without any plug-in; see ``replay``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from headway.codec import decode, encode
from headway.contracts import Json
from headway.errors import ReplayDivergence
from headway.machine import Event, Instruction, Machine, RecordedLookups


@attrs.frozen
class Row:
    """
    One event and what was looked up while it was handled.
    """

    event: Event
    answers: tuple[Any, ...]


@attrs.define(eq=False)
class Journal:
    """
    The rows of one run, in memory.
    """

    rows: list[Row] = attrs.field(factory=list[Row])

    def append(self, event: Event, answers: tuple[Any, ...]) -> None:
        """
        Keep one event.
        """
        self.rows.append(Row(event, answers))

    def to_json(self) -> list[Json]:
        """
        The rows as JSON values.
        """
        return [[encode(row.event), encode(row.answers)] for row in self.rows]

    @classmethod
    def from_json(cls, rows: Iterable[Json]) -> Journal:
        """
        The journal that ``to_json`` gave.
        """
        return cls([Row(decode(event), decode(answers)) for event, answers in rows])


def replay(
    rows: Iterable[Row],
    machine: Machine,
    lookups: RecordedLookups,
    follow: Callable[[Event, list[Instruction]], None] | None = None,
) -> None:
    """
    Feed rows to a machine that was built with ``lookups``.

    Args:
        rows: What was journalled.
        machine: A new machine, built from the same options.
        lookups: The machine's look-ups.
        follow: Told each event and its instructions, when given.

    Raises:
        ReplayDivergence: the machine looks up something other than the journal holds.
    """
    for number, row in enumerate(rows):
        lookups.load(row.answers)
        out = machine.handle(row.event)
        if lookups.answers:
            message = f"event {number} left the look-ups {lookups.answers!r} unused"
            raise ReplayDivergence(message)
        if follow is not None:
            follow(row.event, out)
