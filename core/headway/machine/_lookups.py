"""
The only plug-in code that runs inside ``handle``: quick, pure look-ups.

Their answers are recorded event by event, so that a replay needs no plug-in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol, TypeVar

import attrs

from headway.contracts import (
    Aggregator,
    DurationEstimator,
    Fault,
    Json,
    Sampler,
    Selector,
    Snapshot,
    StalenessPolicy,
    TaskBook,
    Ticket,
    Verdict,
    Work,
)
from headway.errors import ReplayDivergence
from headway.keyed import keyed_rng

T = TypeVar("T")


class LookupRaised(Exception):  # noqa: N818 - it never leaves the machine
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

    def __attrs_post_init__(self) -> None:
        self._selector = self.aggregator if isinstance(self.aggregator, Selector) else None

    def select(self, ticket: Ticket, head: Snapshot, memory: Json) -> Work:
        """
        Ask the aggregator; plain work when it has no ``select``.
        """
        if self._selector is None:
            return self._keep(Work())
        rng = keyed_rng(ticket.seed, "select", ticket.number)
        work: Any = self._ask("aggregator", self._selector.select, ticket, head, memory, rng)
        if type(work) is not Work:
            self._refuse("aggregator", f"select returned {work!r}, not Work")
        return self._keep(work)

    def pick(self, book: TaskBook) -> str:
        """
        Ask the sampler.
        """
        task: str = self._ask("sampler", self.sampler.pick, book)
        if task not in book.train:
            self._refuse("sampler", f"pick returned {task!r}, not a training task")
        return self._keep(task)

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        Ask the staleness policy.
        """
        ask = self.policy.decide
        verdict: Verdict = self._ask("staleness policy", ask, eta, alpha, contract_breaking)
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
        seconds: Any = self._ask("duration estimator", self.estimator.estimate, 1.0)
        if seconds is not None and not _is_duration(seconds):
            self._refuse("duration estimator", f"estimate returned {seconds!r}, not seconds")
        return self._keep(None if seconds is None else float(seconds))

    def observe(self, seconds: float) -> None:
        """
        Tell the estimator.
        """
        if self.estimator is not None:
            self._ask("duration estimator", self.estimator.observe, 1.0, seconds)
        self._keep(None)

    def _keep(self, answer: T) -> T:
        self.answers.append(answer)
        return answer

    def _refuse(self, kind: str, message: str) -> NoReturn:
        raise LookupRaised(self._keep(Fault(where=kind, type="ContractError", message=message)))

    def _ask(self, kind: str, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (Exception, SystemExit) as error:  # a plug-in may raise anything
            raise LookupRaised(self._keep(Fault.of(kind, error))) from error


def _is_duration(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < float("inf")


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

    def _next(self, kind: str) -> Any:
        if not self.answers:
            raise ReplayDivergence(f"the machine asks the {kind}; the journal holds no answer")
        answer = self.answers.pop(0)
        if isinstance(answer, Fault):
            raise LookupRaised(answer)
        return answer
