"""
What a call spends: user code says it, whoever performs the call takes it down.

A meter is a plain list, put into a context variable for the length of one call.  Threads and tasks
that copy the context share it; appending to a list is atomic, so they may charge at once.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TypeAlias

import attrs

from headway._checks import check_count, check_number
from headway._records import record
from headway.errors import UsageError

Meter: TypeAlias = "list[tuple[int, float]]"


@record
class Usage:
    """
    What one call was charged with.

    Args:
        tokens: Tokens, or whatever else is counted in whole numbers.
        cost: Money, in any one unit.
    """

    tokens: int = 0
    cost: float = 0.0


NO_USAGE = Usage()
"""What most calls are charged with; shared, so that a call that charges nothing makes no object."""

METER: ContextVar[Meter | None] = ContextVar("headway_meter", default=None)
"""The meter of the call that the current context belongs to, if any."""

FREE: Meter = []
"""The meter of work that is not paid for: it must stay empty."""


def charge(*, tokens: int = 0, cost: float = 0.0) -> None:
    """
    Say what the call that is running has spent, as often as it spends something.

    To be called by a domain's code inside a rollout, a proposal, a verification, a measurement or a training,
    from any thread or task that has a copy of the call's context (``asyncio.to_thread`` makes one;
    ``threading.Thread`` is given one by ``contextvars.copy_context().run``).  What a call that fails
    or is given up has charged counts too.  Outside of a run nothing happens, so that the same code
    can be used and tested alone; nor after the call has ended.

    >>> charge(tokens=250, cost=0.002)

    Args:
        tokens: Tokens spent, 0 or more.
        cost: Money spent, in the unit of ``max_cost``, 0 or more.

    Raises:
        OptionError: a number is negative or not finite, or ``tokens`` is not whole.
        UsageError: it is called by a domain's ``rebase`` or a ledger's ``commit``, which are no paid
            calls: nothing is reserved for them.
    """
    check_count("tokens", tokens, 0)
    check_number("cost", cost, least=0, below=float("inf"))
    meter = METER.get()
    if meter is FREE:
        message = "charge() was called in a rebase or a commit, which are no paid calls"
        raise UsageError(f"{message}; spend in rollout, propose, measure or train instead")
    if meter is not None:
        meter.append((tokens, float(cost)))


def read_meter(meter: Meter) -> Usage:
    """
    What a meter has taken down.
    """
    if not meter:
        return NO_USAGE
    held = tuple(meter)
    return Usage(sum(tokens for tokens, _ in held), sum(cost for _, cost in held))


@attrs.frozen(kw_only=True)
class TotalUsage:
    """
    What a whole run used.

    Args:
        calls: Paid calls started.
        tokens: Tokens charged.
        cost: Money charged.
        seconds: The lengths of all paid calls together, on the driver's clock.
        failures: Paid calls that failed, gave something invalid or ran out of time.
    """

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    failures: int = 0
