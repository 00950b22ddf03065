"""
The only plug-in code that runs inside ``handle``: quick, pure look-ups.

Their answers are recorded event by event, so that a replay needs no plug-in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, NoReturn, Protocol, TypeVar, cast

import attrs

from headway.contracts import (
    Aggregator,
    DurationEstimator,
    Fault,
    Json,
    Remembering,
    Sampler,
    Selector,
    Snapshot,
    StalenessPolicy,
    TaskBook,
    Ticket,
    Verdict,
    Work,
    canonical_json,
)
from headway.contracts._depth import check_depth
from headway.errors import ReplayDivergence
from headway.keyed import keyed_rng

T = TypeVar("T")

RAISES = (Exception, SystemExit)
"""What a plug-in may raise: anything."""

PLAIN = Work()
"""What a ticket is to do when nobody selects."""


def _check_keys(value: Any) -> None:
    """
    See that texts are the keys of every dict: others would come back from a journal as texts.

    Raises:
        TypeError: another one is.
    """
    if isinstance(value, dict):
        for key, item in cast("dict[object, Any]", value).items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is no text")
            _check_keys(item)
    elif isinstance(value, list | tuple):
        for item in cast("Iterable[Any]", value):
            _check_keys(item)


class LookupRaised(Exception):  # noqa: N818 - drivers see it, and nobody else
    """
    A look-up raised or gave something unusable; ``fault.where`` names the plug-in's kind.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


class Lookups(Protocol):
    """
    What the machine looks up.
    """

    @property
    def answers(self) -> list[Any]:
        """
        What was answered since the list was last cleared.
        """
        ...

    def select(self, ticket: Ticket, head: Snapshot, memory: Json) -> Work:
        """
        What a ticket is to work on.
        """
        ...

    def pick(self, book: TaskBook) -> str:
        """
        The task of the next ticket.
        """
        ...

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        What to do with a stale card.
        """
        ...

    def estimate(self) -> float | None:
        """
        The expected duration of a rollout, in seconds.
        """
        ...

    def observe(self, seconds: float) -> None:
        """
        A rollout took this long.
        """
        ...

    @property
    def learnt(self) -> list[Json] | None:
        """
        What the plug-ins have learnt by now, for a checkpoint; None when one of them can't say.
        """
        ...

    def recall(self, learnt: list[Json]) -> None:
        """
        Put back what was learnt; only in new plug-ins.
        """
        ...


@attrs.define(eq=False, kw_only=True)
class PluginLookups:
    """
    Looks things up in plug-ins and records the answers in ``answers``.
    """

    aggregator: Aggregator
    policy: StalenessPolicy
    sampler: Sampler
    estimator: DurationEstimator | None = None
    answers: list[Any] = attrs.field(factory=list[Any], init=False)
    _selector: Selector | None = attrs.field(init=False)
    _train: tuple[str, ...] = attrs.field(default=(), init=False)
    _known: frozenset[str] = attrs.field(default=frozenset[str](), init=False)

    def __attrs_post_init__(self) -> None:
        self._selector = self.aggregator if isinstance(self.aggregator, Selector) else None

    def select(self, ticket: Ticket, head: Snapshot, memory: Json) -> Work:
        """
        Ask the aggregator; plain work when it has no ``select``.
        """
        if self._selector is None:
            self.answers.append(PLAIN)
            return PLAIN
        rng = keyed_rng(ticket.seed, "select", *ticket.key)
        try:
            work: Any = self._selector.select(ticket, head, memory, rng)
        except RAISES as error:
            self._contain("aggregator", error)
        if type(work) is not Work:
            self._refuse("aggregator", f"select returned {work!r}, not Work")
        try:
            canonical_json([work.payload, work.parent and work.parent.digest])
            check_depth(work.payload, "the payload")
            _check_keys(work.payload)
        except (TypeError, ValueError, RecursionError) as error:
            self._refuse(
                "aggregator", f"select returned a parent or payload that is no JSON: {error}"
            )
        return self._keep(work)

    def pick(self, book: TaskBook) -> str:
        """
        Ask the sampler.
        """
        try:
            task: Any = self.sampler.pick(book)
        except RAISES as error:
            self._contain("sampler", error)
        if book.train is not self._train:
            self._train, self._known = book.train, frozenset(book.train)
        if not isinstance(task, str) or task not in self._known:
            self._refuse("sampler", f"pick returned {task!r}, not a training task")
        self.answers.append(task)
        return task

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        Ask the staleness policy.
        """
        try:
            verdict: Verdict = self.policy.decide(eta, alpha, contract_breaking)
        except RAISES as error:
            self._contain("staleness policy", error)
        if verdict not in ("accept", "rebase", "discard"):
            answer = f"decide returned {verdict!r}, not 'accept', 'rebase' or 'discard'"
            self._refuse("staleness policy", answer)
        return self._keep(verdict)

    def estimate(self) -> float | None:
        """
        Ask the estimator; None when there is none or it knows nothing yet.
        """
        if self.estimator is None:
            return self._keep(None)
        try:
            seconds: Any = self.estimator.estimate(1.0)
        except RAISES as error:
            self._contain("duration estimator", error)
        if seconds is not None:
            if not isinstance(seconds, (int, float)) or not 0 <= seconds < inf:
                self._refuse("duration estimator", f"estimate returned {seconds!r}, not seconds")
            seconds = float(seconds)
        self.answers.append(seconds)
        return seconds  # type: ignore[no-any-return] # None or a float by now

    def observe(self, seconds: float) -> None:
        """
        Tell the estimator.
        """
        if self.estimator is not None:
            try:
                self.estimator.observe(1.0, seconds)
            except RAISES as error:
                self._contain("duration estimator", error)
        self.answers.append(None)

    @property
    def learnt(self) -> list[Json] | None:
        """
        The estimator's memory, the one that there is: all others are pure.
        """
        if self.estimator is None:
            return []
        return [self.estimator.memory] if isinstance(self.estimator, Remembering) else None

    def recall(self, learnt: list[Json]) -> None:
        """
        Put the estimator's memory back.
        """
        for memory in learnt:
            if isinstance(self.estimator, Remembering):
                self.estimator.memory = memory

    def _keep(self, answer: T) -> T:
        self.answers.append(answer)
        return answer

    def _refuse(self, kind: str, message: str) -> NoReturn:
        raise LookupRaised(self._keep(Fault(where=kind, type="ContractError", message=message)))

    def _contain(self, kind: str, error: BaseException) -> NoReturn:
        raise LookupRaised(self._keep(Fault.of(kind, error))) from error


@attrs.define(eq=False)
class RecordedLookups:
    """
    Gives recorded answers instead of asking plug-ins.
    """

    answers: list[Any] = attrs.field(factory=list[Any], init=False)

    def load(self, answers: Sequence[Any]) -> None:
        """
        Take the answers of the next event.
        """
        self.answers = list(answers)

    def select(self, ticket: Ticket, head: Snapshot, memory: Json) -> Work:
        """
        The recorded work.
        """
        del ticket, head, memory
        answer: Work = self._next("aggregator")
        return answer

    def pick(self, book: TaskBook) -> str:
        """
        The recorded task.
        """
        del book
        answer: str = self._next("sampler")
        return answer

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        The recorded verdict.
        """
        del eta, alpha, contract_breaking
        answer: Verdict = self._next("staleness policy")
        return answer

    def estimate(self) -> float | None:
        """
        The recorded estimate.
        """
        answer: float | None = self._next("duration estimator")
        return answer

    def observe(self, seconds: float) -> None:
        """
        Whether telling the estimator worked is recorded too.
        """
        del seconds
        self._next("duration estimator")

    @property
    def learnt(self) -> list[Json] | None:
        """
        None: there is no plug-in that could say.
        """
        return None

    def recall(self, learnt: list[Json]) -> None:
        """
        Whatever was learnt stands in the answers to come.
        """

    def _next(self, kind: str) -> Any:
        if not self.answers:
            raise ReplayDivergence(f"the machine asks the {kind}; the journal holds no answer")
        answer = self.answers.pop(0)
        if isinstance(answer, Fault):
            raise LookupRaised(answer)
        return answer
