"""
The work that a driver performs for the machine, and what each kind of work gives back.

A call is paid when it runs a user's rollout, proposal or measurement; rebasing, committing, promoting
and training are not, though a training may charge.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

import attrs

from headway._records import record
from headway.contracts import (
    Artifact,
    Card,
    Committed,
    HeadMoved,
    Json,
    Outcome,
    Proposal,
    Snapshot,
    Ticket,
)


@record
class TicketCall:
    """
    One of the calls that a ticket makes, one after the other.

    Args:
        copy: 0, or 1 for a second copy of a call that takes too long.
    """

    kind: ClassVar[str]
    paid: ClassVar[bool] = True

    id: int
    ticket: Ticket
    artifact: Artifact
    task: str
    payload: Json
    copy: int = attrs.field(default=0, kw_only=True)


@record
class RolloutCall(TicketCall):
    """
    Try an artifact on a task.  Gives an ``Outcome``.
    """

    kind: ClassVar[str] = "rollout"


@record
class ProposeCall(TicketCall):
    """
    Suggest a change to an artifact after a rollout.  Gives a ``Proposal`` or None.
    """

    kind: ClassVar[str] = "propose"

    outcome: Outcome


@record
class VerifyCall(TicketCall):
    """
    Try an artifact with a change applied, on the change's own task.  Gives an ``Outcome``.
    """

    kind: ClassVar[str] = "verify"

    diff: Json


@record
class RebaseCall:
    """
    Make a card's change fit the head.  Gives a ``Rebased``.
    """

    kind: ClassVar[str] = "rebase"
    paid: ClassVar[bool] = False

    id: int
    card: Card
    artifact: Artifact


@record
class MeasureCall:
    """
    Score an artifact on a task; ``draw`` tells repeated measurements apart.  Gives a float.
    """

    kind: ClassVar[str] = "measure"
    paid: ClassVar[bool] = True

    id: int
    artifact: Artifact
    task: str
    draw: int


@record
class CommitCall:
    """
    Write a version to the ledger.  Gives ``Committed`` or ``HeadMoved``.

    Args:
        key: The same for the same commit, also when another process makes it again; the ledger
            answers it as before then.
        message: What it is made of and what it scored, for people.
    """

    kind: ClassVar[str] = "commit"
    paid: ClassVar[bool] = False

    id: int
    key: str
    expected: int
    artifact: Artifact
    cards: tuple[int, ...]
    message: str


@record
class PromoteCall:
    """
    Make a version the head of the branch ``stable``.  Gives that head, a ``Snapshot``.
    """

    kind: ClassVar[str] = "promote"
    paid: ClassVar[bool] = False

    id: int
    version: int


@record
class TrainCall:
    """
    Learn from cards.  Gives a JSON value.

    Args:
        step: The step that asked.
        n: Which of its requests that was.
        nth: How many trainings of that step came before.
        artifact: The head that the step is a transaction on.
    """

    kind: ClassVar[str] = "train"
    paid: ClassVar[bool] = False

    id: int
    step: int
    n: int
    nth: int
    artifact: Artifact
    cards: tuple[Card, ...]
    payload: Json


@record(kw_only=True)
class Rebased:
    """
    What rebasing a card gave.

    Args:
        proposal: The change made to fit; None when it no longer applies.
        artifact: The head with that change applied; None with no proposal.
    """

    proposal: Proposal | None
    artifact: Artifact | None


OfTicket: TypeAlias = RolloutCall | ProposeCall | VerifyCall
LedgerCall: TypeAlias = CommitCall | PromoteCall
Call: TypeAlias = (
    RolloutCall | ProposeCall | VerifyCall | RebaseCall | MeasureCall | LedgerCall | TrainCall
)
CallValue: TypeAlias = (
    Outcome
    | Proposal
    | Rebased
    | Committed
    | HeadMoved
    | Snapshot
    | dict[str, Json]
    | list[Json]
    | str
    | float
    | None
)

ANSWERS: dict[str, tuple[type, ...]] = {
    "rollout": (Outcome,),
    "propose": (Proposal, type(None)),
    "verify": (Outcome,),
    "rebase": (Rebased,),
    "measure": (float,),
    "commit": (Committed, HeadMoved),
    "promote": (Snapshot,),
    "train": (dict, list, str, bool, int, float, type(None)),
}
"""What a finished call of each kind may give."""
