"""
What the machine is told.

======================  ==========================================================================
event                   when
======================  ==========================================================================
``Started``             once, first
``Done``                a call finished; its value is of the kind that the call gives
``Failed``              a call failed, or what it gave was invalid
``Yielded``             a step asked for something
``Returned``            a step ended
``Raised``              a step raised, or yielded something that is no request
``Tick``                time passed; may come at any time, early or late
``Stop``                somebody outside wants the run to end
``Resumed``             the process that ran it is gone, and another one goes on
======================  ==========================================================================

``now`` is seconds since the run began on the driver's clock and never goes back.  A ``Done`` or
``Failed`` for a call that is over already is late: it is counted and changes nothing else, except
that a late measurement is remembered.
"""

from __future__ import annotations

from typing import TypeAlias

from headway._records import record
from headway.contracts import NO_USAGE, Fault, Json, Request, Snapshot, Usage
from headway.machine._calls import CallValue


@record
class Started:
    """
    The run begins at a head.

    Args:
        stable: The head of the branch ``stable``; None when there is none.
    """

    now: float
    head: Snapshot
    stable: Snapshot | None = None


@record
class Done:
    """
    A call finished.

    Args:
        usage: What it was charged with.
    """

    now: float
    call: int
    value: CallValue
    usage: Usage = NO_USAGE


@record
class Failed:
    """
    A call failed.

    Args:
        invalid: The call ran, but what it gave is no valid reward or value.
        usage: What it was charged with before it failed.
        retry_after: For how many seconds the backend asks to be left alone, if it does.
    """

    now: float
    call: int
    fault: Fault
    invalid: bool = False
    usage: Usage = NO_USAGE
    retry_after: float | None = None


@record
class Yielded:
    """
    A step asked for something: its ``n``-th request, counted from 1.

    Args:
        took: Seconds that the step's own code ran before it asked.
    """

    now: float
    step: int
    n: int
    request: Request
    took: float = 0.0


@record
class Returned:
    """
    A step ended after ``n - 1`` requests.

    Args:
        memory: The optimizer's new memory; None leaves it as it is.
        took: Seconds that the step's own code ran before it ended.
    """

    now: float
    step: int
    n: int
    memory: Json = None
    took: float = 0.0


@record
class Raised:
    """
    A step raised instead of asking for its ``n``-th request.

    Args:
        took: Seconds that the step's own code ran before it raised.
    """

    now: float
    step: int
    n: int
    fault: Fault
    took: float = 0.0


@record
class Tick:
    """
    Time passed.
    """

    now: float


@record
class Stop:
    """
    Somebody outside wants the run to end.

    Args:
        reason: ``interrupted`` or ``error``.
        usage: What a call was charged with that is broken off by it and gives no answer of its own.
    """

    now: float
    reason: str
    fault: Fault | None = None
    usage: Usage = NO_USAGE


@record
class Resumed:
    """
    The process that ran this is gone, and another one goes on: what was in flight begins again.

    It comes once all that the journal holds has been handled.  Every call that was running is made
    once more, under its own number, and has all its time before it.
    """

    now: float


Event: TypeAlias = Started | Done | Failed | Yielded | Returned | Raised | Tick | Stop | Resumed
