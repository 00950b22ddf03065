"""
Performs calls: the only place where a domain's code and the ledger run.
"""

from __future__ import annotations

import inspect
from asyncio import CancelledError
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from math import inf
from typing import Any

import attrs

from headway._records import record
from headway.contracts import (
    NO_USAGE,
    Artifact,
    Committed,
    Domain,
    Executor,
    Fault,
    HeadMoved,
    Json,
    Ledger,
    Outcome,
    Proposal,
    Snapshot,
    Task,
    Ticket,
    Usage,
    canonical_json,
    content_digest,
    text_digest,
)
from headway.contracts._metering import FREE, METER, Meter, read_meter
from headway.drivers._bridge import Bridge
from headway.drivers._copies import copied, longer_than, untouched
from headway.drivers._retry_after import retry_after
from headway.errors import ContractError
from headway.journal import Keeper
from headway.keyed import keyed_rng
from headway.machine import (
    Call,
    CallValue,
    CommitCall,
    Done,
    Failed,
    MeasureCall,
    PromoteCall,
    ProposeCall,
    RebaseCall,
    Rebased,
    RolloutCall,
    VerifyCall,
)

_NOTHING: dict[str, Any] = {}
"""What a method is given that asks for nothing by name."""

FAILURES = (Exception, SystemExit, CancelledError)
"""What user code may raise without ending more than its call."""


class InvalidValue(ValueError):  # noqa: N818 - it becomes the completion "invalid"
    """
    A domain gave something that is no valid reward, outcome or diff.
    """


class _OfAPart(Exception):  # noqa: N818 - it never leaves the module
    """
    What caused it is a bug of a part, not a failure of the backend.
    """

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


@attrs.define(eq=False, kw_only=True)
class Workbench:
    """
    What a driver's slots need to perform any call; safe to use from several threads at once.

    Args:
        domain: What is improved.
        ledger: Where versions are stored.
        tasks: Every task by id.
        seed: The run's seed.
        executor: Where plain functions run.
        max_proposal_bytes: A longer proposal is not looked at any further: it will be discarded.
        journal: What must be able to keep each answer, and hold all before a commit is made.
        bridge: What waits for coroutines on behalf of threads.
        coroutines: The kinds of calls whose user code is ``async def``.
        broken_off: What the call spent that Ctrl-C broke off.
    """

    domain: Domain
    ledger: Ledger
    tasks: Mapping[str, Task]
    seed: int
    executor: Executor
    max_proposal_bytes: int = 1_000_000
    journal: Keeper | None = None
    bridge: Bridge = attrs.field(factory=Bridge)
    broken_off: Usage = attrs.field(default=NO_USAGE, init=False)
    _by_rollout: bool = attrs.field(init=False)
    coroutines: frozenset[str] = attrs.field(init=False)
    _raw: dict[str, Callable[[Any], Any]] = attrs.field(init=False)
    _finish: dict[str, Callable[[Any, Any], CallValue]] = attrs.field(init=False)
    _wants: dict[str, frozenset[str]] = attrs.field(factory=dict[str, frozenset[str]], init=False)

    def __attrs_post_init__(self) -> None:
        methods = ("rollout", "propose", "measure")
        for method in methods:
            names = inspect.signature(getattr(self.domain, method)).parameters
            self._wants[method] = frozenset(names) & {"rng", "payload", "ticket"}
        # A domain that leaves ``measure`` as it is scores by rollouts, also by async def ones.
        self._by_rollout = type(self.domain).measure is Domain.measure
        behind = {m: m for m in methods} | {"verify": "rollout"}
        behind |= {"measure": "rollout"} if self._by_rollout else {}
        self.coroutines = frozenset(
            kind
            for kind, method in behind.items()
            if inspect.iscoroutinefunction(getattr(self.domain, method))
        )
        self._raw = {
            "rollout": self._rollout,
            "propose": self._propose,
            "verify": self._verify,
            "measure": self._measure,
            "rebase": self._rebase,
            "commit": self._commit,
            "promote": self._promote,
        }
        self._finish = {
            "rollout": self._outcome,
            "propose": self._proposed,
            "verify": self._outcome,
            "measure": self._score,
            "rebase": self._rebased,
            "commit": self._committed,
            "promote": self._promoted,
        }

    def perform(self, call: Call, now: Callable[[], float]) -> Done | Failed:
        """
        Perform a call and report it; never raises an ``Exception``.
        """
        kind = call.kind
        meter: Meter = [] if call.paid else FREE
        before = METER.set(meter)
        try:
            if kind in self.coroutines:
                raw = self.bridge.wait(self._raw[kind](call))
            else:
                raw = self._executed(call)
            value = self._kept(call, self._finish[kind](call, raw))
        except FAILURES as error:  # user code may raise anything; it is contained
            return self._failed(call, error, now, meter)
        except KeyboardInterrupt:
            self.broken_off = read_meter(meter)
            raise
        finally:
            METER.reset(before)
        return Done(now(), call.id, value, read_meter(meter) if meter else NO_USAGE)

    def _executed(self, call: Call) -> Any:
        """
        What a call gives, by way of the executor; what that itself raises is its own fault.
        """
        try:
            kept = self.executor.run(_kept, self._raw[call.kind], call)
        except FAILURES as error:
            raise _OfAPart("executor") from error
        if not isinstance(kept, _Kept):
            message = f"run returned {kept!r}, which is not what the function returned"
            raise _OfAPart("executor") from ContractError(message)
        if kept.error is not None:
            raise kept.error
        return kept.value

    def close(self) -> None:
        """
        Release what the parts hold; answers that come later find nobody.
        """
        with ExitStack() as stack:
            stack.callback(self.ledger.close)
            stack.callback(self.executor.close)
            stack.callback(self.bridge.close)

    async def perform_async(self, call: Call, now: Callable[[], float]) -> Done | Failed:
        """
        As ``perform``, for a call whose kind is one of ``coroutines``, on the running loop.
        """
        meter: Meter = []
        METER.set(meter)
        try:
            raw = await self._raw[call.kind](call)
            value = self._kept(call, self._finish[call.kind](call, raw))
        except FAILURES as error:
            return self._failed(call, error, now, meter)
        finally:
            METER.set(None)  # no token: whoever closes an abandoned coroutine has another context
        return Done(now(), call.id, value, read_meter(meter) if meter else NO_USAGE)

    def _failed(
        self, call: Call, error: BaseException, now: Callable[[], float], meter: Meter
    ) -> Failed:
        task = None if isinstance(call, CommitCall) else getattr(call, "task", None)
        where, of, invalid = call.kind, error, isinstance(error, InvalidValue)
        if isinstance(error, _OfAPart):
            assert error.__cause__ is not None
            where, of, invalid = error.part, error.__cause__, error.part == "domain"
        asked = None if invalid or of is not error else retry_after(error)
        fault = Fault.of(where, of, task)
        return Failed(now(), call.id, fault, invalid, read_meter(meter), asked)

    def _kept(self, call: Call, value: CallValue) -> CallValue:
        """
        The value, which the journal can keep: here a fault in it is the call's own.
        """
        if self.journal is not None:
            try:
                self.journal.spell(call.id, value)
            except (TypeError, ValueError, RecursionError) as error:
                message = f"{call.kind} gave what can't be journalled: {error}; give JSON values"
                raise InvalidValue(message) from error
        return value

    # ------------------------------------------------------- what user code gives, unchecked

    def _rollout(self, call: RolloutCall) -> Any:
        return self._try(call.artifact.value, call)

    def _verify(self, call: VerifyCall) -> Any:
        return self._try(self._asked(self.domain.apply, call.artifact.value, call.diff), call)

    def _try(self, state: Json, call: RolloutCall | VerifyCall) -> Any:
        more = self._more("rollout", call.payload, call.ticket, "rollout", call.ticket.number)
        return self.domain.rollout(state, self.tasks[call.task], **more)

    def _measure(self, call: MeasureCall) -> Any:
        scores = "rollout" if self._by_rollout else "measure"
        more = self._more(scores, None, None, "measure", call.task, call.draw, call.artifact.digest)
        measure = self.domain.rollout if self._by_rollout else self.domain.measure
        return measure(call.artifact.value, self.tasks[call.task], **more)

    def _propose(self, call: ProposeCall) -> Any:
        more = self._more("propose", call.payload, call.ticket, "propose", call.ticket.number)
        task = self.tasks[call.task]
        return self.domain.propose(call.artifact.value, task, call.outcome, **more)

    def _rebase(self, call: RebaseCall) -> Any:
        return self.domain.rebase(call.card.diff, call.artifact.value)

    def _commit(self, call: CommitCall) -> Any:
        self._settle()
        return self.ledger.commit(call.expected, call.artifact, key=call.key, message=call.message)

    def _promote(self, call: PromoteCall) -> Any:
        self._settle()
        return self.ledger.promote(call.version)

    def _settle(self) -> None:
        """
        What leads to a version is durable before the version is: whoever takes the run up commits
        under the same key.
        """
        if self.journal is not None:
            self.journal.settle()

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

    # ------------------------------------------------------- checked, as the machine takes it

    def _outcome(self, call: Call, raw: Any) -> Outcome:
        del call
        if not isinstance(raw, Outcome):
            message = f"rollout returned {raw!r}; it must return an Outcome(reward=..., output=...)"
            raise InvalidValue(message)
        reward = self._reward(raw.reward)
        return raw if type(raw.reward) is float else attrs.evolve(raw, reward=reward)

    def _score(self, call: Call, raw: Any) -> float:
        return self._outcome(call, raw).reward if self._by_rollout else self._reward(raw)

    def _reward(self, raw: Any) -> float:
        low, high = self.domain.reward_range
        if type(raw) is float and low <= raw <= high and raw < inf:
            return raw
        is_number = isinstance(raw, (int, float)) and not isinstance(raw, bool)
        if not is_number or raw != raw:  # noqa: PLR0124 - NaN differs from itself
            message = f"the reward {raw!r} is no number"
            raise InvalidValue(message)
        if not low <= raw <= high or raw in (inf, -inf):
            message = f"the reward {raw!r} is not within [{low:g}, {high:g}]"
            raise InvalidValue(message)
        return float(raw)

    def _proposed(self, call: ProposeCall, raw: Any) -> Proposal | None:
        return None if raw is None else self._proposal(raw, call.artifact)[0]

    def _rebased(self, call: RebaseCall, raw: Any) -> Rebased:
        if raw is None:
            return Rebased(proposal=None, artifact=None)
        proposal, after = self._proposal(raw, call.artifact)
        return Rebased(proposal=proposal, artifact=after)

    def _committed(self, call: CommitCall, raw: Any) -> Committed | HeadMoved:
        if isinstance(raw, Committed) and type(raw.version) is int and raw.version > call.expected:
            return raw
        moved: Any = raw.head if isinstance(raw, HeadMoved) else None
        if isinstance(moved, Snapshot) and type(moved.version) is int and moved.digest:
            return HeadMoved(moved)
        message = f"the ledger answered a commit on version {call.expected} with {raw!r}"
        raise ContractError(message)

    def _promoted(self, call: PromoteCall, raw: Any) -> Snapshot:
        if isinstance(raw, Snapshot) and raw.version == call.version and raw.digest:
            return raw
        message = f"the ledger answered the promotion of version {call.version} with {raw!r}"
        raise ContractError(message)

    def _proposal(self, diff: Json, artifact: Artifact) -> tuple[Proposal, Artifact]:
        if longer_than(diff, self.max_proposal_bytes):
            return _oversized(self.max_proposal_bytes), artifact
        try:
            text = canonical_json(diff)
        except (TypeError, ValueError) as error:
            message = f"the proposed diff is no JSON value: {error}"
            raise InvalidValue(message) from error
        before = copied(artifact.value)
        after = self._asked(self._applied, before, diff)
        if not untouched(before, artifact.value) and content_digest(before) != artifact.digest:
            message = f"apply of the domain {self.domain.name!r} changed the state it was given"
            raise _OfAPart("domain") from ContractError(f"{message}; let it return a new one")
        proposal = Proposal(
            diff=diff,
            digest=text_digest(text),
            keys=self._keys(diff),
            size=len(text),
            no_op=after == artifact,
            contract_breaking=bool(self._asked(self.domain.contract_breaking, diff)),
        )
        return proposal, after

    def _applied(self, value: Json, diff: Json) -> Artifact:
        after = Artifact(self.domain.apply(value, diff))
        assert after.digest  # spelled here, so that what is no JSON value is this method's fault
        return after

    def _keys(self, diff: Json) -> tuple[str, ...]:
        keys: Any = self._asked(self.domain.keys, diff)
        listed: Any = None if isinstance(keys, str) or not isinstance(keys, Iterable) else [*keys]
        if listed is None or not all(isinstance(key, str) for key in listed):
            message = f"keys returned {keys!r}; it must return a tuple of strings"
            raise InvalidValue(message)
        return tuple(sorted(listed))

    def _asked(self, method: Callable[..., Any], *arguments: Any) -> Any:
        """
        What a method of the domain says that is no call of the backend's: a fault in it is a bug.
        """
        try:
            return method(*arguments)
        except FAILURES as error:
            raise _OfAPart("domain") from error


@record
class _Kept:
    """
    What a function returned, or what it raised.
    """

    value: Any
    error: BaseException | None = None


def _kept(function: Callable[[Any], Any], call: Call) -> _Kept:
    """
    Keep what user code raises, so that it is told from what the executor raises.
    """
    try:
        return _Kept(function(call))
    except FAILURES as error:
        return _Kept(None, error)


def _oversized(limit: int) -> Proposal:
    """
    What stands for a proposal that is too long to be looked at: its size, and nothing of it.
    """
    size = limit + 1
    digest = text_digest(f"longer than {limit}")
    return Proposal(
        diff=None, digest=digest, keys=(), size=size, no_op=False, contract_breaking=False
    )
