"""
The newest weights, for episodes that may change them from request to request.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Awaitable

import attrs

from headway.contracts import HeadCommitted, Json, Notice
from headway.errors import ContractError
from headway_rl._trainer import CachingPolicy, Policy, Sample, Trainer
from headway_rl._training import published_of


@attrs.define(eq=False)
class Heads:
    """
    The newest head that the ledger has acknowledged; an observer of the run.

    Weights are used only after their commit, and never older ones after newer ones.
    """

    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)
    _newest: tuple[int, Json] | None = attrs.field(default=None, init=False)

    def __call__(self, notice: Notice) -> None:
        """
        Take notice of a commit.
        """
        if isinstance(notice, HeadCommitted):
            self.moved(notice.head.version, notice.head.artifact.value)

    def moved(self, version: int, state: Json) -> None:
        """
        The head is a version with a state; older ones than the newest are ignored.
        """
        with self._lock:
            if self._newest is None or version > self._newest[0]:
                self._newest = (version, state)

    def newest(self, version: int, state: Json) -> tuple[int, Json]:
        """
        The newest head, or the given one where none newer is known.
        """
        with self._lock:
            known = self._newest
        return known if known is not None and known[0] > version else (version, state)


@attrs.define(eq=False, kw_only=True)
class NewestPolicy:
    """
    Samples each request of an episode with the newest weights that the age of its prefix allows; they
    never get older.

    The *age of the prefix* is the version that samples less the one that computed the oldest part of what
    is cached of the episode.  Guarantee: with ``max_kv_age`` no request is sampled at a higher one.  With
    ``hold`` the weights stay as they are once newer ones would exceed it; with ``refill`` the newest weights
    begin without a cache, so that the prefix is computed anew.

    Args:
        trainer: Makes policies of weights.
        heads: What is newest.
        version: The version that the episode begins on.
        state: The head's state at that version.
        max_kv_age: The highest age of the prefix, in versions; None bounds none.
        kv_policy: ``hold`` or ``refill``.
    """

    trainer: Trainer
    heads: Heads
    version: int
    state: Json
    max_kv_age: int | None = None
    kv_policy: str | None = None
    _policy: Policy | None = attrs.field(default=None, init=False)
    _prefix: int = attrs.field(default=0, init=False)
    """The version that computed the oldest part of what is cached."""

    def sample(self, observation: Json, rng: random.Random) -> Sample | Awaitable[Sample]:
        """
        See ``Policy``.

        Raises:
            ContractError: the policy says that its prefix is older than it may be.
        """
        given = self._newest().sample(observation, rng)
        if isinstance(given, Awaitable):
            return self._awaited(given)
        return self._seen(given)

    async def _awaited(self, given: Awaitable[Sample]) -> Sample:
        return self._seen(await given)

    def _newest(self) -> Policy:
        """
        The policy for the next request.
        """
        version, state = self.heads.newest(self.version, self.state)
        before = self._policy
        if before is not None and version == self.version:
            return before
        too_old = self._exceeds(version, self._prefix)
        if before is not None and too_old and self.kv_policy == "hold":
            return before
        policy = self.trainer.policy(published_of(state), version)
        if before is None or too_old or not isinstance(policy, CachingPolicy):
            self._prefix = version
        else:
            policy = policy.continuing(before)
        self.version, self.state, self._policy = version, state, policy
        return policy

    def _exceeds(self, version: int, prefix: int) -> bool:
        return self.max_kv_age is not None and version - prefix > self.max_kv_age

    def _seen(self, sample: Sample) -> Sample:
        """
        A sample, whose policy knows best how old what it has cached is.
        """
        if not isinstance(sample, Sample):  # pyright: ignore[reportUnnecessaryIsInstance] # what policies give
            return sample  # and whoever asked refuses it
        self._prefix = sample.version if sample.kv_version is None else sample.kv_version
        if self._exceeds(sample.version, self._prefix):
            message = (
                f"a policy sampled at version {sample.version} on a prefix of version {self._prefix},"
                f" above max_kv_age={self.max_kv_age}; a policy that is not told to go on with"
                " another's prefix has to compute its own"
            )
            raise ContractError(message)
        return sample
