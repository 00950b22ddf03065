"""
Tickets in flight, the worker places they occupy, and the queue of tasks.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Literal, TypeAlias

import attrs

from headway.contracts import (
    Card,
    CompletionKind,
    Fault,
    Outcome,
    Proposal,
    Snapshot,
    TaskBook,
    Ticket,
    Usage,
    Work,
)
from headway.machine._calls import OfTicket

Phase: TypeAlias = Literal["rollout", "propose", "verify", "ended"]


@attrs.define(eq=False)
class Flight:
    """
    One ticket from its admission until its ending is applied.

    Args:
        ticket: The ticket.
        task: Its task.
        work: What the aggregator's ``select`` asked for.
        source: What the rollout runs on.
        started: When it was admitted.
        reserved: Calls still reserved for it.
        patience: Seconds after which it is a straggler; None when nothing was predicted.
        late_at: When it becomes one; None as above.
        charged: What its calls have been charged with; counted when its ending is applied.
        lost: How many of its calls were given up, and may still say what they have spent.
        call: Its running call.
        copy: The second copy of that call, when one runs.
        hedged: Whether a second copy was ever begun.
        held: Its next call, while the backend is left alone.
        failed_in: The kind of the call that failed.
    """

    ticket: Ticket
    task: str
    work: Work
    source: Snapshot
    started: float
    reserved: int = 0
    patience: float | None = None
    late_at: float | None = None
    ended: float = 0.0
    phase: Phase = "rollout"
    outcome: Outcome | None = None
    proposal: Proposal | None = None
    base: Snapshot | None = None
    delta: float | None = None
    completion: CompletionKind | None = None
    fault: Fault | None = None
    charged: tuple[tuple[str, Usage], ...] = ()
    lost: int = 0
    call: int = -1
    copy: int = -1
    hedged: bool = False
    held: OfTicket | None = None
    failed_in: str = ""

    def card(self, number: int, proposal: Proposal) -> Card:
        """
        The card of what it found.
        """
        assert self.base is not None
        assert self.outcome is not None
        return Card(
            number=number,
            tickets=(self.ticket.number,),
            task=self.task,
            base=self.base.version,
            parent=self.work.parent,
            payload=self.work.payload,
            diff=proposal.diff,
            digest=proposal.digest,
            keys=proposal.keys,
            contract_breaking=proposal.contract_breaking,
            reward=self.outcome.reward,
            delta=self.delta,
        )

    @property
    def running(self) -> tuple[int, ...]:
        """
        The calls that it may have running: one, and a second copy of it.
        """
        return (self.call,) if self.copy < 0 else (self.call, self.copy)


@attrs.define(eq=False)
class Workers:
    """
    The worker places: which are free, which snapshot each holds, which have retired.

    Args:
        held: The snapshot that each place holds.
        places: The free ones, as a heap.
        retired: How many take no ticket any more.
    """

    held: list[Snapshot]
    places: list[int] = attrs.field(init=False)
    _errors: list[int] = attrs.field(init=False)
    retired: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.places = list(range(len(self.held)))
        self._errors = [0] * len(self.held)

    @property
    def busy(self) -> int:
        """
        How many places are occupied.
        """
        return len(self.held) - len(self.places) - self.retired

    def occupy(self, snapshot: Snapshot) -> int:
        """
        Occupy the lowest free place with a snapshot.
        """
        worker = heappop(self.places)
        self.held[worker] = snapshot
        return worker

    def free(self, worker: int) -> None:
        """
        Free a place.
        """
        heappush(self.places, worker)

    def erred(self, worker: int, bearable: int) -> None:
        """
        Note a failure on a free place; it retires once it had ``bearable`` of them.
        """
        self._errors[worker] += 1
        if self._errors[worker] >= bearable and worker in self.places:
            self.places.remove(worker)
            self.places.sort()
            self.retired += 1

    @property
    def errors(self) -> int:
        """
        How many failures there were on all places.
        """
        return sum(self._errors)

    def refresh(self, head: Snapshot) -> int:
        """
        Hand every place the head; returns how many were behind it.
        """
        behind = sum(snapshot.version < head.version for snapshot in self.held)
        self.held = [head] * len(self.held)
        return behind


@attrs.define(eq=False)
class TaskQueue:
    """
    What the sampler looks at: how many tasks were drawn, and which must be tried again.
    """

    train: tuple[str, ...]
    seed: int
    drawn: int = attrs.field(default=0, init=False)
    _retry: tuple[str, ...] = attrs.field(default=(), init=False)

    def book(self, solved: frozenset[str]) -> TaskBook:
        """
        The frozen view for the sampler.

        Args:
            solved: The tasks that the head is known to solve.
        """
        return TaskBook(self.train, self.drawn, self._retry, self.seed, solved)

    def took(self, task: str) -> None:
        """
        Note that a task was given out.
        """
        if self._retry and task in self._retry:
            first = self._retry.index(task)
            self._retry = self._retry[:first] + self._retry[first + 1 :]
        else:
            self.drawn += 1

    def again(self, task: str) -> None:
        """
        Put a task back whose rollout did not end ``ok``.
        """
        if task not in self._retry:
            self._retry = (*self._retry, task)
