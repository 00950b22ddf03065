"""
Aggregators of the older form: an object with ``ingest(card)`` and ``step() -> list of MergeReport``.

Such an object asks by calling: it has a verifier that measures, and a ledger that commits.  Here it
runs beside a step, which yields what it asks for, so that it works on a head that nobody moves and
its measurements go through the same slots as everybody's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import fmean
from typing import Any, cast

import attrs
from attrs.validators import in_

from headway.contracts import (
    DISCARD_REASONS,
    Artifact,
    Card,
    Carry,
    Commit,
    Consume,
    Json,
    Measure,
    Request,
    Scores,
    Snapshot,
    Step,
    StepContext,
)
from headway.errors import ContractError, OptionError, UsageError, shown
from headway.evolve._conversation import Ask, conversation

REASONS = {
    **{reason: reason for reason in DISCARD_REASONS},
    "below-threshold": "worse",
    "oracle-rejected": "vetoed",
    "all-stale": "stale",
}
"""Why cards are discarded, by a report's outcome."""

KEPT = ("carried", "waiting", "cas-conflict")
"""Outcomes after which cards are kept for a later step."""


OUTCOMES = ("committed", *REASONS, *KEPT)
"""Everything that a report may say."""


def _numbers(cards: Iterable[Card | int]) -> tuple[int, ...]:
    return tuple(card.number if isinstance(card, Card) else card for card in cards)


@attrs.frozen(kw_only=True)
class MergeReport:
    """
    What became of some cards in one step of an old-style aggregator.

    Args:
        outcome: ``"committed"``; ``"carried"``, ``"waiting"`` or ``"cas-conflict"`` to keep the cards;
            ``"below-threshold"``, ``"oracle-rejected"``, ``"all-stale"`` or one of
            ``DISCARD_REASONS`` to discard them.
        cards: The cards, or their numbers.
        candidate: The state to commit; None when it was committed through the ledger already.

    Raises:
        ValueError: there is no such outcome.
    """

    outcome: str = attrs.field(validator=in_(OUTCOMES))
    cards: tuple[int, ...] = attrs.field(default=(), converter=_numbers)
    candidate: Json = None


@attrs.define(eq=False)
class Desk:
    """
    What the objects that an aggregator was made with have in common: the step that runs now.
    """

    ask_step: Ask | None = attrs.field(default=None, init=False)
    context: StepContext | None = attrs.field(default=None, init=False)
    open: set[int] = attrs.field(factory=set[int], init=False)

    def now(self) -> StepContext:
        """
        The context of the step that runs now.

        Raises:
            UsageError: none does.
        """
        if self.context is None:
            raise UsageError(
                "ask the ledger, the verifier and the audit inside step(), not outside"
            )
        return self.context

    def still_open(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """
        Those cards of the step that are not decided, each once.

        An object may well hold a card that the run has discarded as stale since.
        """
        return tuple(number for number in dict.fromkeys(numbers) if number in self.open)

    def ask(self, request: Request) -> Any:
        """
        Have the step ask for something.
        """
        self.now()
        assert self.ask_step is not None  # noqa: S101 - it is set with the context
        return self.ask_step(request)


@attrs.frozen(eq=False)
class StepLedger:
    """
    The ledger that an old-style aggregator sees: one head, which nobody else moves meanwhile.
    """

    _desk: Desk

    def snapshot(self) -> Snapshot:
        """
        The head; after a commit the new one.
        """
        return self._desk.now().head

    def apply(self, *diffs: Json, onto: Json = None) -> Json:
        """
        The head's state, or ``onto``, with diffs applied one after the other.
        """
        start = None if onto is None else Artifact(onto)
        return self._desk.now().apply(*diffs, onto=start).value

    def commit(self, state: Json, cards: Iterable[Card | int]) -> Snapshot:
        """
        Make a state the head.

        Args:
            state: The state, made on ``snapshot()``.
            cards: What it is made of, as cards or numbers.
        """
        numbers = self._desk.still_open(_numbers(cards))
        head: Snapshot = self._desk.ask(Commit(Artifact(state), numbers))
        self._desk.open -= set(numbers)
        self._desk.context = attrs.evolve(self._desk.now(), head=head)
        return head


@attrs.frozen(eq=False)
class Verifier:
    """
    Measures states on the held-out tasks, through the run's slots.
    """

    _desk: Desk

    @property
    def held_out(self) -> tuple[str, ...]:
        """
        The ids of the held-out tasks.
        """
        return self._desk.now().held_out

    @property
    def deterministic(self) -> bool:
        """
        Whether one draw a task is enough.
        """
        return bool(self._desk.now().deterministic)

    def score(self, state: Json, tasks: Sequence[str] | None = None, draws: int = 1) -> float:
        """
        The mean reward of a state.

        Args:
            state: The state.
            tasks: Ids of tasks; by default the held-out ones.
            draws: How often each task is tried.
        """
        return fmean(self.rows([state], tasks, draws)[0])

    def rows(
        self, states: Iterable[Json], tasks: Sequence[str] | None = None, draws: int = 1
    ) -> Scores:
        """
        The rewards of several states, which are measured side by side: one row a state, in the order
        (task, draw).
        """
        ids = self.held_out if tasks is None else tuple(tasks)
        rows: Scores = self._desk.ask(Measure([Artifact(s) for s in states], ids, draws))
        return rows


@attrs.frozen(eq=False)
class Audit:
    """
    Measures a state on all that an audit looks at: the held-out tasks, and the oracle's where a run
    has some.
    """

    _desk: Desk

    def score(self, state: Json, draws: int = 1) -> float:
        """
        The mean reward of a state.
        """
        context = self._desk.now()
        ids = (*context.held_out, *context.oracle)
        return Verifier(self._desk).score(state, tuple(dict.fromkeys(ids)), draws)


def is_old_style(given: object) -> bool:
    """
    Whether an object is an aggregator of the older form.
    """
    return not isinstance(given, str | type) and hasattr(given, "ingest") and hasattr(given, "step")


def is_aggregator(given: object) -> bool:
    """
    Whether an object is an aggregator of either form, and none that is still to be made.
    """
    return hasattr(given, "step") and not isinstance(given, type)


def old_style(given: Any, config: Any, policy: Any) -> Any:
    """
    An aggregator, from one of either form, or from a factory as ``made_by`` calls it.

    Raises:
        OptionError: what was given is none of these.
    """
    if is_old_style(given):
        return OldStyle(given)
    return given if is_aggregator(given) else made_by(given, config, policy)


def made_by(factory: Callable[..., Any], config: Any, policy: Any) -> Any:
    """
    The aggregator that a factory makes.

    Args:
        factory: Called as ``factory(ledger, verifier, audit, config, staleness_policy)``.
        config: The run's options.
        policy: The staleness policy.

    Raises:
        OptionError: it cannot be called like that, or makes no aggregator.
    """
    from headway.evolve._calls import UserCall

    names = ("ledger", "verifier", "audit", "config", "staleness_policy")
    UserCall.checked("aggregator_factory", factory, names, ())
    desk = Desk()
    make = partial(factory, StepLedger(desk), Verifier(desk), Audit(desk), config, policy)
    made = make()
    if is_old_style(made):
        return OldStyle(made, desk=desk, make=make)
    if hasattr(made, "step"):
        return made
    remedy = "It must make an aggregator, or an object with ingest(card) and step()."
    raise OptionError("aggregator_factory", made, remedy)


@attrs.define(eq=False)
class OldStyle:
    """
    The aggregator around an object with ``ingest(card)`` and ``step() -> list of MergeReport``.

    Each card is ingested once, when its first step begins, and again when a rebase changed its diff:
    the newer one counts.  Cards that no report names and no commit took are carried over.  After
    a step that was abandoned the object is made anew, when a factory made it; else it is handed the
    step's cards once more.

    Args:
        inner: The object.
        desk: What its ledger, verifier and audit share.
        make: Makes it anew.
    """

    inner: Any
    desk: Desk = attrs.field(factory=Desk)
    make: Callable[[], Any] | None = None
    batch: int = 1
    _seen: dict[int, str] = attrs.field(factory=dict[int, str], init=False)

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Hand over what is new, let the object decide, and carry out what it reports.
        """
        try:
            reports = yield from conversation(partial(self._decide, cards, context))
            yield from self._carry_out(reports)
        except GeneratorExit:
            self._start_over()
            raise
        finally:
            self.desk.context = None
        left = tuple(sorted(self.desk.open))
        if left:
            yield Carry(left)
        self._seen = {number: seen for number, seen in self._seen.items() if number in left}

    def _decide(self, cards: Sequence[Card], context: StepContext, ask: Ask) -> list[MergeReport]:
        desk = self.desk
        desk.ask_step, desk.context = ask, context
        desk.open = {card.number for card in cards}
        for card in cards:
            if self._seen.get(card.number) != card.digest:
                self.inner.ingest(card)
                self._seen[card.number] = card.digest
        return _reports(self.inner.step())

    def _carry_out(self, reports: Sequence[MergeReport]) -> Step:
        committing = [r for r in reports if r.outcome == "committed" and r.candidate is not None]
        if len(committing) > 1:
            message = (
                "step() reports two candidates to commit, of which the second knows nothing of the "
                "first; commit one a step, or through ledger.commit, and build on what it returns"
            )
            raise ContractError(message)
        for report in sorted(reports, key=lambda r: r.outcome == "committed"):
            cards = self.desk.still_open(report.cards)
            if report.outcome in KEPT or not (cards or report.candidate is not None):
                continue
            if report.outcome in REASONS:
                yield Consume(cards, REASONS[report.outcome])
            elif report.candidate is not None:
                yield Commit(Artifact(report.candidate), cards)
            else:
                message = (
                    "a report says committed, but names no candidate and nothing was committed"
                )
                raise ContractError(message)
            self.desk.open -= set(cards)

    def _start_over(self) -> None:
        self._seen = {}
        if self.make is not None:
            self.inner = self.make()


def _reports(given: Any) -> list[MergeReport]:
    found = list(cast("Iterable[Any]", given)) if isinstance(given, list | tuple) else None
    if found is None or not all(isinstance(report, MergeReport) for report in found):
        what = shown(cast("object", given))
        message = f"step() of an old-style aggregator returned {what}; give a list of MergeReport"
        raise ContractError(message)
    return found
