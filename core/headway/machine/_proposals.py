"""
Tickets of an optimizer that learns from proposals.

Each rolls out a task of its own, and proposes a change unless the rollout needs none.  What is known
of the head from such rollouts tells when nothing is left to be found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import attrs

from headway.contracts import CompletionKind, Fault, Proposal, Snapshot, Ticket
from headway.gate import GateView
from headway.machine._flights import Flight, TaskQueue
from headway.machine._lookups import LookupRaised
from headway.machine._seen import Seen
from headway.machine._state import State


@attrs.define(eq=False)
class Proposals:
    """
    Who rolls out which task, and what becomes of what is proposed.

    Args:
        state: The machine's.
        view: Gives what the gate decides on, told whether a sweep is open.
    """

    one_by_one: ClassVar[bool] = False

    state: State
    view: Callable[[bool], GateView]
    queue: TaskQueue = attrs.field(init=False)
    seen: Seen = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        config = self.state.config
        self.queue = TaskQueue(config.train, config.seed)
        self.seen = Seen(self.state)

    # ------------------------------------------------------------------ who starts

    def may_start(self, sweeping: bool) -> bool:
        """
        Ask the gate, while anything is left to propose.
        """
        return not self.seen.exhausted and self.state.gate.admit(self.view(sweeping))

    def look_up(self, worker: int, held: Snapshot) -> tuple[Flight, Snapshot]:
        """
        A ticket on the snapshot that the gate says, with the aggregator's work on the sampler's task.
        """
        state, base = self.state, held
        head = state.head
        if base is not head and state.gate.base(base.version, head.version) == head.version:
            base = head
        ticket = Ticket(state.tally.tickets, base.version, worker, state.config.seed)
        work = state.lookups.select(ticket, base, state.memory)
        if work.task is not None and work.task not in self.queue.train:
            text = f"select chose {work.task!r}, which is no training task"
            raise LookupRaised(Fault(where="aggregator", type="ContractError", message=text))
        task = work.task or state.lookups.pick(self.queue.book(self.seen.known_solved))
        source = base if work.parent is None else Snapshot(base.version, work.parent)
        return Flight(ticket, task, work, source, state.now), base

    def started(self, flight: Flight) -> None:
        """
        Its task was given out, if the sampler chose it.
        """
        if flight.work.task is None:
            self.queue.took(flight.task)

    # ------------------------------------------------------------------ how it goes on

    def to_propose_on(self, flight: Flight) -> Snapshot | None:
        """
        The head, or what was rolled out where that is asked for; None when the task is solved, or a
        newer head solves it.
        """
        state, work, outcome = self.state, flight.work, flight.outcome
        assert outcome is not None
        if outcome.reward >= state.config.solved:
            self.seen.solved(flight)
            return None
        early = work.parent is not None or work.payload is not None or state.config.bind == "early"
        base = flight.source if early else state.head
        if base.version > flight.source.version and self.seen.mended(flight.task):
            return None
        return base

    def ended(self, flight: Flight) -> None:
        """
        Make a card of what it proposed, and note what it says of the head.
        """
        state = self.state
        if flight.proposal is not None:
            self._make_card(flight, flight.proposal)
        if state.determinism != "noisy":
            if state.doubting:
                self.seen.compare(flight)
            self.seen.learnt(flight)

    def _make_card(self, flight: Flight, proposal: Proposal) -> None:
        state = self.state
        card = flight.card(state.tally.cards, proposal)
        state.tally.cards += 1
        state.buffer.put(card)
        if proposal.size > state.config.max_proposal_bytes:
            state.decide(card.number, "discarded", "oversized")

    def failed(self, flight: Flight, completion: CompletionKind) -> None:
        """
        Its task is to be tried again, if the sampler chose it.
        """
        del completion
        if flight.work.task is None:
            self.queue.again(flight.task)

    def nothing_follows(self, *, ripe: bool) -> bool:
        """
        Whether there is nothing to sweep, and something is left to be found.
        """
        return not (ripe or self.seen.exhausted)

    def give_up(self) -> None:
        """
        Nothing is kept that no ticket has.
        """

    # ------------------------------------------------------------------ what is left

    @property
    def exhausted(self) -> bool:
        """
        Whether the head leaves nothing to propose, as far as is known.
        """
        return self.seen.exhausted

    @property
    def over(self) -> bool:
        """
        False: there is no number of cards to be used.
        """
        return False

    def look_after(self) -> bool:
        """
        Nothing is reserved ahead; False.
        """
        return False

    # ------------------------------------------------------------------ what is waited for

    def waited(self, seconds: float) -> None:
        """
        Sweeps wait for no one ticket.
        """

    def next_alarm(self) -> None:
        """
        None.
        """

    def mind_waiting(self) -> None:
        """
        There is nothing to tell.
        """

    @property
    def blocking(self) -> str:
        """
        Nothing.
        """
        return ""
