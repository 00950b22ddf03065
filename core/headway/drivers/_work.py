"""
Performs calls: the only place where a domain's code and the ledger run.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from math import inf
from typing import Any

import attrs

from headway.contracts import (
    NO_USAGE,
    Artifact,
    Committed,
    Domain,
    Executor,
    HeadMoved,
    Json,
    Ledger,
    Outcome,
    Proposal,
    Snapshot,
    Task,
    Usage,
    canonical_json,
    content_digest,
    text_digest,
)
from headway.contracts._metering import FREE, METER, Meter, charge, read_meter
from headway.drivers._bridge import Bridge
from headway.drivers._copies import copied, json_copy, longer_than, untouched
from headway.drivers._domain_calls import (
    CANCELLED,
    FAILURES,
    Answered,
    Broken,
    BrokenElsewhere,
    DomainCalls,
    InvalidValue,
    OfAPart,
    asked,
)
from headway.errors import ContractError, WorkerLostError, shown
from headway.journal import Keeper
from headway.machine import (
    Call,
    CallValue,
    CommitCall,
    Done,
    Failed,
    PromoteCall,
    ProposeCall,
    RebaseCall,
    Rebased,
    TrainCall,
)

_UNCHARGED = frozenset({"rebase", "commit", "promote"})
"""The kinds of calls that must not charge."""


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
        over: Whether nobody hears any more what calls come to.
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
    over: bool = attrs.field(default=False, init=False)
    coroutines: frozenset[str] = attrs.field(init=False)
    _calls: DomainCalls = attrs.field(init=False)
    _raw: dict[str, Callable[[Any], Any]] = attrs.field(init=False)
    _finish: dict[str, Callable[[Any, Any], CallValue]] = attrs.field(init=False)
    _kill: Callable[[int], None] | None = attrs.field(init=False)
    _threads: dict[int, int] = attrs.field(factory=dict[int, int], init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _training: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        self._calls = DomainCalls(self.domain, self.tasks, self.seed)
        self.coroutines = self._calls.coroutines
        self._finish = {
            "rollout": self._outcome,
            "propose": self._proposed,
            "verify": self._outcome,
            "measure": self._score,
            "rebase": self._rebased,
            "commit": self._committed,
            "promote": self._promoted,
            "train": self._trained,
        }
        self._raw = dict.fromkeys(self._finish, self._executed)
        self._raw |= {"commit": self._commit, "promote": self._promote}
        self._raw["train"] = self._calls.raw  # here, wherever rollouts run: it keeps what it learns
        self._raw |= dict.fromkeys(self.coroutines, self._awaited)
        self._kill = getattr(self.executor, "kill", None)
        begin = getattr(self.executor, "begin", None)
        if begin is not None:
            begin(self._calls)

    def perform(self, call: Call, now: Callable[[], float]) -> Done | Failed:
        """
        Perform a call and report it; never raises an ``Exception``.
        """
        kind = call.kind
        meter: Meter = FREE if kind in _UNCHARGED else []
        before = METER.set(meter)
        try:
            raw = self._raw[kind](call)
            value = self._finish[kind](call, raw)
            if self.journal is not None:
                self._keep(call, value)
        except FAILURES as error:  # user code may raise anything; it is contained
            return Broken.of(call, error).failed(now(), call, read_meter(meter))
        except KeyboardInterrupt:
            self.broken_off = read_meter(meter)
            raise
        finally:
            METER.reset(before)
        return Done(now(), call.id, value, read_meter(meter) if meter else NO_USAGE)

    def _awaited(self, call: Call) -> Any:
        return self.bridge.wait(self._calls.raw(call))

    def _executed(self, call: Call) -> Any:
        """
        What a call gives, by way of the executor; what that itself raises is its own fault, but for
        a process that was lost.
        """
        if self._kill is not None:
            self._threads[call.id] = threading.get_ident()
        try:
            answered = self.executor.run(self._calls, call)
        except WorkerLostError as error:
            given_up = call.id not in self._threads
            broken = Broken(CANCELLED) if given_up else Broken.of(call, error)
            raise BrokenElsewhere(broken) from error
        except FAILURES as error:
            raise OfAPart("executor") from error
        finally:
            if self._kill is not None:
                with self._lock:  # whoever gives it up is done with this thread
                    self._threads.pop(call.id, None)
        if not isinstance(answered, Answered):
            message = f"run returned {answered!r}, which is not what the function returned"
            raise OfAPart("executor") from ContractError(message)
        for tokens, cost in answered.charged:  # out of reach of the meter here
            charge(tokens=tokens, cost=cost)
        if answered.broken is not None:
            raise BrokenElsewhere(answered.broken)
        return answered.value

    def give_up(self, call: int) -> None:
        """
        Nobody waits for a call any more: an executor that can ends it.
        """
        if self._kill is None:
            return
        with self._lock:
            thread = self._threads.pop(call, None)
            if thread is not None:
                self._kill(thread)

    def close(self) -> None:
        """
        Release what the parts hold; answers that come later find nobody.
        """
        with ExitStack() as stack:
            stack.callback(self.ledger.close)
            stack.callback(self.executor.close)
            stack.callback(self.bridge.close)

    async def perform_async(self, call: Call, now: Callable[[], float]) -> Done | Failed | None:
        """
        As ``perform``, for a call whose kind is one of ``coroutines``, on the running loop; None for
        one that failed after the run, as all do that are cancelled at its end.
        """
        meter: Meter = []
        METER.set(meter)  # and never taken away: with its answer given, nobody reads it any more
        try:
            if call.kind == "train":
                async with self._training:  # one that was cancelled may not have ended yet
                    raw = await self._calls.raw(call)
            else:
                raw = await self._calls.raw(call)
            value = self._finish[call.kind](call, raw)
            if self.journal is not None:
                self._keep(call, value)
        except FAILURES as error:
            if self.over:  # a thousand tracebacks would keep the loop from its end
                return None
            return Broken.of(call, error).failed(now(), call, read_meter(meter))
        return Done(now(), call.id, value, read_meter(meter) if meter else NO_USAGE)

    def _keep(self, call: Call, value: CallValue) -> None:
        """
        See to it that the journal can keep a value: here a fault in it is the call's own.
        """
        assert self.journal is not None
        try:
            self.journal.spell(call.id, value)
        except (TypeError, ValueError, RecursionError) as error:
            message = f"{call.kind} gave what can't be journalled: {error}; give JSON values"
            raise InvalidValue(message) from error

    # ------------------------------------------------------- what the ledger gives, unchecked

    def _commit(self, call: CommitCall) -> Any:
        self._settle()
        return self.ledger.commit(call.expected, call.artifact, key=call.key, message=call.message)

    def _promote(self, call: PromoteCall) -> Any:
        self._settle()
        return self.ledger.promote(call.version)

    def _settle(self) -> None:
        """
        What leads to a version is durable no later than the version is: whoever takes the run up
        commits under the same key.
        """
        if self.journal is not None and not self.journal.comes_with(self.ledger):
            self.journal.settle()

    # ------------------------------------------------------- checked, as the machine takes it

    def _outcome(self, call: Call, raw: Any) -> Outcome:
        del call
        if not isinstance(raw, Outcome):
            message = f"rollout returned {raw!r}; it must return an Outcome(reward=..., output=...)"
            raise InvalidValue(message)
        reward = self._reward(raw.reward)
        return raw if type(raw.reward) is float else attrs.evolve(raw, reward=reward)

    def _score(self, call: Call, raw: Any) -> float:
        return self._outcome(call, raw).reward if self._calls.by_rollout else self._reward(raw)

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

    def _trained(self, call: TrainCall, raw: Any) -> CallValue:
        del call
        try:
            value: CallValue = json_copy(raw)
        except (TypeError, ValueError, RecursionError) as error:
            message = f"train returned {shown(raw)}, which is no JSON value: {error}"
            raise InvalidValue(message) from error
        return value

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
        after = asked(self._applied, before, diff)
        if not untouched(before, artifact.value) and content_digest(before) != artifact.digest:
            message = f"apply of the domain {self.domain.name!r} changed the state it was given"
            raise OfAPart("domain") from ContractError(f"{message}; let it return a new one")
        proposal = Proposal(
            diff=diff,
            digest=text_digest(text),
            keys=self._keys(diff),
            size=len(text),
            no_op=after == artifact,
            contract_breaking=bool(asked(self.domain.contract_breaking, diff)),
        )
        return proposal, after

    def _applied(self, value: Json, diff: Json) -> Artifact:
        after = Artifact(self.domain.apply(value, diff))
        assert after.digest  # spelled here, so that what is no JSON value is this method's fault
        return after

    def _keys(self, diff: Json) -> tuple[str, ...]:
        keys: Any = asked(self.domain.keys, diff)
        listed: Any = None if isinstance(keys, str) or not isinstance(keys, Iterable) else [*keys]
        if listed is None or not all(isinstance(key, str) for key in listed):
            message = f"keys returned {keys!r}; it must return a tuple of strings"
            raise InvalidValue(message)
        return tuple(sorted(listed))


def _oversized(limit: int) -> Proposal:
    """
    What stands for a proposal that is too long to be looked at: its size, and nothing of it.
    """
    size = limit + 1
    digest = text_digest(f"longer than {limit}")
    return Proposal(
        diff=None, digest=digest, keys=(), size=size, no_op=False, contract_breaking=False
    )
