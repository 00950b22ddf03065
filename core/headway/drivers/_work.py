"""
Performs calls: the only place where a domain's code and the ledger run.
"""

from __future__ import annotations

import copy
import inspect
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from math import inf
from typing import Any

import attrs

from headway.contracts import (
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
    canonical_json,
    content_digest,
)
from headway.drivers._bridge import Bridge
from headway.errors import ContractError
from headway.keyed import keyed_rng
from headway.machine import (
    Call,
    CallValue,
    CommitCall,
    Done,
    Failed,
    MeasureCall,
    ProposeCall,
    RebaseCall,
    Rebased,
    RolloutCall,
    VerifyCall,
)

_METHODS = {
    "rollout": "rollout",
    "verify": "rollout",
    "propose": "propose",
    "measure": "measure",
}
"""The domain's method behind each kind of call."""


FAILURES = (Exception, SystemExit, CancelledError)
"""What user code may raise without ending more than its call."""


class InvalidValue(ValueError):  # noqa: N818 - it becomes the completion "invalid"
    """
    A domain gave something that is no valid reward, outcome or diff.
    """


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
        bridge: What waits for coroutines on behalf of threads.
    """

    domain: Domain
    ledger: Ledger
    tasks: Mapping[str, Task]
    seed: int
    executor: Executor
    bridge: Bridge = attrs.field(factory=Bridge)
    _by_rollout: bool = attrs.field(init=False)
    _coroutines: frozenset[str] = attrs.field(init=False)
    _wants: dict[str, frozenset[str]] = attrs.field(factory=dict[str, frozenset[str]], init=False)

    def __attrs_post_init__(self) -> None:
        methods = ("rollout", "propose", "measure")
        for method in methods:
            names = inspect.signature(getattr(self.domain, method)).parameters
            self._wants[method] = frozenset(names) & {"rng", "payload"}
        # A domain that leaves ``measure`` as it is scores by rollouts, also by async def ones.
        self._by_rollout = type(self.domain).measure is Domain.measure
        self._coroutines = frozenset(m for m in methods if self._is_async(m))

    def _is_async(self, method: str) -> bool:
        scores = method == "measure" and self._by_rollout
        return inspect.iscoroutinefunction(getattr(self.domain, "rollout" if scores else method))

    def perform(self, call: Call, now: Callable[[], float]) -> Done | Failed:
        """
        Perform a call and report it; never raises an ``Exception``.
        """
        try:
            raw = self._in_place(call)
        except FAILURES as error:  # user code may raise anything; it is contained
            return Failed(now(), call.id, Fault.of(call.kind, error, _task(call)))
        return self._checked(call, raw, now)

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
        As ``perform``, for a call that ``is_coroutine``, on the running loop.
        """
        try:
            raw = await self.raw(call)
        except FAILURES as error:
            return Failed(now(), call.id, Fault.of(call.kind, error, _task(call)))
        return self._checked(call, raw, now)

    def _checked(self, call: Call, raw: Any, now: Callable[[], float]) -> Done | Failed:
        try:
            return Done(now(), call.id, self.finish(call, raw))
        except FAILURES as error:
            invalid = isinstance(error, InvalidValue)
            fault = Fault.of(call.kind, error, _task(call))
            return Failed(now(), call.id, fault, invalid=invalid)

    def is_coroutine(self, call: Call) -> bool:
        """
        Whether the user code of a call is ``async def``.
        """
        return _METHODS.get(call.kind, "") in self._coroutines

    def value(self, call: Call) -> CallValue:
        """
        Perform a call; raises what the domain or the ledger raises.
        """
        return self.finish(call, self._in_place(call))

    def _in_place(self, call: Call) -> Any:
        if self.is_coroutine(call):
            return self.bridge.wait(self.raw(call))
        return self.executor.run(self.raw, call)

    def raw(self, call: Call) -> Any:
        """
        What user code gives for a call, unchecked; an awaitable when it is ``async def``.
        """
        if isinstance(call, RolloutCall):
            return self._rollout(call.artifact.value, call)
        if isinstance(call, MeasureCall):
            key = ("measure", call.task, call.draw, call.artifact.digest)
            measure = self.domain.rollout if self._by_rollout else self.domain.measure
            more = self._more("rollout" if self._by_rollout else "measure", key)
            return measure(call.artifact.value, self.tasks[call.task], **more)
        if isinstance(call, ProposeCall):
            more = self._more("propose", ("propose", call.ticket.number), call.payload)
            task = self.tasks[call.task]
            return self.domain.propose(call.artifact.value, task, call.outcome, **more)
        if isinstance(call, VerifyCall):
            return self._rollout(self.domain.apply(call.artifact.value, call.diff), call)
        if isinstance(call, RebaseCall):
            return self.domain.rebase(call.card.diff, call.artifact.value)
        message = "; ".join(f"card {number}" for number in call.cards)
        return self.ledger.commit(call.expected, call.artifact, key=call.key, message=message)

    def finish(self, call: Call, raw: Any) -> CallValue:
        """
        Check what user code gave and turn it into what the machine takes.

        Raises:
            InvalidValue: it is no valid reward, outcome or diff.
        """
        if isinstance(call, RolloutCall | VerifyCall):
            return self._outcome(raw)
        if isinstance(call, MeasureCall):
            return self._outcome(raw).reward if self._by_rollout else self._reward(raw)
        if isinstance(call, ProposeCall):
            return None if raw is None else self._proposal(raw, call.artifact)[0]
        if isinstance(call, RebaseCall):
            return self._rebased(raw, call.artifact)
        return _commit_answer(call, raw)

    def _rollout(self, state: Json, call: RolloutCall | VerifyCall) -> Any:
        more = self._more("rollout", ("rollout", call.ticket.number), call.payload)
        return self.domain.rollout(state, self.tasks[call.task], **more)

    def _more(self, method: str, key: tuple[object, ...], payload: Json = None) -> dict[str, Any]:
        wants = self._wants[method]
        more: dict[str, Any] = {"rng": keyed_rng(self.seed, *key)} if "rng" in wants else {}
        if "payload" in wants:
            more["payload"] = payload
        return more

    def _outcome(self, raw: Any) -> Outcome:
        if not isinstance(raw, Outcome):
            message = f"rollout returned {raw!r}; it must return an Outcome(reward=..., output=...)"
            raise InvalidValue(message)
        reward = self._reward(raw.reward)
        return raw if type(raw.reward) is float else attrs.evolve(raw, reward=reward)

    def _reward(self, raw: Any) -> float:
        low, high = self.domain.reward_range
        if isinstance(raw, bool) or not isinstance(raw, int | float) or raw != raw:  # noqa: PLR0124 - NaN differs from itself differs from itself differs from itself
            message = f"the reward {raw!r} is no number"
            raise InvalidValue(message)
        if not low <= raw <= high or raw in (inf, -inf):
            message = f"the reward {raw!r} is not within [{low:g}, {high:g}]"
            raise InvalidValue(message)
        return float(raw)

    def _proposal(self, diff: Json, artifact: Artifact) -> tuple[Proposal, Artifact]:
        try:
            size = len(canonical_json(diff))
        except (TypeError, ValueError) as error:
            message = f"the proposed diff is no JSON value: {error}"
            raise InvalidValue(message) from error
        before = copy.deepcopy(artifact.value)
        after = Artifact(self.domain.apply(before, diff))
        if content_digest(before) != artifact.digest:
            message = f"apply of the domain {self.domain.name!r} changed the state it was given"
            raise ContractError(f"{message}; let it return a new one")
        proposal = Proposal(
            diff=diff,
            digest=content_digest(diff),
            keys=self._keys(diff),
            size=size,
            no_op=after == artifact,
            contract_breaking=self.domain.contract_breaking(diff),
        )
        return proposal, after

    def _keys(self, diff: Json) -> tuple[str, ...]:
        keys: Any = self.domain.keys(diff)
        if isinstance(keys, str) or not all(isinstance(key, str) for key in keys):
            message = f"keys returned {keys!r}; it must return a tuple of strings"
            raise InvalidValue(message)
        return tuple(sorted(keys))

    def _rebased(self, diff: Json | None, artifact: Artifact) -> Rebased:
        if diff is None:
            return Rebased(proposal=None, artifact=None)
        proposal, after = self._proposal(diff, artifact)
        return Rebased(proposal=proposal, artifact=after)


def _commit_answer(call: CommitCall, raw: Any) -> Committed | HeadMoved:
    if isinstance(raw, Committed) and type(raw.version) is int and raw.version > call.expected:
        return raw
    moved: Any = raw.head if isinstance(raw, HeadMoved) else None
    if isinstance(moved, Snapshot) and type(moved.version) is int and moved.digest:
        return HeadMoved(moved)
    message = f"the ledger answered a commit on version {call.expected} with {raw!r}"
    raise ContractError(message)


def _task(call: Call) -> str | None:
    return None if isinstance(call, CommitCall) else getattr(call, "task", None)
