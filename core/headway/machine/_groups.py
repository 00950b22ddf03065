"""
Groups: the tickets of an optimizer that learns from outcomes, several of which make one card.

A group is what a gate that reserves admits: ``group_size`` tickets on one task.  The group is reserved as
a whole, with the head's version then as its stamp; its members start in order as places are free,
those of older groups first.  A member that fails is tried again, so many times; after that its group
is complete without it, dropped, or the end of the run, as the options say.

Guarantee: every group that was reserved is outstanding, or was trained or dropped, once.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import ClassVar

import attrs

from headway.contracts import (
    Card,
    CompletionKind,
    Fault,
    GroupDropped,
    Json,
    Member,
    Snapshot,
    Ticket,
)
from headway.gate import Reservations
from headway.machine._flights import Flight, TaskQueue
from headway.machine._instructions import Notify
from headway.machine._lookups import LookupRaised
from headway.machine._state import State

Waiting = tuple[int, int, int]
"""A member that has not started: its group, which one it is, how often it was tried."""


@attrs.define(eq=False)
class Group:
    """
    A group that is not complete.

    Args:
        number: 0, 1, 2, ... in order of admission.
        task: Its task.
        to_end: How many members have not ended for good.
        members: The outcomes so far, by member.
        failures: How often members failed so far, by member.
    """

    number: int
    task: str
    to_end: int
    members: dict[int, Member] = attrs.field(factory=dict[int, Member])
    failures: dict[int, int] = attrs.field(factory=dict[int, int])

    def card(self, version: int) -> Card:
        """
        The card of what its members gave, as a head of this version sees it.
        """
        members = tuple([self.members[number] for number in sorted(self.members)])
        base = min([member.base for member in members])
        return Card(
            number=self.number,
            tickets=tuple([member.ticket for member in members]),
            task=self.task,
            base=base,
            diff=None,
            digest=f"group {self.number}",
            reward=sum([member.reward for member in members]) / len(members),
            eta=version - base,
            members=members,
        )


@attrs.define(eq=False)
class Groups:
    """
    The groups that are outstanding, whose member starts next, and what has become of the others.

    Args:
        state: The machine's.
        gate: Its gate, which reserves.
    """

    one_by_one: ClassVar[bool] = True

    state: State
    gate: Reservations
    queue: TaskQueue = attrs.field(init=False)
    open: dict[int, Group] = attrs.field(factory=dict[int, Group], init=False)
    _waits_for: str = attrs.field(default="groups", init=False)
    _waiting_since: float | None = attrs.field(default=None, init=False)
    _alarms: int = attrs.field(default=0, init=False)
    _unjudged: list[int] = attrs.field(factory=list[int], init=False)
    _judged_at: tuple[int, bool] = attrs.field(default=(0, False), init=False)
    _waiting: list[Waiting] = attrs.field(factory=list[Waiting], init=False)
    _bases: dict[int, tuple[Snapshot, Json]] = attrs.field(
        factory=dict[int, tuple[Snapshot, Json]], init=False
    )

    def __attrs_post_init__(self) -> None:
        config = self.state.config
        self.queue = TaskQueue(config.train, config.seed)

    # ------------------------------------------------------------------ who starts

    def look_after(self) -> bool:
        """
        Let go of groups that are too old, and reserve new ones as far as the gate lets; True when a
        plug-in raised, so that it is to be asked again first.
        """
        state = self.state
        if state.phase == "draining":
            self.close()
        try:
            self._let_stale_go()
            while state.running and self.gate.has_room:
                self._reserve(state.head)
        except LookupRaised as raised:
            state.plugin_fault(raised.fault)
            return state.phase in ("running", "draining")
        return False

    def _reserve(self, head: Snapshot) -> None:
        state = self.state
        task = state.lookups.pick(self.queue.book(frozenset()))
        self.queue.took(task)
        size = state.config.group_size
        number = self.gate.reserve(head.version)
        self.open[number] = Group(number, task, size)
        state.tally.most_groups = max(state.tally.most_groups, self.gate.count)
        for member in range(size):
            heappush(self._waiting, (number, member, 0))
        if self.gate.bases == "stamp" and head.version not in self._bases:
            self._bases[head.version] = (head, state.memory)

    def may_start(self, sweeping: bool) -> bool:
        """
        Whether a member of a group that was reserved waits.
        """
        del sweeping
        while self._waiting and self._waiting[0][0] not in self.open:
            heappop(self._waiting)
        return bool(self._waiting)

    def look_up(self, worker: int, held: Snapshot) -> tuple[Flight, Snapshot]:
        """
        The next member's ticket, on the group's task; to be asked when one may start.
        """
        del held
        state = self.state
        number, member, attempt = self._waiting[0]
        base, memory = self._basis(number)
        tickets = state.tally.tickets
        seed = state.config.seed
        ticket = Ticket(tickets, base.version, worker, seed, number, member, attempt)
        work = state.lookups.select(ticket, base, memory)
        if work.task is not None or work.parent is not None:
            text = "select chose a task or a parent, which a group's members have in common"
            raise LookupRaised(Fault(where="aggregator", type="ContractError", message=text))
        return Flight(ticket, self.open[number].task, work, base, state.now), base

    def waiting(self, group: int) -> int:
        """
        How many members of a group have not started, or wait to be tried again.
        """
        return sum(number == group for number, _, _ in self._waiting)

    def started(self, flight: Flight) -> None:
        """
        That member has started.
        """
        del flight
        heappop(self._waiting)

    def _basis(self, group: int) -> tuple[Snapshot, Json]:
        """
        What a member of a group starts from: a snapshot, and the optimizer's memory.
        """
        if self.gate.bases == "head":
            return self.state.head, self.state.memory
        return self._bases[self.gate.stamp(group)]

    def _let_stale_go(self) -> None:
        """
        Discard the complete groups that wait and that the staleness policy thinks too old.

        It is asked of those alone that are older than ``alpha``, once for each head and after each
        step.  Those that it has not answered for, since it raised, it is asked about again.

        Raises:
            LookupRaised: the policy raised.
        """
        state, version = self.state, self.state.head.version
        alpha, instant = state.merger.alpha, (version, self.gate.open)
        if instant != self._judged_at:
            self._judged_at = instant
            self._let_lost_go(version)
            self._tidy()
            waiting = state.buffer.waiting_cards
            self._unjudged = [c.number for c in waiting if version - c.base > alpha]
        while self._unjudged:
            card = state.buffer.waiting_card(self._unjudged[-1])
            if card is not None:
                eta = version - card.base
                verdict = state.lookups.decide(eta, alpha, False)
                state.plugin_worked("staleness policy")
                if verdict != "accept":  # there is no change that could be rebased
                    state.decide(card.number, "discarded", "stale", eta)
            self._unjudged.pop()

    def _let_lost_go(self, version: int) -> None:
        """
        Let go of what can't be used in time since somebody else has moved the head.
        """
        for number in self.gate.lost(version):
            if number in self.open:
                self.drop(number, "stale")
            elif (card := self.state.buffer.waiting_card(number)) is not None:
                self.state.decide(number, "discarded", "stale", version - card.base)

    # ------------------------------------------------------------------ how members end

    def to_propose_on(self, flight: Flight) -> None:
        """
        None: the outcome is all.
        """

    def nothing_follows(self, *, ripe: bool) -> bool:
        """
        Whether no step can begin, and none be given further groups.
        """
        del ripe
        return not self.gate.ripe and not self._unjudged

    def ended(self, flight: Flight) -> None:
        """
        A member ended well; nothing happens if its group was given up meanwhile.
        """
        group = self.open.get(flight.ticket.group)
        if group is None:
            self.state.tally.late += 1
            return
        outcome, ticket = flight.outcome, flight.ticket
        assert outcome is not None
        group.members[ticket.member] = Member(
            ticket.number,
            ticket.member,
            ticket.base,
            flight.work.payload,
            outcome.reward,
            outcome.output,
        )
        self._one_ended(group)

    def failed(self, flight: Flight, completion: CompletionKind) -> None:
        """
        A member ended without an outcome: it is tried again, or lost.

        What fails while the backend is down is not held against it.
        """
        ticket, state = flight.ticket, self.state
        group = self.open.get(ticket.group)
        if group is None:
            return
        failures = group.failures.get(ticket.member, 0) + (not state.backoff.outage)
        group.failures[ticket.member] = failures
        if state.running and failures < state.config.member_attempts:
            heappush(self._waiting, (group.number, ticket.member, ticket.attempt + 1))
        elif len(group.members) + group.to_end - 1 >= state.config.fewest_members:
            self._one_ended(group)
        else:
            self._lose(group, flight.fault, completion)

    def _one_ended(self, group: Group) -> None:
        group.to_end -= 1
        if group.to_end:
            return
        del self.open[group.number]
        self.gate.complete(group.number)
        self.state.tally.cards += 1
        card = group.card(self.state.head.version)
        self.state.buffer.put(card)
        if card.eta > self.state.merger.alpha:
            self._unjudged.append(group.number)

    def _lose(self, group: Group, fault: Fault | None, completion: CompletionKind) -> None:
        self.drop(group.number, completion)
        if self.state.running and self.state.config.lost_groups == "stop":
            self.state.stop("error", fault)

    def drop(self, number: int, reason: str) -> None:
        """
        Give a group up that is not complete; what its members still give is of no use.
        """
        group, state = self.open.pop(number), self.state
        state.tally.lost_groups[reason] += 1
        self.gate.drop(number)
        if reason == "stale":
            state.tried_in_vain(group.task)
        state.out.append(
            Notify(GroupDropped(now=state.now, group=number, task=group.task, reason=reason))
        )

    def close(self) -> None:
        """
        No ticket starts any more: groups with members that have not started are given up.
        """
        for number in sorted({number for number, _, _ in self._waiting} & {*self.open}):
            self.drop(number, "cancelled")
        self._waiting.clear()

    def give_up(self) -> None:
        """
        Give up every group that is not complete.
        """
        self._waiting.clear()
        for number in list(self.open):
            self.drop(number, "cancelled")

    # ------------------------------------------------------------------ what is waited for

    def waited(self, seconds: float) -> None:
        """
        So much time has passed since ``next_alarm`` was called last.
        """
        self.state.tally.waits[self._waits_for] += seconds

    def next_alarm(self) -> float | None:
        """
        Note what the next step waits for from now on; says when that is to be told, if ever.
        """
        gate, state = self.gate, self.state
        training = gate.full and gate.open
        waits_for = "training" if training else gate.waits_for(state.head.version)
        if waits_for != self._waits_for:
            state.tally.waits_begun[waits_for] += 1
            self._waits_for = waits_for
        if self._waits_for in ("training", "nothing"):
            self._waiting_since = None
        elif self._waiting_since is None:
            self._waiting_since = state.now
            self._alarms = 0
        since, after = self._waiting_since, state.config.stall_alarm
        return None if since is None or after is None else since + after * (self._alarms + 1)

    def mind_waiting(self) -> None:
        """
        Tell which group a step waits for, if it has waited long enough; again after as long.
        """
        state, since = self.state, self._waiting_since
        after = state.config.stall_alarm
        if since is None or after is None or state.now < since + after * (self._alarms + 1):
            return
        self._alarms = max(self._alarms + 1, int((state.now - since) / after))
        if self.blocking:
            text = f"no update for {state.now - since:g} s{self.blocking}"
            state.fault(Fault(where="gate", type="Waiting", message=text))

    @property
    def blocking(self) -> str:
        """
        What is to be said of the group that the next step waits for; nothing when there is none.
        """
        standing = self.gate.standing(self.state.head.version)
        if standing.blocking is None:
            return ""
        group = self.open[standing.blocking]
        return (
            f": group {group.number} (task {group.task}, {standing.blocking_age} versions old)"
            f" lacks {group.to_end} of {self.state.config.group_size} members"
        )

    # ------------------------------------------------------------------ what is left

    @property
    def exhausted(self) -> bool:
        """
        False: groups are reserved as long as more are wanted.
        """
        return False

    def _tidy(self) -> None:
        """
        Forget the snapshots that no outstanding group starts from.
        """
        needed = {self.gate.stamp(number) for number in self.open}
        for stamp in self._bases.keys() - needed:
            del self._bases[stamp]

    @property
    def over(self) -> bool:
        """
        Whether no group is outstanding and none will come.
        """
        return self.gate.exhausted and not self.gate.outstanding
