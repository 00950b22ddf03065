"""
The contracts of every kind of plug-in but domains.

Plug-ins are plain synchronous objects.  They do no I/O and no scheduling, own no threads, read no
clock and never see the mode.  The machine calls them from one thread at a time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import attrs

from headway._records import record
from headway.contracts._requests import Request
from headway.contracts._structural import Structural
from headway.contracts._values import (
    Artifact,
    Card,
    Committed,
    HeadMoved,
    Json,
    Removal,
    Snapshot,
    Ticket,
    Work,
)

Verdict: TypeAlias = Literal["accept", "rebase", "discard"]


def _no_removals() -> tuple[Removal, ...]:
    return ()


def _no_description(artifact: Artifact) -> Mapping[str, float]:
    del artifact
    return {}


@attrs.frozen(kw_only=True)
class StepContext:
    """
    What a step is told; together with the cards, all that it may depend on.

    Args:
        head: The head that the step is a transaction on.
        memory: The optimizer's memory, None before it first set one.
        held_out: The ids of the held-out tasks.
        deterministic: Whether one draw a task is enough.
        quiet: Nothing else can happen: the step must decide its cards.
        rng: A generator keyed by (run seed, step number), or what gives it when it is asked for.
        step: The step's number.
        combine: ``combine(artifact, *diffs)`` applies diffs one after the other.
        oracle: The ids of further tasks on which a candidate may be checked; often none.
        blast_radius: How much a bad commit would damage, from 0 to 1.
        reward_range: The lowest and the highest reward that is valid.
        stable: The promoted version; None when it is not known.
        removals: ``removals()`` gives changes that each take one part out of the head.
        describe: ``describe(artifact)`` says by names and numbers from 0 to 1 what kind of solution an
            artifact is; empty when the domain describes nothing.
    """

    head: Snapshot
    memory: Json
    held_out: tuple[str, ...]
    deterministic: bool
    quiet: bool
    _rng: random.Random | Callable[[], random.Random] = attrs.field(alias="rng")
    step: int
    combine: Callable[..., Artifact]
    oracle: tuple[str, ...] = ()
    blast_radius: float = 0.2
    reward_range: tuple[float, float] = (0.0, 1.0)
    stable: Snapshot | None = None
    removals: Callable[[], tuple[Removal, ...]] = _no_removals
    describe: Callable[[Artifact], Mapping[str, float]] = _no_description

    @property
    def rng(self) -> random.Random:
        """
        A generator keyed by (run seed, step number).
        """
        return self._rng if isinstance(self._rng, random.Random) else self._rng()

    def apply(self, *diffs: Json, onto: Artifact | None = None) -> Artifact:
        """
        The head, or ``onto``, with diffs applied one after the other.
        """
        return self.combine(self.head.artifact if onto is None else onto, *diffs)


Step: TypeAlias = Generator[Request, Any, Any]
"""A running step: yields requests, is sent their answers, returns the new memory or None."""


@runtime_checkable
class Aggregator(Protocol, metaclass=Structural):
    """
    An optimizer: turns evidence cards into commits.

    A step is a transaction on ``context.head`` and ``context.memory``.  Cards are leased to it;
    those that it neither commits, consumes nor carries are ``discarded(worse)`` at its end.  A step
    that asked for nothing has decided nothing: its cards go back to the buffer.  It may be
    abandoned and run again at any request, so it has no effect but its requests and no memory but
    its arguments: what it returns, or passes to ``Commit(memory=...)``, is its next
    ``context.memory``.  Cards and what they hold are shared, and not to be changed (see ``Card``);
    the memory, and lists and dicts that a request is answered with, are the step's own.

    An aggregator may also have ``select(ticket, head, memory, rng) -> Work``, called when a ticket
    is admitted: quick, pure, and with no randomness but ``rng``.

    An aggregator may also have ``max_steps``, from 1 to 3 and 1 when absent, read once when a run
    starts: so many of its steps may be open at once, each with cards of its own.  When one of them
    commits or changes the memory, the others are abandoned and their cards judged anew.  Steps of
    one aggregator are still called from one thread at a time.

    An aggregator may also have ``learns_from``, ``"proposals"`` when absent.  With ``"outcomes"`` a ticket
    is one rollout and no more: nothing is proposed or verified, ``solved`` means nothing, and the
    outcomes are the evidence.  ``group_size`` tickets, 1 when absent, all on one task, then make one
    card (see ``Card.members``); ``batch`` counts such groups, and a step gets exactly so many, fewer
    only at the end of the run, sorted by ``number``; with ``gathers``, False when absent, it begins
    with the first of them and asks for the others (see ``Gather``).  Its step moves the head at most
    ``updates_per_step`` times, 1 when absent.  A group that is decided but not committed
    has been discarded; none can be carried over.  With ``max_lag``, None when absent, a run with a
    larger ``max_staleness`` is refused.

    An aggregator may also have ``defaults``, options of a run that suit it, used where the caller
    gives none; they stand before the domain's.  A class has them on the class, since they are read
    before it is made.  How long a run lasts, its seed, its mode and its driver are not for it to say.

    Attributes:
        batch: How many new cards make a step worth while.
    """

    @property
    def batch(self) -> int:
        """
        How many new cards make a step worth while.
        """
        ...

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Decide what becomes of some cards.
        """
        ...


@runtime_checkable
class Selector(Protocol, metaclass=Structural):
    """
    The optional half of an aggregator: chooses what a ticket works on.
    """

    def select(self, ticket: Ticket, head: Snapshot, memory: Json, rng: random.Random) -> Work:
        """
        What this ticket is to work on.
        """
        ...


@runtime_checkable
class StalenessPolicy(Protocol, metaclass=Structural):
    """
    Says what to do with a card whose base is behind the head.
    """

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        ``"accept"``, ``"rebase"`` or ``"discard"`` a card that is ``eta`` commits old.

        Pure: equal arguments give equal answers.
        """
        ...


@runtime_checkable
class Remembering(Protocol, metaclass=Structural):
    """
    The optional half of what learns as a run goes on: what it has learnt can be kept and put back.

    Attributes:
        memory: What has been learnt so far, a JSON value; set on a new object that was made alike, it
            brings that there.  Whatever ``memory`` gave may be set, also in a later process.
    """

    memory: Json


@runtime_checkable
class DurationEstimator(Protocol, metaclass=Structural):
    """
    Predicts how long work takes, in seconds.

    An estimator may also have ``memory``, see ``Remembering``.  A run whose estimator has none takes no
    checkpoints, so taking it up again reads its journal from the start.
    """

    def observe(self, cost: float, seconds: float) -> None:
        """
        Learn from one finished piece of work; ``cost`` is its declared size (1.0 by default).
        """
        ...

    def estimate(self, cost: float) -> float | None:
        """
        The expected duration in seconds; None while nothing was observed.
        """
        ...

    def quantile(self, cost: float, level: float) -> float | None:
        """
        A duration that a share ``level`` of the work does not exceed, in seconds.
        """
        ...


@record
class TaskBook:
    """
    What a sampler may look at.

    Args:
        train: The ids of the training tasks.
        drawn: How many tickets were given a task by the sampler so far, not counting those whose
            task was in ``retry``.
        retry: Tasks whose last rollout did not end ``ok``, oldest first.
        seed: The run's seed.
        solved: Tasks that the head is known to solve, which needs no second look; always empty when
            rewards are not deterministic.
    """

    train: tuple[str, ...]
    drawn: int
    retry: tuple[str, ...]
    seed: int
    solved: frozenset[str] = frozenset()


@runtime_checkable
class Sampler(Protocol, metaclass=Structural):
    """
    Chooses the task of the next ticket.
    """

    def pick(self, book: TaskBook) -> str:
        """
        The id of a training task.  Pure: equal books give equal answers.
        """
        ...


@attrs.frozen(kw_only=True)
class LedgerEntry:
    """
    One committed version.

    Args:
        version: The version that the commit made.
        parent: The version that it was made on.
        digest: The content digest of the state.
        message: What the committer said.
        key: The commit's idempotency key; ``""`` for a promotion.
    """

    version: int
    parent: int
    digest: str
    message: str
    key: str


@runtime_checkable
class Ledger(Protocol, metaclass=Structural):
    """
    Stores versions of an artifact; safe to use from several threads at once.

    A commit has exactly three outcomes: ``Committed(version)``, ``HeadMoved(head)``, or an exception
    after which the ledger is as it was.

    A ledger may have ``durability``, ``none`` when absent: ``power`` when what it acknowledged
    survives the loss of power, ``process`` when it survives the end of the process.
    """

    def snapshot(self, branch: str = "dev", version: int | None = None) -> Snapshot:
        """
        The head of a branch, or an earlier version of it.
        """
        ...

    def commit(
        self, expected: int, artifact: Artifact, *, key: str, message: str, branch: str = "dev"
    ) -> Committed | HeadMoved:
        """
        Make ``artifact`` the head iff the head's version is ``expected`` (compare-and-swap).

        Args:
            expected: The version that the head must have.
            artifact: The new state.
            key: Names this commit; the same key again gives the same answer and commits once.
            message: For people.
            branch: The branch to commit to.
        """
        ...

    def promote(self, version: int, *, source: str = "dev", target: str = "stable") -> Snapshot:
        """
        Make a version of one branch the head of another.
        """
        ...

    def log(self, branch: str = "dev") -> tuple[LedgerEntry, ...]:
        """
        The commits of a branch, oldest first.
        """
        ...

    def fork(self, branch: str, *, source: str = "dev") -> Snapshot:
        """
        A new branch at another one's head.
        """
        ...

    def close(self) -> None:
        """
        Release what the ledger holds; calling it twice is harmless.
        """
        ...


@runtime_checkable
class Executor(Protocol, metaclass=Structural):
    """
    Runs one piece of work somewhere, on behalf of the thread that asks.

    An executor may also have ``begin(function)``, called once before a run with what all its work goes
    through; it raises an ``OptionError`` when that can't be run there.  And it may have ``kill(thread)``,
    told the identity of a thread, as ``threading.get_ident`` says it, whose work nobody waits for any
    more: that work is ended, and ``run`` raises a ``WorkerLostError`` on that thread.  The same error
    may be raised when work was lost for another reason: the call has failed then, and the executor is
    not to blame.
    """

    def run(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """
        Run the function and return what it returns, or raise what it raises.
        """
        ...

    def close(self) -> None:
        """
        Release what the executor holds.
        """
        ...


Observer: TypeAlias = Callable[[Any], None]
"""Receives one ``Notice`` at a time, on one thread."""
