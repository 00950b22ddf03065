"""
What trains: the contract that a trainer keeps, whatever it is made of.

A trainer may be a small network in this process, a torch module, a JAX function or a service somewhere.
Its weights live with it; what goes into the ledger is a reference to what it has published, and the
fingerprint of that.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import attrs

from headway.contracts import Json, Structural
from headway_rl._advantages import WeightedGroup

Metrics: TypeAlias = Mapping[str, float]
"""Numbers by name."""


@attrs.frozen(kw_only=True)
class Published:
    """
    Weights that can be sampled with.

    Args:
        reference: Where they are; a JSON value that means something to the trainer, or to its store.
        fingerprint: What tells them from all others: equal weights have equal ones.
    """

    reference: Json
    fingerprint: str


@attrs.frozen(kw_only=True)
class Sample:
    """
    What one sampling request gave.

    Args:
        actions: The tokens, or the one action.
        logprobs: Their log-probabilities in nats, one for each.
        version: The version of the weights that they were sampled with.
        context: Input tokens that the request read beside what it made; 0 where nobody counts.
        kv_version: The version that computed the oldest part of the cached prefix that it was sampled on;
            None where no part is older than ``version``.
        given: What the environment is given for it, such as the tokens' text; None stands for the
            first action, which is the only one where a request samples one.
    """

    actions: tuple[int, ...]
    logprobs: tuple[float, ...]
    version: int
    context: int = 0
    kv_version: int | None = None
    given: Json = None

    @property
    def action(self) -> Json:
        """
        What the environment is given.
        """
        return self.actions[0] if self.given is None else self.given


@runtime_checkable
class Policy(Protocol, metaclass=Structural):
    """
    Samples actions; what an episode is played with.

    ``sample`` may be ``async def``.  A policy is used by one episode at a time.
    """

    def sample(self, observation: Json, rng: random.Random) -> Sample | Awaitable[Sample]:
        """
        Sample an action, or the tokens of one request, for what is observed.

        Args:
            observation: What the environment shows.
            rng: The only source of chance; equal ones give equal samples where the engine can do that.
        """
        ...


@runtime_checkable
class CachingPolicy(Policy, Protocol, metaclass=Structural):
    """
    A policy that keeps what it has computed of an episode so far, its *prefix*, from request to request.

    Under ``sampling_policy="segment"`` a later request of an episode may be sampled with newer weights, by
    another policy than the earlier ones.  That policy is told to go on with the prefix that the earlier
    one has, and its samples have the version of it as ``kv_version``; or, where that would be too old, it is
    told nothing and computes the prefix anew.
    """

    def continuing(self, earlier: Policy) -> Policy:
        """
        This policy, going on with the cached prefix of an earlier one of the same episode and trainer.

        Args:
            earlier: What sampled so far; it samples no more.

        Returns:
            This policy or another one with the same weights.
        """
        ...


@runtime_checkable
class Trainer(Protocol, metaclass=Structural):
    """
    Turns weighted groups into new weights.

    All methods but ``policy`` are called one at a time, on a thread on which nothing else runs; each of
    them may be ``async def``, and is awaited on one event loop then, always the same.  ``policy`` is plain,
    quick and called from several threads at once.

    What it must keep: equal weights, optimizer state, groups and step give equal new weights, also after
    a crash in between, so that a step that was made and not acknowledged can be made again.
    """

    def forward_backward(
        self, groups: Sequence[WeightedGroup], reset: bool
    ) -> Metrics | Awaitable[Metrics]:
        """
        Add the gradient of some groups to what is there, or begin anew with them.

        The gradient's direction is the sum over members of advantage times the sum over unmasked units
        of the gradient of the log-probability.  The batch's common factor comes with ``optim_step``.

        Args:
            groups: Whole groups; only their useful ``sequences`` have weight.
            reset: Whether what was there is thrown away first.

        Returns:
            Numbers to report, such as a loss.
        """
        ...

    def optim_step(self, step_id: str, factor: float) -> Metrics | Awaitable[Metrics]:
        """
        Move the weights by the gradient times a factor, and throw the gradient away.

        Idempotent: the id of the step that was made last changes nothing and reports the same.

        Args:
            step_id: Names the step.
            factor: The batch's common factor, a positive number.
        """
        ...

    def publish(self) -> Published | Awaitable[Published]:
        """
        Put the weights where ``policy`` finds them; the same weights give the same answer.
        """
        ...

    def state_dict(self) -> Json | Awaitable[Json]:
        """
        What ``load`` needs beside the published weights: a reference to the optimizer's state.
        """
        ...

    def load(self, published: Published, state: Json) -> Awaitable[None] | None:
        """
        Stand where the trainer stood when it gave these two; the gradient is thrown away.

        Args:
            published: What ``publish`` gave.
            state: What ``state_dict`` gave then; None for a fresh optimizer.

        Raises:
            LookupError: there is nothing under that reference.
            LedgerCorrupt: what lies there has another fingerprint.
        """
        ...

    def policy(self, published: Published, version: int) -> Policy:
        """
        A policy that samples with published weights and says that their version is ``version``.
        """
        ...
