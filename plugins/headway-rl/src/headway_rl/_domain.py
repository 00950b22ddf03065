"""
The domain: episodes of an environment, under the weights that the head refers to.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import attrs

from headway.contracts import Card, Domain, Json, Outcome, Splits, Task, Ticket
from headway.errors import ContractError, OptionError
from headway_envs import Environment
from headway_rl._asking import Asks, Awaiter, RequestLimit, run_async, run_plain
from headway_rl._checks import check_choice, check_count
from headway_rl._episodes import play
from headway_rl._newest import Heads, NewestPolicy
from headway_rl._options import SAMPLING_POLICIES, check_cache
from headway_rl._recorder import Bar, Recorder
from headway_rl._trainer import CachingPolicy, Policy, Trainer
from headway_rl._training import Training, published_of, weighted_of
from headway_rl._trajectories import Trajectory

_SENT = (
    "environment",
    "trainer",
    "_splits",
    "max_turns",
    "max_sample_requests",
    "sampling_policy",
    "reward_range",
)


@attrs.define(eq=False, kw_only=True)
class RL(Domain):
    """
    Episodes of an environment, and a trainer that learns from them.

    The artifact is ``{"weights": reference, "fingerprint": ..., "trainer": reference, "update": n}``.  One
    rollout is one episode; ``measure`` plays one too, apart from what is trained on: with a limit and a
    record of its own.

    A ``GroupTrainer`` is the aggregator for it.  A trainer's methods may be ``async def``: they are
    awaited on an event loop of the domain's own, which no episode runs on.

    Args:
        environment: Makes an environment; called once an episode.
        trainer: What samples and learns; a run begins where it stands.
        splits: The tasks; a task's ``data`` goes to ``reset``.
        max_turns: Sampling requests after which an episode is over; None leaves that to the environment.
        max_sample_requests: Sampling requests that may be open at once; None bounds nothing.  With an
            executor of processes, in each of them.
        sampling_policy: ``trajectory``, or ``segment``: each request with the newest weights.
        max_kv_age: The highest age of a cached prefix, see ``Options``; for ``segment`` and for trainers whose
            policies are ``CachingPolicy``.
        kv_policy: ``hold`` or ``refill``, with ``max_kv_age``.
        reward_range: The lowest and the highest reward of an episode.
        recorder: Is told of episodes and updates, for metrics.

    Raises:
        OptionError: one of them is out of its range.
    """

    name: ClassVar[str] = "rl"
    defaults: ClassVar[Mapping[str, Json]] = {"aggregator": "groups"}

    environment: Callable[[], Environment]
    trainer: Trainer
    _splits: Splits = attrs.field(alias="splits")
    max_turns: int | None = None
    max_sample_requests: int | None = None
    sampling_policy: str = "trajectory"
    max_kv_age: int | None = None
    kv_policy: str | None = None
    reward_range: tuple[float, float] = (0.0, 1.0)
    recorder: Recorder = attrs.field(factory=Recorder)
    heads: Heads = attrs.field(factory=Heads, init=False)
    training: Training = attrs.field(init=False)
    _limit: RequestLimit = attrs.field(init=False)
    _unlimited: RequestLimit = attrs.field(factory=RequestLimit, init=False)
    _awaiter: Awaiter = attrs.field(factory=Awaiter, init=False)
    _initial: Json = attrs.field(default=None, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        check_choice("sampling_policy", self.sampling_policy, SAMPLING_POLICIES)
        check_cache(self.max_kv_age, self.kv_policy, self.sampling_policy)
        for name in ("max_turns", "max_sample_requests"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), 1)
        self.training = Training(self.trainer)
        self._limit = RequestLimit(self.max_sample_requests)

    def __getstate__(self) -> dict[str, Any]:
        """
        What an executor of processes sends: nothing of it trains there, and nothing is recorded there.
        """
        if self.sampling_policy == "segment":
            message = (
                "sampling_policy='segment' needs the newest head, which the run's own process alone"
                " knows; give 'trajectory', or executor='thread'"
            )
            raise TypeError(message)
        return {name.removeprefix("_"): getattr(self, name) for name in _SENT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        RL.__init__(self, **state)

    def tasks(self) -> Splits:
        """
        The tasks by split.
        """
        return self._splits

    def initial(self) -> Json:
        """
        The trainer as it stood when it was first asked for.

        Raises:
            OptionError: ``max_kv_age`` was given, and the trainer's policies keep no prefix.
        """
        if self._initial is None:
            self._initial = self._begun()
        return self._initial

    def _begun(self) -> Json:
        state = run_plain(self.training.begin(), self._unlimited, self._awaiter)
        if self.max_kv_age is not None:
            policy = self.trainer.policy(published_of(state), 0)
            if not isinstance(policy, CachingPolicy):
                remedy = f"{type(policy).__name__} keeps no prefix; give it a method continuing(earlier), or leave this out."
                raise OptionError("max_kv_age", self.max_kv_age, remedy)
        return state

    def rollout(
        self, state: Json, task: Task, *, rng: random.Random, ticket: Ticket | None = None
    ) -> Outcome:
        """
        Play one episode; its output is the ``Trajectory`` as a JSON value.

        Raises:
            ContractError: a part gave something else than it should, or has to be awaited.
        """
        bar, loop = self._begins(state, task, rng, ticket)
        trajectory = None
        try:
            trajectory = run_plain(loop, self._limit)
        finally:
            self._ends(bar, trajectory)
        return _outcome(trajectory)

    def measure(self, state: Json, task: Task, *, rng: random.Random) -> float:
        """
        Play one episode for its reward.
        """
        return run_plain(self._evaluated(state, task, rng), self._unlimited).reward

    def train(
        self,
        state: Json,
        cards: Sequence[Card],
        payload: Json,
        *,
        rng: random.Random | None = None,
    ) -> Json:
        """
        What a step of ``GroupTrainer`` asks for.

        A request that nobody waits for any more may still be at work; the next one waits for it, since
        there is one trainer.
        """
        groups = weighted_of(cards, payload)
        with self._lock:
            bar = self.recorder.begin(str(payload["do"]))
            try:
                asks = self.training.request(state, groups, payload)
                answer = run_plain(asks, self._unlimited, self._awaiter)
            finally:
                self.recorder.end(bar)
        self.recorder.trained(groups, payload, answer)
        return answer

    def _policy(self, state: Json, version: int) -> Policy:
        if self.sampling_policy == "trajectory":
            return self.trainer.policy(published_of(state), version)
        return NewestPolicy(
            trainer=self.trainer,
            heads=self.heads,
            version=version,
            state=state,
            max_kv_age=self.max_kv_age,
            kv_policy=self.kv_policy,
        )

    def _begins(
        self, state: Json, task: Task, rng: random.Random, ticket: Ticket | None
    ) -> tuple[Bar | None, Asks[Trajectory]]:
        """
        The loop of an episode that trains, and its bar; what is measured has none.
        """
        version, bar = 0, None
        if ticket is not None:
            version = ticket.base
            bar = self.recorder.begin(
                "sampling", group=ticket.group, version=version, ticket=ticket.number
            )
        policy, told = self._policy(state, version), () if bar is None else (bar.generated,)
        return bar, play(self.environment(), task.data, policy, rng, self.max_turns, *told)

    def _ends(self, bar: Bar | None, trajectory: Trajectory | None) -> None:
        if bar is None:
            return
        bar.failed = trajectory is None
        if trajectory is not None and trajectory.version is not None:
            bar.lag = bar.version - trajectory.version
        self.recorder.end(bar)

    def _evaluated(self, state: Json, task: Task, rng: random.Random) -> Asks[Trajectory]:
        policy = self.trainer.policy(published_of(state), 0)
        return play(self.environment(), task.data, policy, rng, self.max_turns)


def _outcome(trajectory: Trajectory) -> Outcome:
    if not math.isfinite(trajectory.reward):
        message = f"the episode's reward is {trajectory.reward}"
        raise ContractError(message)
    return Outcome(reward=trajectory.reward, output=trajectory.to_json())


@attrs.define(eq=False, kw_only=True)
class AsyncRL(RL):
    """
    ``RL`` for policies or environments with ``async def`` methods.

    Episodes are coroutines then, and thousands of them may wait for tools at once.  An environment whose
    methods are plain holds all of them up while it works.
    """

    async def rollout(  # type: ignore[override] # the contract lets it be async def
        self, state: Json, task: Task, *, rng: random.Random, ticket: Ticket | None = None
    ) -> Outcome:
        """
        Play one episode; see ``RL``.
        """
        bar, loop = self._begins(state, task, rng, ticket)
        trajectory = None
        try:
            trajectory = await run_async(loop, self._limit)
        finally:
            self._ends(bar, trajectory)
        return _outcome(trajectory)

    async def measure(self, state: Json, task: Task, *, rng: random.Random) -> float:  # type: ignore[override] # as rollout
        """
        Play one episode for its reward.
        """
        return (await run_async(self._evaluated(state, task, rng), self._unlimited)).reward
