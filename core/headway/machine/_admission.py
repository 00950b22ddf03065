"""
What tickets are for: the part of a ticket's life that depends on what the optimizer learns from.

``Proposals`` serve an optimizer that learns from proposed changes, ``Groups`` one that learns from
outcomes.  Everything that they have in common is the tickets' own.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from headway.contracts import CompletionKind, Snapshot
from headway.machine._flights import Flight


class Admission(Protocol):
    """
    Who starts next, and what becomes of how it ends.

    Attributes:
        one_by_one: Whether every ending is applied at once, whatever it brought.
    """

    one_by_one: ClassVar[bool]

    # ------------------------------------------------------------------ who starts

    def may_start(self, sweeping: bool) -> bool:
        """
        Whether one more ticket may start, and may bring anything.

        Args:
            sweeping: Whether a sweep is open.
        """
        ...

    def look_up(self, worker: int, held: Snapshot) -> tuple[Flight, Snapshot]:
        """
        The ticket that is to start next on a worker's place, and the snapshot that the place then
        holds; nothing is changed.

        Args:
            worker: The place.
            held: The snapshot that it holds.

        Raises:
            LookupRaised: a plug-in raised.
        """
        ...

    def started(self, flight: Flight) -> None:
        """
        That ticket has started.
        """
        ...

    # ------------------------------------------------------------------ how it goes on

    def to_propose_on(self, flight: Flight) -> Snapshot | None:
        """
        What a change is to be proposed against, after a rollout; None when the rollout was all.
        """
        ...

    def ended(self, flight: Flight) -> None:
        """
        A ticket ended well.
        """
        ...

    def failed(self, flight: Flight, completion: CompletionKind) -> None:
        """
        A ticket ended without an outcome.
        """
        ...

    def nothing_follows(self, *, ripe: bool) -> bool:
        """
        Whether nothing but further tickets can follow from the endings that were applied.

        Args:
            ripe: Whether there are cards, and room for a sweep that takes them.
        """
        ...

    def give_up(self) -> None:
        """
        No ticket brings anything any more.
        """
        ...

    # ------------------------------------------------------------------ what is left

    @property
    def exhausted(self) -> bool:
        """
        Whether only tickets in flight could still bring something, so that no further one is admitted.
        """
        ...

    @property
    def over(self) -> bool:
        """
        Whether all was used that may be, so that the search ends.
        """
        ...

    def look_after(self) -> bool:
        """
        Let what has become too old go, and make room for what comes next; True when a plug-in raised,
        so that it is to be asked again first.
        """
        ...

    # ------------------------------------------------------------------ what is waited for

    def waited(self, seconds: float) -> None:
        """
        The run searched for so long.
        """
        ...

    def next_alarm(self) -> float | None:
        """
        When ``mind_waiting`` is due, if ever.
        """
        ...

    def mind_waiting(self) -> None:
        """
        Tell what the next step has been waiting for, if it has waited long enough.
        """
        ...

    @property
    def blocking(self) -> str:
        """
        What is to be said of that; empty when there is nothing.
        """
        ...
