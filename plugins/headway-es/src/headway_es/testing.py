"""
What an optimizer must do so that it runs unchanged with and without staleness, as tests that its author runs.

It is for optimizers that learn from outcomes of ``ESDomain``; it needs pytest::

    import pytest

    from headway_es.testing import StalenessContract

    class TestMine(StalenessContract):
        @pytest.fixture
        def make(self):
            return Mine
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import pytest

from headway import run
from headway.contracts import (
    Card,
    Json,
    Outcome,
    Step,
    StepContext,
    Task,
    Ticket,
    content_digest,
)
from headway.durations import parse_law
from headway.testing.conformance import Contract, insist
from headway.testing.conformance._common import Make
from headway_es._domain import ESDomain
from headway_es._schedules import schedule

LAWS = ("constant:1", "lognormal:1,1.5", "pareto:1,1.5")
"""How long rollouts take."""

WORKERS = (1, 7, 64)
"""How many rollouts run at once."""

_THIRD, _FIFTH = 3, 5


class Unreliable(ESDomain):
    """
    Every third job raises when it is tried first; of the others, every fifth gives no number.
    """

    def rollout(
        self,
        state: Json,
        task: Task,
        *,
        payload: Json = None,
        rng: random.Random,
        ticket: Ticket | None = None,
    ) -> Outcome:
        """
        As the domain's, if it does not fail.
        """
        if ticket is not None and ticket.attempt == 0:
            if ticket.group % _THIRD == 0:
                raise OSError("it fails when it is tried first")
            if ticket.group % _FIFTH == 0:
                return Outcome(reward=float("nan"))
        return super().rollout(state, task, payload=payload, rng=rng)


class Shuffled:
    """
    An optimizer that is given the cards of each batch in another order.
    """

    def __init__(self, inner: Any, rng: random.Random) -> None:
        self._inner, self._rng = inner, rng

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        The inner one's, on shuffled cards.
        """
        mixed = self._rng.sample(list(cards), len(cards))
        step: Step = self._inner.step(mixed, context)
        return step


class StopAt:
    """
    Breaks a run off at a notice, as Ctrl-C does.
    """

    def __init__(self, count: int) -> None:
        self._left = count

    def __call__(self, notice: object) -> None:
        """
        Count a notice.
        """
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt


class StalenessContract(Contract):
    """
    One result without staleness, and one in each pipeline, whatever the workers do.

    Attributes:
        updates: How many updates a run makes.
        bounds: The bounds of the pipelines that are tried, in updates; those above the optimizer's
            ``max_lag`` are left out.
        objective: What ``ESDomain`` is made with.
    """

    updates: ClassVar[int] = 6
    bounds: ClassVar[tuple[int, ...]] = (1, 3)
    objective: ClassVar[Mapping[str, Any]] = MappingProxyType({"dim": 4})

    def ran(
        self, aggregator: Any, name: str, *, law: str = LAWS[0], shaky: bool = False, **options: Any
    ) -> str:
        """
        The digest of the state that a run by a schedule ends with.
        """
        domain = (Unreliable if shaky else ESDomain)(**self.objective)
        if options.setdefault("driver", "simulated") == "simulated":
            options["durations"] = {"rollout": parse_law(law)}
        given: dict[str, Any] = {"updates": self.updates, "seed": 3, **schedule(name), **options}
        result = run(domain, aggregator=aggregator, **given)
        insist(
            result.stop_reason == "updates",
            f"a run by {name} ended with {result.stop_reason!r}: {result.error}",
            do="let each step commit the batch that it is given",
        )
        return content_digest(result.state)

    def names(self, make: Make) -> list[str]:
        """
        The schedules in which the optimizer must repeat to the last bit.
        """
        bears: int | None = getattr(make(), "max_lag", None)
        bounds = [bound for bound in self.bounds if bears is None or bound <= bears]
        return ["sync", *(f"pipeline-{bound}" for bound in bounds)]

    def test_workers_and_durations_do_not_show(self, make: Make) -> None:
        """
        1, 7 and 64 workers, three laws of durations, and real threads: one result a schedule.
        """
        for name in self.names(make):
            found = {self.ran(make(), name, n_workers=w, law=law) for w in WORKERS for law in LAWS}
            found |= {self.ran(make(), name, n_workers=w, driver="threads") for w in WORKERS}
            insist(
                len(found) == 1,
                f"{name} has {len(found)} results for one seed",
                do="let a batch's result depend on its cards in the order of their numbers, and not"
                " on how many workers there were or who was quicker",
            )

    def test_the_order_of_arrival_does_not_show(self, make: Make) -> None:
        """
        A step that is given its cards in another order comes to the same.
        """
        for name in self.names(make):
            wanted = self.ran(make(), name)
            for seed in range(3):
                rng = random.Random(seed)  # noqa: S311 - a test's
                found = self.ran(Shuffled(make(), rng), name)
                insist(
                    found == wanted,
                    f"{name}: the cards in another order led to another state",
                    do="sort the cards by number before anything is added up or told",
                )

    def test_what_fails_does_not_show(self, make: Make) -> None:
        """
        A job that failed or gave no number is tried again with what it had; a late result is none.
        """
        for name in self.names(make):
            wanted = self.ran(make(), name)
            late: dict[str, Any] = {
                "law": "uniform:0,1",
                "rollout_timeout": 0.8,
                "member_attempts": 50,
            }
            tries: list[dict[str, Any]] = [{"shaky": True}]
            tries += [{**late, "n_workers": w} for w in WORKERS]
            for more in tries:
                insist(
                    self.ran(make(), name, **more) == wanted,
                    f"{name}: rollouts that were tried again led to another state",
                    do="let select depend on ticket.group and ticket.seed, and not on the ticket's"
                    " number, its attempt or rng",
                )

    def test_nothing_is_kept_on_the_object(self, make: Make) -> None:
        """
        A second run of the same object is as the first one.
        """
        aggregator = make()
        for name in self.names(make):
            first, second = (self.ran(aggregator, name) for _ in range(2))
            insist(
                first == second,
                f"{name}: a second run of the same object led to another state",
                do="keep what is to be remembered in Commit(memory=...)",
            )

    @pytest.mark.parametrize("count", [2, 15, 40])
    def test_a_run_that_broke_off_goes_on(self, make: Make, count: int, tmp_path: Path) -> None:
        """
        With jobs under way and half a batch complete, from what stands on disk.
        """
        for name in self.names(make):
            more: dict[str, Any] = {"driver": "threads", "n_workers": 7, "run_dir": tmp_path / name}
            with pytest.raises(KeyboardInterrupt):
                self.ran(make(), name, observers=[StopAt(count)], **more)
            insist(
                self.ran(make(), name, **more) == self.ran(make(), name),
                f"{name}: a run that was broken off and gone on with led to another state",
                do="keep all that the next step needs in Commit(memory=...)",
            )
