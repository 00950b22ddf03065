"""
The newest weights, for episodes that may change them from request to request.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Awaitable

import attrs

from headway.contracts import HeadCommitted, Json, Notice
from headway_rl._trainer import Policy, Sample, Trainer
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
    Samples each request with the newest weights there are, which never get older.

    Args:
        trainer: Makes policies of weights.
        heads: What is newest.
        version: The version that the episode begins on.
        state: The head's state at that version.
    """

    trainer: Trainer
    heads: Heads
    version: int
    state: Json
    _policy: Policy | None = attrs.field(default=None, init=False)

    def sample(self, observation: Json, rng: random.Random) -> Sample | Awaitable[Sample]:
        """
        See ``Policy``.
        """
        version, state = self.heads.newest(self.version, self.state)
        if self._policy is None or version != self.version:
            self.version, self.state = version, state
            self._policy = self.trainer.policy(published_of(state), version)
        return self._policy.sample(observation, rng)
