"""
What the machine tells a driver to do.

======================  ==========================================================================
instruction             what the driver does
======================  ==========================================================================
``Run``                 performs the call and answers with ``Done`` or ``Failed``
``Cancel``              stops the call if it can, and answers with ``Failed``; else goes on
``Abandon``             stops the call if it can; its slot is free already, no answer is needed
``Resume``              hands a step its answer and reports what it does next
``Abort``               closes a step
``Notify``              tells observers
``Finish``              ends the run
======================  ==========================================================================

Each answer names what it answers: ``Resume(step, n, value)`` answers the step's ``n``-th request,
and ``n = 0`` starts the step with a ``StepStart``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from headway._records import record
from headway.contracts import Card, Json, Notice, Snapshot
from headway.machine._calls import Call


@record
class StepStart:
    """
    What a step begins with.

    Args:
        deterministic: Whether one draw a score is enough, as far as the machine knows by now.
    """

    cards: tuple[Card, ...]
    head: Snapshot
    memory: Json
    quiet: bool
    deterministic: bool = True
    stable: Snapshot | None = None


@record
class Run:
    """
    Perform a call.
    """

    call: Call


@record
class Cancel:
    """
    Nobody waits for this call's value any more; it keeps its slot until it is answered.
    """

    call: int


@record
class Abandon:
    """
    This call was given up; its slot is free already and an answer would be late.
    """

    call: int


@record
class Resume:
    """
    Hand a step the answer to its ``n``-th request.
    """

    step: int
    n: int
    value: Any


@record
class Abort:
    """
    Close a step; what it says from now on is ignored.
    """

    step: int


@record
class Notify:
    """
    Tell observers.
    """

    notice: Notice


@record
class Finish:
    """
    The run is over.
    """

    reason: str


Instruction: TypeAlias = Run | Cancel | Abandon | Resume | Abort | Notify | Finish
