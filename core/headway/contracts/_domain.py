"""
The contract of a domain: what is improved, on which tasks, and how.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from headway.contracts._values import Card, Json, Outcome, Splits, Task, canonical_json
from headway.errors import ContractError


class Domain(ABC):
    """
    What is improved, on which tasks, and how.

    Only ``tasks``, ``initial`` and ``rollout`` must be written, and for an optimizer that learns from
    proposals ``propose`` and ``apply``.  A domain is called from several threads at once and keeps no
    state between calls.  A method that names
    ``rng`` receives a ``random.Random`` of its own, keyed by (run seed, ticket, purpose, draw); one
    that names ``payload`` receives what the aggregator's ``select`` gave, and one that names
    ``ticket`` its ``Ticket``, or None where something is measured.  With no other source of
    randomness, equal seeds give equal runs.  ``rollout``, ``propose``, ``measure`` and ``train`` may
    be ``async def``.

    Attributes:
        name: What people type.
        deterministic: Whether one artifact always scores the same on one task.  None means that it
            is to be found out: the run draws its baseline twice, and believes what it sees until
            something contradicts it.
        solved: A rollout with at least this reward needs no proposal.
        reward_range: The lowest and the highest reward that is valid.
        measure_price: What one measurement costs, in rollouts; 0 when it is next to nothing, and None
            when that is to be found out from how long both take.  Async runs gather more cards for a
            step where a candidate is dear to measure.
        failure_score: What a measurement counts that failed for good; with None its candidate is
            discarded as unmeasured.
        pure: Whether its calls cost nothing and may be made again at will, as a replay that asks what
            would have been does.
        options: Every option that the constructor takes, with a one-line description.
        defaults: Options of a run that suit the domain, used where the caller gives none.
    """

    name: ClassVar[str]
    deterministic: bool | None = False
    solved: float = 1.0
    reward_range: tuple[float, float] = (0.0, 1.0)
    measure_price: float | None = None
    failure_score: float | None = None
    pure: bool = False
    options: ClassVar[Mapping[str, str]] = {}
    defaults: ClassVar[Mapping[str, Json]] = {}

    @abstractmethod
    def tasks(self) -> Splits:
        """
        The tasks by split; the same at every call.
        """

    @abstractmethod
    def initial(self) -> Json:
        """
        The state that a run starts from.
        """

    @abstractmethod
    def rollout(self, state: Json, task: Task, *, rng: random.Random) -> Outcome:
        """
        Try the state on a training task.
        """

    def propose(
        self, state: Json, task: Task, outcome: Outcome, *, rng: random.Random
    ) -> Json | None:
        """
        Suggest a change after a rollout that was not solved; None when there is nothing to suggest.

        Raises:
            ContractError: this domain has no changes: it is for optimizers that learn from outcomes.
        """
        raise ContractError(f"the domain {type(self).name!r} has no method propose")

    def apply(self, state: Json, diff: Json) -> Json:
        """
        The state with a change applied; a new value, the old one stays as it is.

        Raises:
            ContractError: this domain has no changes: it is for optimizers that learn from outcomes.
        """
        raise ContractError(f"the domain {type(self).name!r} has no method apply")

    def measure(self, state: Json, task: Task, *, rng: random.Random) -> float:
        """
        Score the state on a held-out or test task; by default the reward of a rollout.
        """
        return self.rollout(state, task, rng=rng).reward

    def train(
        self, state: Json, cards: Sequence[Card], payload: Json, *, rng: random.Random
    ) -> Json:
        """
        Learn from cards, for an aggregator that yields ``Train``; what is returned is its answer.

        It is for what takes long and must not hold up the search: a step of an optimizer, a fit.  It
        runs beside rollouts, measurements and commits, in the run's own process whatever the executor,
        takes no slot, and is never called while another call of it runs.  It may ``charge``.

        One that fails is tried again by a new step, which may hold further cards; one that was under
        way when its process ended is made again by the next process, with the same cards and payload;
        only what the run has acknowledged is not repeated.  So it must be safe to make a training
        again, though an earlier try went half the way or all of it: keep what was learnt under a name
        that is in ``payload``, and take up from there.  The default trains nothing.

        Args:
            state: The head that the step is a transaction on; it stays as it is.
            cards: The cards that the step named, in its order; they stay as they are.
            payload: What the step gave beside them.
            rng: Keyed by the run's seed, the step, and how many trainings of that step came before.

        Raises:
            ContractError: this domain trains nothing.
        """
        message = (
            f"the domain {type(self).name!r} trains nothing: give it a method"
            " train(state, cards, payload), or take an aggregator that yields no Train"
        )
        raise ContractError(message)

    def keys(self, diff: Json) -> tuple[str, ...]:
        """
        Which parts of the artifact a change touches; changes without a common key commute.

        The default says that every change touches everything.
        """
        return ("*",)

    def removals(self, state: Json) -> Sequence[Json]:
        """
        Changes that each take out one part which the artifact might do without.

        The standard aggregator tries one of them after each commit and keeps the artifact without
        that part when this does no harm.  The default offers none.
        """
        return ()

    def describe(self, state: Json) -> Mapping[str, float]:
        """
        What kind of solution a state is, apart from how good it is: names and numbers from 0 to 1.

        An optimizer that keeps different solutions tells them apart by these: MAP-Elites makes a grid
        of them.  Quick and pure; all states have the same names.  The default describes nothing.
        """
        return {}

    def contract_breaking(self, diff: Json) -> bool:
        """
        Whether a change breaks what other parts of the artifact rely on.
        """
        return False

    def rebase(self, diff: Json, state: Json) -> Json | None:
        """
        The same change, made to fit a newer state; None when it no longer applies.
        """
        return diff

    def render(self, state: Json) -> Mapping[str, str]:
        """
        The state as readable files: relative path to text.
        """
        return {"state.json": canonical_json(state) + "\n"}

    def durations(self) -> Mapping[str, object]:
        """
        Laws for the simulated driver by kind of work; a kind without a law takes no time.
        """
        return {}

    def virtual(self) -> Domain:
        """
        The domain to call under a virtual clock: the same answers, without the waiting.

        A domain that simulates a slow backend by sleeping returns a twin that does not sleep, since
        the simulated driver takes the durations from ``durations``.  The default is the domain
        itself.
        """
        return self
