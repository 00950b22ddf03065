"""
Stand-ins for a domain and an aggregator that must not run: they answer as a journal says they did.

What they answer is drawn from what was recorded, so that rollouts, proposals, measurements and commits
come as often as they did.  Rewards mean nothing, and nothing is learned.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar

import attrs

from headway.contracts import (
    Artifact,
    Card,
    Commit,
    Consume,
    Domain,
    Gather,
    Json,
    Measure,
    Outcome,
    Splits,
    Step,
    StepContext,
    Task,
    Train,
)
from headway.keyed import keyed_unit
from headway.machine import MachineConfig
from headway.what_if._record import Record, Swept


class StandIn(Domain):
    """
    A domain that answers as it was recorded.

    Args:
        config: The recorded machine's options.
        record: What was recorded.
        deterministic: Whether rewards turned out to be.
    """

    name: ClassVar[str] = "as recorded"

    def __init__(self, config: MachineConfig, record: Record, *, deterministic: bool) -> None:
        self._config, self._record = config, record
        self._calls = 0
        self.deterministic: bool | None = deterministic
        self.solved: float = config.solved
        self.reward_range: tuple[float, float] = config.reward_range
        self.failure_score: float | None = config.failure_score

    def tasks(self) -> Splits:
        """
        Tasks under the ids that they had.
        """
        config = self._config
        sides = {side: getattr(config, side) for side in ("train", "held_out", "test", "oracle")}
        return Splits(
            **{side: [Task(id=name, data=None) for name in ids] for side, ids in sides.items()}
        )

    def initial(self) -> Json:
        """
        Nothing was changed yet.
        """
        return {}

    def rollout(self, state: Json, task: Task, *, rng: random.Random) -> Outcome:
        """
        A recorded reward, or a failure as often as there was one.
        """
        self._maybe_fail("rollout")
        return Outcome(reward=self._drawn(self._record.rewards, rng))

    def propose(
        self, state: Json, task: Task, outcome: Outcome, *, rng: random.Random
    ) -> Json | None:
        """
        A change of the parts that a recorded one changed, or none as often as there was none.
        """
        self._maybe_fail("propose")
        found = rng.choice(self._record.proposals) if self._record.proposals else None
        if found is None:
            return None
        token = None if found.no_op else rng.getrandbits(53)
        return {"keys": list(found.keys), "token": token, "breaking": found.contract_breaking}

    def apply(self, state: Json, diff: Json) -> Json:
        """
        Mark the parts that the change is about.
        """
        if diff["token"] is None:
            return state
        return {**state, **dict.fromkeys(diff["keys"] or ["*"], diff["token"])}

    def keys(self, diff: Json) -> tuple[str, ...]:
        """
        The parts that the recorded change was about.
        """
        return tuple(diff["keys"])

    def contract_breaking(self, diff: Json) -> bool:
        """
        Whether the recorded change was.
        """
        return bool(diff["breaking"])

    def rebase(self, diff: Json, state: Json) -> Json | None:
        """
        The change, or None as often as one no longer applied.
        """
        fitted = self._record.rebased
        if not fitted or diff["token"] is None:
            return diff
        return diff if fitted[diff["token"] % len(fitted)] else None

    def measure(self, state: Json, task: Task, *, rng: random.Random) -> float:
        """
        A recorded score.
        """
        self._maybe_fail("measure")
        return self._drawn(self._record.scores, rng)

    def train(
        self, state: Json, cards: Sequence[Card], payload: Json, *, rng: random.Random
    ) -> Json:
        """
        Nothing, or a failure as often as there was one.
        """
        self._maybe_fail("train")

    def _drawn(self, recorded: Sequence[float], rng: random.Random) -> float:
        return rng.choice(recorded) if recorded else self.reward_range[0]

    def _maybe_fail(self, kind: str) -> None:
        # Not from the call's own numbers: they are the same when it is tried again, which would fail
        # for ever.  Under the simulated driver calls are made one by one, in an order that is given.
        self._calls += 1
        if keyed_unit(self._config.seed, "fails", self._calls) < self._record.failing(kind):
            message = f"a {kind} failed, as often as it was recorded"
            raise RuntimeError(message)


@attrs.define(eq=False, kw_only=True)
class StandInAggregator:
    """
    An aggregator that trains, measures and commits as much as recorded sweeps did.

    Args:
        batch: How many new cards make a step worth while.
        max_steps: How many steps may be open at once.
        sweeps: What sweeps did.
        learns_from: What the recorded one learned from.
        group_size: Rollouts of a group.
        gathers: Whether steps begin before their batch is complete.
        updates_per_step: The most versions that a step of groups moves the head.
    """

    batch: int
    max_steps: int
    sweeps: Sequence[Swept]
    learns_from: str = "proposals"
    group_size: int = 1
    gathers: bool = False
    updates_per_step: int = 1

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Do as a recorded sweep did.
        """
        as_was = context.rng.choice(self.sweeps) if self.sweeps else Swept(measured=0, committed=0)
        if self.learns_from == "outcomes":
            return (yield from self._update(as_was, cards, context))
        count = round(as_was.committed * len(cards)) or int(as_was.committed > 0)
        chosen = cards[:count]
        candidate = context.apply(*(card.diff for card in chosen or cards))
        for _ in range(as_was.trained):
            yield Train(cards)
        yield from _requests(candidate, as_was.measured, context)
        if chosen:
            yield Commit(candidate, chosen)
        elif not (as_was.measured or as_was.trained):
            yield Measure(
                (context.head,), context.held_out[:1]
            )  # known: it decides, and costs nothing

    def _update(self, as_was: Swept, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Use a batch of groups as a recorded one was used.
        """
        held = list(cards)
        while self.gathers and (more := (yield Gather())):
            held += more
        candidate = Artifact({**context.head.artifact.value, "": f"update {context.step}"})
        for _ in range(as_was.trained):
            yield Train(held)
        yield from _requests(candidate, as_was.measured, context)
        yield Commit(candidate, held) if as_was.committed else Consume(held)


def _requests(candidate: Artifact, count: int, context: StepContext) -> Iterator[Measure]:
    """
    That many measurements that nobody made before: of the candidate, and of others like it.
    """
    tasks = context.held_out
    state: dict[str, Any] = candidate.value
    others = (Artifact({**state, "": f"{context.step}.{place}"}) for place in range(1, count))
    whole, rest = divmod(count, len(tasks))
    artifacts = [candidate, *islice(others, whole)]
    if whole:
        yield Measure(artifacts[:whole], tasks)
    if rest:
        yield Measure(artifacts[whole:], tasks[:rest])
