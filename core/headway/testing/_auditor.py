"""
An auditor: follows a run from outside and keeps its own accounts.

It sees events and instructions only, never the machine's insides, so that a machine that is wrong
and consistent with itself is found too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import isclose
from typing import Any

import attrs

from headway.contracts import (
    KEEP,
    Card,
    CardDecided,
    Commit,
    Compare,
    FaultSeen,
    Gather,
    HeadCommitted,
    HeadMoved,
    Json,
    Ledger,
    Measure,
    MeasureAll,
    Notice,
    Proposal,
    RunFinished,
    Snapshot,
    Ticket,
    TicketEnded,
    Train,
)
from headway.drivers import Engine
from headway.gate import Barrier, LagGate, Reservations
from headway.machine import (
    BEARABLE,
    Abandon,
    Abort,
    Call,
    Cancel,
    CommitCall,
    Done,
    Event,
    Failed,
    Finish,
    Instruction,
    MeasureCall,
    Notify,
    PromoteCall,
    ProposeCall,
    Raised,
    Resume,
    Returned,
    RolloutCall,
    Run,
    Started,
    Statistics,
    StepStart,
    TicketCall,
    VerifyCall,
    Yielded,
)
from headway.testing._must import must
from headway.testing._reserved import Reserved
from headway.testing._trainings import Trainings
from headway.testing._truths import Truths


@attrs.define(eq=False)
class Standing:
    """
    What an open step stands on.

    Args:
        version: The head at which it began, or that it committed last.
        memory: The memory at which it began, or that it kept last.
        cards: The cards that it holds.
    """

    version: int
    memory: Json
    cards: set[int]


@attrs.define(eq=False, kw_only=True)
class Auditor:
    """
    Keeps accounts of one run.

    Args:
        engine: The run, whose machine's answers are looked at after every event.
        gate: The run's gate; only its options are read.
        alpha: The largest eta that a committed card may have.
        carried: Cards that may be carried over beside the bound.
    """

    engine: Engine
    gate: LagGate | Barrier | Reservations
    alpha: int | None
    carried: int
    outstanding: dict[int, Call] = attrs.field(factory=dict[int, Call])
    tickets: int = 0
    ended: set[int] = attrs.field(factory=set[int])
    proposed: dict[int, Proposal | None] = attrs.field(factory=dict[int, Proposal | None])
    cards: int = 0
    decided: set[int] = attrs.field(factory=set[int])
    paid: int = 0
    charged: dict[int, int] = attrs.field(factory=dict[int, int])
    now: float = 0.0
    busy: Counter[str] = attrs.field(factory=Counter[str])
    starved: float = 0.0
    held: int = 0
    searching: bool = False
    retired: int = 0
    version: int = 0
    digest: str = ""
    stopped: bool = False
    finished: int = 0
    steps: dict[int, Standing] = attrs.field(factory=dict[int, Standing])
    memory: Json = None
    asked: dict[tuple[int, int], object] = attrs.field(factory=dict[tuple[int, int], object])
    scored: dict[tuple[str, str, int], float] = attrs.field(
        factory=dict[tuple[str, str, int], float]
    )
    bases: dict[int, int] = attrs.field(factory=dict[int, int])
    barren: set[str] = attrs.field(factory=set[str])
    stale: int = 0
    events: int = 0
    unacknowledged: bool = False
    foreign: int = -1
    hedged: set[int] = attrs.field(factory=set[int])
    answered: set[tuple[int, str]] = attrs.field(factory=set[tuple[int, str]])
    cancelled: set[int] = attrs.field(factory=set[int])
    streak: int = 0
    asked_until: float = 0.0
    trials: set[int] = attrs.field(factory=set[int])
    heads: list[int] = attrs.field(factory=list[int])
    window_began: float = 0.0
    _truths: Truths = attrs.field(init=False)
    _trainings: Trainings = attrs.field(init=False)
    _reserved: Reserved | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._truths = Truths(self.engine.bench)
        self._trainings = Trainings(self.engine.machine)
        if isinstance(self.gate, Reservations):
            self._reserved = Reserved(self.gate, self.engine.machine)

    @property
    def ledger(self) -> Ledger:
        """
        The run's ledger.
        """
        return self.engine.bench.ledger

    def follow(self, event: Event, out: list[Instruction]) -> None:
        """
        Take in one event and what the machine said to it.
        """
        self.events += 1
        before, over = {*self.steps}, self.finished
        self._pass(event.now)
        call = getattr(event, "call", None)
        late = call is not None and Abandon(call) in out
        if isinstance(event, Done | Failed) and not self.finished:
            self.charged.setdefault(event.call, event.usage.tokens)
        if not late:
            _EVENTS.get(type(event), _ignore)(self, event)
        for instruction in out:
            _INSTRUCTIONS.get(type(instruction), _ignore)(self, instruction)
        if not over:
            self._trainings.follow(event, out, now=self.now, before=before, after=self.steps)
            if self.finished:
                self._trainings.finish(self.engine.machine.statistics())
        self.stopped = self.engine.machine.stop_reason is not None
        self.searching = self.engine.machine.phase == "running"
        self.held = self.engine.machine.held_tickets
        self._check_bounds()

    def _pass(self, now: float) -> None:
        """
        Time passes: the calls that run have run for so much longer.
        """
        gone = max(0.0, now - self.now)
        if self.finished:
            return
        kinds = [call.kind for call in self.outstanding.values()]
        for kind in kinds if gone else ():
            self.busy[kind] += gone  # type: ignore[assignment] # a counter of seconds
        if self.searching and gone:
            flying = len({*self._flying()}) + self.held
            self.starved += gone * (self.engine.machine.config.n_workers - flying - self.retired)
        self.now = max(self.now, now)

    # events

    def _started(self, event: Started) -> None:
        self.version, self.digest = event.head.version, event.head.digest

    def _answered(self, event: Done | Failed) -> None:
        call = self.outstanding.pop(event.call, None)
        heard = isinstance(event, Done) or event.call not in self.cancelled
        if call is not None and call.paid and heard:
            self._judge(event)
        if isinstance(call, TicketCall) and isinstance(event, Done):
            must((call.ticket.number, call.kind) not in self.answered, f"{call} counts twice")
            self.answered.add((call.ticket.number, call.kind))
        if call is None or isinstance(event, Failed):
            if isinstance(call, VerifyCall | ProposeCall) and not self._siblings(call):
                self.proposed[call.ticket.number] = None
            return
        if isinstance(call, ProposeCall):
            proposal = event.value
            good = isinstance(proposal, Proposal) and not proposal.no_op
            self.proposed[call.ticket.number] = proposal if good else None  # type: ignore[assignment] # narrowed above
        elif isinstance(call, MeasureCall):
            self.scored[call.artifact.digest, call.task, call.draw] = event.value  # type: ignore[assignment] # a measurement gives a float
        elif isinstance(call, CommitCall) and isinstance(event.value, HeadMoved):
            self.foreign = event.value.head.version
            if self._reserved is not None:
                self._reserved.foreign = True

    def _flying(self) -> list[int]:
        return [c.ticket.number for c in self.outstanding.values() if isinstance(c, TicketCall)]

    def _siblings(self, call: TicketCall) -> bool:
        return call.ticket.number in self._flying()

    def _judge(self, event: Done | Failed) -> None:
        self.trials.discard(event.call)
        if isinstance(event, Done) or event.invalid:
            self.streak = 0
            self.trials.clear()
            return
        self.streak += 1
        if event.retry_after is not None:
            self.asked_until = max(self.asked_until, self.now + event.retry_after)

    def _yielded(self, event: Yielded) -> None:
        self.asked[event.step, event.n] = event.request

    def _returned(self, event: Returned) -> None:
        standing = self.steps.get(event.step)
        if standing is None:
            return
        if event.memory is not None and event.memory != self.memory:
            if self._committing:
                return  # it waits for that commit, and has not ended before
            self.memory = event.memory
        del self.steps[event.step]

    def _raised(self, event: Raised) -> None:
        self.steps.pop(event.step, None)

    @property
    def _committing(self) -> list[CommitCall]:
        return [call for call in self.outstanding.values() if isinstance(call, CommitCall)]

    # instructions

    def _run(self, instruction: Run) -> None:
        call = instruction.call
        must(call.id not in self.outstanding, f"call {call.id} runs twice")
        must(not self.finished, f"call {call.id} begins after the end")
        self.outstanding[call.id] = call
        self.paid += call.paid
        if call.paid:
            self._check_pause(call)
        if isinstance(call, TicketCall) and call.copy:
            must(call.ticket.number not in self.hedged, f"{call} is a second copy once more")
            must(not self.stopped, f"{call} is a copy that begins after the stop")
            self.hedged.add(call.ticket.number)
        elif isinstance(call, RolloutCall):
            self._admitted(call)
        elif isinstance(call, MeasureCall):
            self._measured(call)
        elif isinstance(call, CommitCall):
            must(len(self._committing) == 1, "two commits are on their way at once")
            self._committed(call)
        elif isinstance(call, PromoteCall):
            must(call.version <= self.version, f"{call} names a version that is not made")

    def _check_pause(self, call: Call) -> None:
        must(self.now >= self.asked_until, f"{call} begins though the backend asked for time")
        if self.streak > 2 * self.engine.machine.config.slots + 4:
            self.trials.add(call.id)
            must(len(self.trials) == 1, f"{call} begins while another one tries a dead backend")

    def _committed(self, call: CommitCall) -> None:
        must(call.expected == self.version, f"{call} expects another head than {self.version}")
        asked = [
            step
            for (step, _), request in self.asked.items()
            if isinstance(request, Commit)
            and (request.candidate, request.cards) == (call.artifact, call.cards)
        ]
        began = [self.steps[step].version for step in asked if step in self.steps]
        must(call.expected in began, f"{call} is of steps that began at {began}")
        if self._reserved is not None:
            self._reserved.commits(call, self.version)

    def _admitted(self, call: RolloutCall) -> None:
        ticket = call.ticket
        must(ticket.number == self.tickets, f"ticket {ticket.number} is not the next one")
        must(not self.stopped, "a rollout begins after the run was stopped")
        self.tickets += 1
        self.bases[ticket.number] = ticket.base
        if self._reserved is not None:
            self._reserved.started(call, self.version)
            return
        drift = self.version - ticket.base
        if isinstance(self.gate, Barrier):
            self._check_round(ticket, self.gate)
            return
        assert isinstance(self.gate, LagGate)
        most = self.gate.async_ratio
        must(0 <= drift <= most, f"ticket {ticket.number} starts {drift} versions behind")

    def _check_round(self, ticket: Ticket, gate: Barrier) -> None:
        if self.tickets == len(self.ended) + 1:
            self.window_began = self.now
        rounds = self.engine.machine.statistics().rounds
        self.heads += [self.version] * (rounds + 1 - len(self.heads))
        oldest = self.heads[max(0, rounds + 1 - gate.refresh_interval)]
        good = oldest <= ticket.base <= self.version
        must(good, f"ticket {ticket.number} starts from {ticket.base}, older than {oldest}")

    def _measured(self, call: MeasureCall) -> None:
        key = (call.artifact.digest, call.task, call.draw)
        must(key not in self.scored, f"{key} is measured though it is known")
        same = [
            c
            for c in self.outstanding.values()
            if isinstance(c, MeasureCall) and (c.artifact.digest, c.task, c.draw) == key
        ]
        must(len(same) == 1, f"{key} is measured twice at once")

    def _abandoned(self, instruction: Abandon) -> None:
        call = self.outstanding.pop(instruction.call, None)
        must(call is not None, f"call {instruction.call} is given up and does not run")
        self.trials.discard(instruction.call)
        if isinstance(call, TicketCall) and (call.ticket.number, call.kind) not in self.answered:
            self.proposed[call.ticket.number] = None

    def _resumed(self, instruction: Resume) -> None:
        if instruction.n == 0:
            self._step_began(instruction.step, instruction.value)
            return
        request = self.asked.pop((instruction.step, instruction.n), None)
        must(request is not None, f"{instruction} answers nothing that was asked")
        must(instruction.step in self.steps, f"{instruction} goes to a step that was closed")
        self._goes_on(self.steps[instruction.step], request)
        if isinstance(request, Measure):
            self._truths.check_scores(request, instruction.value)
        elif isinstance(request, MeasureAll):
            self._truths.check_all(request, instruction.value)
        elif isinstance(request, Compare):
            self._truths.check_comparison(request, instruction.value)
        elif isinstance(request, Commit):
            same = instruction.value.artifact == request.candidate
            must(same, f"step {instruction.step} is told of another head than it committed")
        elif isinstance(request, Gather):
            self._take_in(self.steps[instruction.step], instruction.value)
        elif not isinstance(request, Train):
            must(instruction.value is None, f"{request} is answered with {instruction.value!r}")

    def _goes_on(self, standing: Standing, request: object) -> None:
        must(standing.memory == self.memory, "a step goes on and the memory is another")
        if isinstance(request, Commit):
            standing.version = self.version
            if request.memory is not KEEP:
                self.memory = standing.memory = request.memory
        must(standing.version == self.version, "a step goes on and the head is another")

    def _step_began(self, step: int, start: StepStart) -> None:
        must(start.head.version == self.version, "a step begins on another head")
        must(start.memory == self.memory, "a step begins on another memory")
        most = 1 if isinstance(self.gate, Barrier) else self.engine.machine.config.max_steps
        must(len(self.steps) < most, f"more than {most} steps are open")
        self.steps[step] = Standing(start.head.version, start.memory, set[int]())
        self._take_in(self.steps[step], start.cards)

    def _take_in(self, standing: Standing, cards: Sequence[Card]) -> None:
        for card in cards:
            self._check_card(card)
        standing.cards |= {card.number for card in cards}
        if self._reserved is not None:
            self._reserved.given(cards, len(standing.cards))

    def _check_card(self, card: Card) -> None:
        must(card.number not in self.decided, f"card {card.number} is decided and in a step")
        fits = card.base == self.version or self._reserved is not None
        must(fits, f"card {card.number} is not rebased to the head")
        holders = [step for step, s in self.steps.items() if card.number in s.cards]
        must(not holders, f"card {card.number} is in the open step {holders} and in another")

    def _aborted(self, instruction: Abort) -> None:
        self.steps.pop(instruction.step, None)

    def _is_cancelled(self, instruction: Cancel) -> None:
        self.cancelled.add(instruction.call)
        self.trials.discard(instruction.call)

    def _notified(self, instruction: Notify) -> None:
        notice: Notice = instruction.notice
        if isinstance(notice, TicketEnded):
            self._ended(notice)
        elif isinstance(notice, CardDecided):
            self._decided(notice)
        elif isinstance(notice, HeadCommitted):
            self._head(notice)
        elif isinstance(notice, FaultSeen) and notice.fault.where == "commit":
            self.unacknowledged = True
            for call in self._committing:
                del self.outstanding[call.id]
        elif isinstance(notice, RunFinished):
            self.finished += 1

    def _ended(self, notice: TicketEnded) -> None:
        must(notice.ticket not in self.ended, f"ticket {notice.ticket} ends twice")
        must(notice.ticket < self.tickets, f"ticket {notice.ticket} ends before it began")
        self.ended.add(notice.ticket)
        if self._reserved is not None:
            self._reserved.ended(notice.ticket, notice.completion)
        if notice.completion != "ok":
            self.retired = self.engine.machine.statistics().retired_workers
        at_head = self.bases.pop(notice.ticket) == self.version
        if self.proposed.pop(notice.ticket, None) is not None:
            # One that waits for the backend before its verification may run out of time there.
            bad = notice.completion in ("failed", "invalid")
            must(not bad, f"ticket {notice.ticket} failed and has a proposal")
            self.cards += notice.completion == "ok"
        elif notice.completion == "ok" and at_head:
            self.barren.add(notice.task)

    def _decided(self, notice: CardDecided) -> None:
        decision = notice.decision
        must(decision.card not in self.decided, f"card {decision.card} is decided twice")
        self.decided.add(decision.card)
        for standing in self.steps.values():
            standing.cards.discard(decision.card)
        self.stale += decision.reason == "stale"
        if decision.kind == "committed" and self.alpha is not None:
            must(notice.eta <= self.alpha, f"card {decision.card} is committed at eta {notice.eta}")

    def _head(self, notice: HeadCommitted) -> None:
        head = notice.head
        logged = {entry.version: entry.digest for entry in self.ledger.log()}
        must(
            logged.get(head.version) == head.digest, f"version {head.version} is not in the ledger"
        )
        must(head.version > self.version, f"the head goes from {self.version} to {head.version}")
        own = head.version != self.foreign
        must(own or not notice.cards, f"version {head.version} is made of {notice.cards}")
        self._moved(head)

    def _moved(self, head: Snapshot) -> None:
        self.version, self.digest = head.version, head.digest
        self.barren.clear()

    def _finish(self, instruction: Finish) -> None:
        del instruction
        must(self.finished == 1, "the run finished without saying so once")
        running = [c for c, call in self.outstanding.items() if not isinstance(call, PromoteCall)]
        must(not running, f"the run ends and {running} run")
        must(len(self.ended) == self.tickets, "the run ends and tickets are in flight")
        if self._reserved is not None:
            self.cards = self.engine.machine.statistics().cards
        must(len(self.decided) == self.cards, f"{self.cards} cards, {len(self.decided)} decided")
        if not self.unacknowledged:
            self._check_ledger()
        counts = self.engine.machine.statistics()
        must(self.stale or not counts.forced_refreshes, "refreshed though nothing was stale")
        must(counts.stale_discarded == self.stale, "stale cards are miscounted")
        tokens = sum(self.charged.values())
        must(counts.usage.tokens == tokens, f"{counts.usage.tokens} tokens counted of {tokens}")
        must(counts.usage.calls == self.paid, "paid calls are miscounted")
        self._check_seconds(counts)

    def _check_seconds(self, counts: Statistics) -> None:
        """
        Every second of every slot is counted once, for what the slot was used for.
        """
        used, busy = counts.slot_seconds, self.busy
        slots = self.engine.machine.config.slots
        pairs = {
            "rollouts": (used["rollout"], busy["rollout"] + busy["propose"] + busy["verify"]),
            "measurements": (used["measure"] + used["reverify"], busy["measure"] + busy["rebase"]),
            "slots": (sum(used.values()), slots * self.now),
            "commits": (counts.ledger_seconds, busy["commit"]),
            "starved places": (counts.worker_starved_seconds, self.starved),
        }
        for what, (counted, seen) in pairs.items():
            must(isclose(counted, seen, abs_tol=1e-6), f"{what}: {counted} s counted of {seen}")
        must(0 <= used["idle_waiting"] <= self.starved + 1e-6, "idle and waiting, for no place")

    def _check_ledger(self) -> None:
        head = self.ledger.snapshot()
        must(head.version == self.version, f"ledger at {head.version}, run at {self.version}")
        must(head.digest == self.digest, "ledger and run differ in their state")

    # bounds

    def _check_bounds(self) -> None:
        config = self.engine.machine.config
        kinds = [call.kind for call in self.outstanding.values()]
        slots = len(kinds) - sum(map(kinds.count, ("commit", "promote", "train")))
        must(slots <= config.slots, f"{slots} calls run in {config.slots} slots")
        tickets = self._flying()
        flying = len({*tickets})
        must(len(tickets) - flying <= len(self.hedged), "a ticket has calls beside its own")
        limit = config.round_timeout
        if tickets and limit is not None:
            must(self.now < self.window_began + limit, "rollouts outlast their round")
        must(flying <= config.n_workers, f"{flying} rollouts for {config.n_workers} workers")
        if config.max_rollouts is not None:
            must(self.tickets <= config.max_rollouts, f"{self.tickets} rollouts")
        if config.max_calls is not None:
            must(self.paid <= config.max_calls, f"{self.paid} calls")
        if config.max_tokens is not None and config.tokens_per_call is not None:
            of_calls = [t for call, t in self.charged.items() if call not in self._trainings.calls]
            must(sum(of_calls) <= config.max_tokens, "more tokens than the budget")
        if isinstance(self.gate, Reservations):
            return  # the machine itself compares its groups with the gate's
        open_work = self.tickets - len(self.ended) + self.cards - len(self.decided)
        must(open_work <= self._bound(), f"{open_work} tickets and cards above {self._bound()}")
        self._check_busy(slots, flying, open_work)

    def _bound(self, *, least: bool = False) -> int:
        """
        What the gate lets in, with the largest batch that it may want, or with the smallest.
        """
        if isinstance(self.gate, Barrier):
            bound = self.gate.round_size
        else:
            gate = self.gate
            assert isinstance(gate, LagGate)
            batch = gate.batch if least else max(gate.batch, gate.most_batch or 0)
            bound = gate.n_workers + gate.async_ratio + batch - 1
        return bound + self.carried

    def _check_busy(self, slots: int, flying: int, open_work: int) -> None:
        machine, gate = self.engine.machine, self.gate
        config = machine.config
        paused = machine.paused_until is not None
        why = self.streak > BEARABLE or self.now < self.asked_until
        must(not paused or why, "no call begins, and the backend is not down")
        if machine.phase != "running" or isinstance(gate, Barrier) or paused:
            return
        if config.max_tokens is not None:
            return  # a rollout may wait for what others turn out not to spend
        if machine.scoring.target_reached:  # rollouts that begin now would be given up
            return
        full = open_work >= self._bound(least=True) - self.carried or flying >= config.n_workers
        if slots >= config.slots or full or self.tickets == config.max_rollouts:
            return
        exhausted = len(self.barren) == len(config.train)
        idle = not exhausted and not machine.statistics().retired_workers
        must(not idle, "a slot idles while a rollout may start")


def _ignore(auditor: Auditor, what: object) -> None:
    del auditor, what


_EVENTS: dict[type, Callable[[Auditor, Any], None]] = {
    Started: Auditor._started,
    Done: Auditor._answered,
    Failed: Auditor._answered,
    Yielded: Auditor._yielded,
    Returned: Auditor._returned,
    Raised: Auditor._raised,
}

_INSTRUCTIONS: dict[type, Callable[[Auditor, Any], None]] = {
    Run: Auditor._run,
    Abandon: Auditor._abandoned,
    Cancel: Auditor._is_cancelled,
    Resume: Auditor._resumed,
    Abort: Auditor._aborted,
    Notify: Auditor._notified,
    Finish: Auditor._finish,
}
