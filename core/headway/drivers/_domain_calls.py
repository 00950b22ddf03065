"""
The calls of a domain's own code, wherever they are made: one object that can be sent to a process.
"""

from __future__ import annotations

import inspect
import os
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import attrs

from headway._records import record
from headway.contracts import Domain, Fault, Json, Task, Ticket, Usage
from headway.contracts._metering import FREE, METER, Meter
from headway.drivers._retry_after import retry_after
from headway.keyed import keyed_rng
from headway.machine import (
    Call,
    CommitCall,
    Failed,
    MeasureCall,
    ProposeCall,
    RebaseCall,
    RolloutCall,
    TrainCall,
    VerifyCall,
)

FAILURES: Final = (Exception, SystemExit, CancelledError)
"""What user code may raise without ending more than its call."""

CANCELLED: Final = Fault(where="driver", type="Cancelled", message="nobody waits for it any more")
"""What became of a call that was given up before it had an answer."""

_NOTHING: dict[str, Any] = {}
"""What a method is given that asks for nothing by name."""

_METHODS = ("rollout", "propose", "measure", "train")

_FORKED: list[bool] = []
"""As many entries as there are forks between the process that was started and this one."""


@cache
def _note_forks() -> None:
    """
    From now on; a process's number would tell as much, but asking the system for it costs.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _FORKED.append(True))


def _forks() -> int:
    _note_forks()
    return len(_FORKED)


class InvalidValue(ValueError):  # noqa: N818 - it becomes the completion "invalid"
    """
    A domain gave something that is no valid reward, outcome or diff.
    """


class OfAPart(Exception):  # noqa: N818 - it never leaves the drivers
    """
    What caused it is a bug of a part, not a failure of the backend.
    """

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


def asked(method: Callable[..., Any], *arguments: Any) -> Any:
    """
    What a method of the domain says that is no call of the backend's: a fault in it is a bug.
    """
    try:
        return method(*arguments)
    except FAILURES as error:
        raise OfAPart("domain") from error


@record
class Broken:
    """
    Why a call has no value.

    Args:
        fault: What went wrong.
        invalid: Whether it was answered with something that is no value.
        retry_after: In how many seconds the backend wants to be asked again, if it said so.
    """

    fault: Fault
    invalid: bool = False
    retry_after: float | None = None

    @classmethod
    def of(cls, call: Call, error: BaseException) -> Broken:
        """
        What an exception means that a call came to.
        """
        if isinstance(error, BrokenElsewhere):
            return error.broken
        task = None if isinstance(call, CommitCall) else getattr(call, "task", None)
        if isinstance(error, OfAPart):
            assert error.__cause__ is not None
            return cls(Fault.of(error.part, error.__cause__, task), error.part == "domain")
        if isinstance(error, InvalidValue):
            return cls(Fault.of(call.kind, error, task), invalid=True)
        return cls(Fault.of(call.kind, error, task), retry_after=retry_after(error))

    def failed(self, now: float, call: Call, usage: Usage) -> Failed:
        """
        The same as an event.
        """
        return Failed(now, call.id, self.fault, self.invalid, usage, self.retry_after)


class BrokenElsewhere(Exception):  # noqa: N818 - it never leaves the drivers
    """
    A call came to nothing, and why is known already.
    """

    def __init__(self, broken: Broken) -> None:
        super().__init__(broken)
        self.broken = broken


@record
class Answered:
    """
    What a call of user code came to.

    Args:
        value: What was returned, unchecked.
        broken: Why there is none.
        charged: What the call charged where the driver does not hear it.
    """

    value: Any = None
    broken: Broken | None = None
    charged: tuple[tuple[int, float], ...] = ()


@attrs.define(eq=False)
class DomainCalls:
    """
    Makes the calls of a domain's code; safe to use from several threads at once.

    It can be pickled if the domain can, so that calls can be made in another process.

    Args:
        domain: What is improved.
        tasks: Every task by id.
        seed: The run's seed.
    """

    domain: Domain
    tasks: Mapping[str, Task]
    seed: int
    by_rollout: bool = attrs.field(init=False)
    """Whether measuring is a rollout."""
    coroutines: frozenset[str] = attrs.field(init=False)
    """The kinds of calls whose user code is ``async def``."""
    _wants: dict[str, frozenset[str]] = attrs.field(init=False)
    _home: int = attrs.field(factory=_forks, init=False)

    def __attrs_post_init__(self) -> None:
        # A domain that leaves ``measure`` as it is scores by rollouts, also by async def ones.
        self.by_rollout = type(self.domain).measure is Domain.measure
        behind = {m: m for m in _METHODS} | {"verify": "rollout"}
        behind |= {"measure": "rollout"} if self.by_rollout else {}
        self.coroutines = frozenset(
            kind
            for kind, method in behind.items()
            if inspect.iscoroutinefunction(self._method(method))
        )
        names = {m: inspect.signature(self._method(m)).parameters for m in _METHODS}
        self._wants = {m: frozenset(names[m]) & {"rng", "payload", "ticket"} for m in _METHODS}
        self._wants["train"] &= {"rng"}  # the payload is given to each

    def _method(self, name: str) -> Callable[..., Any]:
        """
        A method of the domain; that of the base where its own is none, such as a list called ``train``.
        """
        found = getattr(self.domain, name)
        return found if callable(found) else getattr(Domain, name).__get__(self.domain)  # type: ignore[no-any-return] # as above

    def __call__(self, call: Call) -> Answered:
        """
        Make a call of plain functions, and keep what it raises: that is told from what an executor
        raises.
        """
        # Elsewhere the driver's meter is not, or is a copy that a process was forked with.
        heard = len(_FORKED) == self._home and METER.get() is not None
        meter: Meter = [] if call.paid else FREE
        before = None if heard else METER.set(meter)
        try:
            value, broken = self.raw(call), None
        except FAILURES as error:
            value, broken = None, Broken.of(call, error)
        finally:
            if before is not None:
                METER.reset(before)
        return Answered(value, broken, () if heard else tuple(meter))

    def raw(self, call: Any) -> Any:
        """
        What user code gives, unchecked; where that is ``async def``, what can be awaited for it.
        """
        return _CALLS[type(call)](self, call)

    def _rollout(self, call: RolloutCall | VerifyCall) -> Any:
        state = call.artifact.value
        if type(call) is VerifyCall:
            state = asked(self.domain.apply, state, call.diff)
        more = _NOTHING
        if self._wants["rollout"]:  # else no key of a random stream need be made
            more = self._more("rollout", call.payload, call.ticket, "rollout", *call.ticket.key)
        return self.domain.rollout(state, self.tasks[call.task], **more)

    def _measure(self, call: MeasureCall) -> Any:
        scores = "rollout" if self.by_rollout else "measure"
        more = self._more(scores, None, None, "measure", call.task, call.draw, call.artifact.digest)
        measure = self.domain.rollout if self.by_rollout else self.domain.measure
        return measure(call.artifact.value, self.tasks[call.task], **more)

    def _propose(self, call: ProposeCall) -> Any:
        more = self._more("propose", call.payload, call.ticket, "propose", *call.ticket.key)
        task = self.tasks[call.task]
        return self.domain.propose(call.artifact.value, task, call.outcome, **more)

    def _train(self, call: TrainCall) -> Any:
        more = self._more("train", None, None, "train", call.step, call.nth)
        return self._method("train")(call.artifact.value, call.cards, call.payload, **more)

    def _rebase(self, call: RebaseCall) -> Any:
        return self.domain.rebase(call.card.diff, call.artifact.value)

    def _more(
        self, method: str, payload: Json, ticket: Ticket | None, *key: object
    ) -> dict[str, Any]:
        """
        What the method asks for by name; the key is its random stream's.
        """
        wants = self._wants[method]
        if not wants:
            return _NOTHING
        more: dict[str, Any] = {"rng": keyed_rng(self.seed, *key)} if "rng" in wants else {}
        if "payload" in wants:
            more["payload"] = payload
        if "ticket" in wants:
            more["ticket"] = ticket
        return more


_CALLS: dict[type, Callable[[DomainCalls, Any], Any]] = {
    RolloutCall: DomainCalls._rollout,
    VerifyCall: DomainCalls._rollout,
    MeasureCall: DomainCalls._measure,
    ProposeCall: DomainCalls._propose,
    RebaseCall: DomainCalls._rebase,
    TrainCall: DomainCalls._train,
}
"""How each kind of call is made."""
