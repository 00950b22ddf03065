"""
What all of the machine's parts share, and the few ways in which it changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, TypeAlias

import attrs

from headway.backpressure import Backpressure
from headway.buffer import EvidenceBuffer
from headway.contracts import (
    NO_USAGE,
    Card,
    CardDecided,
    Decision,
    DecisionKind,
    Fault,
    FaultSeen,
    HeadCommitted,
    Json,
    Snapshot,
    UpdateDone,
    Usage,
)
from headway.gate import Gate, Reservations, Standing
from headway.machine._backoff import Backoff
from headway.machine._budget import Budget
from headway.machine._calls import Call, PromoteCall, TrainCall
from headway.machine._config import STOPS_DRAINING, MachineConfig
from headway.machine._digest import RunDigest
from headway.machine._instructions import Abandon, Cancel, Instruction, Notify, Run
from headway.machine._lookups import Lookups
from headway.machine._measuring import Measuring, Requester
from headway.machine._slots import Slots
from headway.machine._tally import Tally
from headway.machine._training import Training
from headway.merger import Merger

WORTH_GATHERING = 0.1
"""
Seconds of measuring below which a candidate is never dear.

Of calls that take microseconds, the threads' turns are measured and not the calls.
"""

MANY_TRIES = 8
"""Groups of one task in a row that are too old to be used before that is told."""

Phase: TypeAlias = Literal["new", "running", "draining", "halting", "scoring", "finished"]

Determinism: TypeAlias = Literal["declared", "unknown", "assumed", "contradicted", "noisy"]
"""
What is known of rewards: ``declared`` deterministic; ``unknown`` so far; ``assumed`` deterministic,
since two draws of the baseline agreed; ``contradicted`` after that; ``noisy``, declared or seen.
"""

_DECLARED: dict[bool | None, Determinism] = {True: "declared", False: "noisy", None: "unknown"}


@attrs.define(eq=False, kw_only=True)
class State:
    """
    The machine's shared state.

    Args:
        config: The machine's options.
        gate: The lag gate.
        merger: Judges cards.
        backpressure: Bounds what is stale or carried.
        lookups: The plug-ins' quick answers.
        names: The plug-in's name by where its faults are seen.
    """

    config: MachineConfig
    gate: Gate
    merger: Merger
    backpressure: Backpressure
    lookups: Lookups
    names: Mapping[str, str] = attrs.field(factory=dict[str, str])
    buffer: EvidenceBuffer = attrs.field(factory=EvidenceBuffer)
    measuring: Measuring = attrs.field(factory=Measuring)
    training: Training = attrs.field(factory=Training)
    tally: Tally = attrs.field(factory=Tally)
    digest: RunDigest = attrs.field(factory=RunDigest)
    backoff: Backoff = attrs.field(factory=Backoff)
    reservations: Reservations | None = attrs.field(init=False)
    """The gate, when it is one that reserves."""
    budget: Budget = attrs.field(init=False)
    slots: Slots = attrs.field(init=False)
    phase: Phase = "new"
    still: bool = False
    """Whether the event that is handled changed nothing but which calls run."""
    stop_reason: str | None = None
    halted_by: str | None = None
    halted_at: float = 0.0
    error: Fault | None = None
    now: float = 0.0
    head: Snapshot = attrs.field(init=False)
    stable: Snapshot | None = None
    promotions: dict[int, PromoteCall] = attrs.field(factory=dict[int, PromoteCall])
    memory: Json = None
    out: list[Instruction] = attrs.field(factory=list[Instruction])
    calls: int = 0
    plugin_errors: Counter[str] = attrs.field(factory=Counter[str])
    determinism: Determinism = attrs.field(init=False)
    deterministic: bool = attrs.field(init=False)
    """Whether one draw a score is enough, as far as is known."""
    abandoned: set[int] = attrs.field(factory=set[int])
    """Paid calls that were given up and may still say what they have spent."""
    _timeouts: dict[str, float | None] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._timeouts = dict.fromkeys(
            ("rollout", "propose", "verify"), self.config.rollout_timeout
        )
        self._timeouts |= dict.fromkeys(("measure", "rebase"), self.config.eval_timeout)
        config = self.config
        self.reservations = self.gate if isinstance(self.gate, Reservations) else None
        self.budget = Budget(
            max_rollouts=config.max_rollouts,
            max_calls=config.max_calls,
            max_tokens=config.max_tokens,
            max_cost=config.max_cost,
            tokens_per_call=config.tokens_per_call,
            cost_per_call=config.cost_per_call,
        )
        self.slots = Slots(config.slots)
        self.determinism = _DECLARED[config.deterministic]
        self.deterministic = config.deterministic is True

    def next_call(self) -> int:
        """
        The id of the next call.
        """
        self.calls += 1
        return self.calls - 1

    @property
    def may_pay(self) -> bool:
        """
        Whether a paid call may begin: the backend is not left alone, nor tried by another call.
        """
        backoff = self.backoff
        if self.now < backoff.until:
            return False
        return backoff.trial is None or backoff.trial not in self.slots.running

    def start(self, call: Call) -> None:
        """
        Start a call in a free slot; a paid one has been reserved before.
        """
        kind, tally = call.kind, self.tally
        self.slots.start(call, self.now, self._timeouts[kind])
        if call.paid:
            self.budget.spend()
            self.backoff.started(call.id)
            tally.calls[kind] += 1
        tally.seconds[kind] -= self.now
        tally.running[kind] += 1
        self.out.append(Run(call))

    def ended(self, call: int) -> Call | None:
        """
        Free a call's slot; None when it is free already.
        """
        ended = self.slots.running.pop(call, None)
        if ended is not None:
            tally = self.tally
            tally.seconds[ended.kind] += self.now
            tally.running[ended.kind] -= 1
            if call in tally.reverifying:
                tally.reverify_ended(call, self.now)
        return ended

    def abandon(self, call: int) -> None:
        """
        Give a running call up: its slot is free, its answer would be late.
        """
        given_up = self.ended(call)
        if given_up is not None and given_up.paid:
            self.abandoned.add(call)
        self.out.append(Abandon(call))

    def train(self, call: TrainCall) -> None:
        """
        Start a training, which takes no slot.
        """
        self.training.began(call, self._train_deadline)
        self.tally.trainings += 1
        self.tally.train_seconds -= self.now
        self.out.append(Run(call))

    def trained(self, usage: Usage) -> None:
        """
        The training that runs is over, and says what it has spent.
        """
        self.training.ended()
        self.tally.train_seconds += self.now
        self.budget.charge_training(usage)

    def leave_training(self, step: int) -> None:
        """
        A step waits for no training any more; one that runs is given up, and may say later what it has
        spent.
        """
        training, running = self.training, self.training.running
        training.wishes.pop(step, None)
        if running is not None and running.step == step:
            self.trained(NO_USAGE)
            training.untold.add(running.id)
            self.out.append(Abandon(running.id))

    @property
    def _train_deadline(self) -> float | None:
        timeout = self.config.train_timeout
        return None if timeout is None else self.now + timeout

    def restart_calls(self) -> None:
        """
        The calls that run are made once more, by another process, with all their time before them.

        Those that were given up will never say what they have spent.
        """
        running = self.slots.running.values()
        timeouts = ((call.id, self._timeouts[call.kind]) for call in running)
        self.slots.restart((self.now + t, call) for call, t in timeouts if t is not None)
        repeated = sum(call.paid for call in running)
        self.tally.repeated += repeated
        self.budget.lose(repeated + len(self.abandoned))
        self.budget.settle(len(self.abandoned))
        self.abandoned.clear()
        self.training.restarted(self._train_deadline)

    def late(self, call: int, usage: Usage) -> None:
        """
        A call that is over answers; one that was given up says only now what it has spent.
        """
        self.tally.late += 1
        if call in self.abandoned:
            self.abandoned.discard(call)
            self.budget.settle(1)
            self.budget.charge(usage)
        elif call in self.training.untold:
            self.training.untold.discard(call)
            self.budget.charge_training(usage)

    def charge(self, where: str, task: str, usage: Usage) -> None:
        """
        Count what a call has spent; one that spent more than is declared is told.
        """
        self.budget.charge(usage)
        excess = self.budget.above_ceiling(usage)
        if excess is not None:
            self.tally.above_ceiling += 1
            self.fault(Fault(where=where, type="CeilingExceeded", message=excess, task=task))

    def repeated(self, task: str, first: float, second: float) -> None:
        """
        One artifact gave two rewards on one task: rewards are noisy from now on.
        """
        if first == second or self.determinism not in ("unknown", "assumed"):
            return
        contradicted = self.determinism == "assumed"
        self.determinism = "contradicted" if contradicted else "noisy"
        self.deterministic = False
        if contradicted:
            text = f"one artifact gave the rewards {first:g} and {second:g}: taken as noisy from now on"
            self.fault(Fault(where="domain", type="NotDeterministic", message=text, task=task))

    def agreed(self) -> None:
        """
        The baseline's draws agree: rewards are taken as deterministic until something contradicts it.
        """
        if self.determinism == "unknown":
            self.determinism, self.deterministic = "assumed", True

    @property
    def doubting(self) -> bool:
        """
        Whether equal work is looked at for unequal rewards.
        """
        return self.determinism in ("unknown", "assumed")

    @property
    def candidate_price(self) -> float:
        """
        What it takes to measure a candidate, in rollouts, by how long both took; 0.0 while that is not
        known, and where it takes no time to speak of.
        """
        measure = self.tally.mean_seconds("measure", self.now) * len(self.config.held_out)
        if measure < WORTH_GATHERING:
            return 0.0
        rollout = self.tally.mean_seconds("rollout", self.now)
        return measure / rollout if rollout else 0.0

    def read_groups(self) -> tuple[Standing, int]:
        """
        How the groups stand, and the most that were outstanding at once since this was asked for last.
        """
        assert self.reservations is not None
        standing, peak = self.reservations.standing(self.head.version), self.tally.most_groups
        self.tally.most_groups = standing.outstanding
        return standing, peak

    def batch_over(self, groups: Mapping[int, int], standing: Standing, peak: int) -> None:
        """
        A batch of groups was used.

        Args:
            groups: How many versions behind the head each was.
            standing: How the groups stood once it had gone.
            peak: The most that were outstanding at once until then.
        """
        self.tally.rounds += 1
        tries = self.tally.tries
        notice = UpdateDone(
            now=self.now,
            update=self.tally.rounds,
            version=self.head.version,
            groups=dict(groups),
            seconds=dict(self.tally.waits),
            outstanding=standing.outstanding,
            ready=standing.ready,
            slack=standing.slack,
            blocking=standing.blocking,
            dropped=dict(self.tally.lost_groups),
            waits=dict(self.tally.waits_begun),
            peak=peak,
            blocking_age=standing.blocking_age,
            most_tries=max(tries.values(), default=0),
            most_tried=max(tries, key=tries.__getitem__, default=None),
        )
        self.out.append(Notify(notice))
        if self.tally.rounds == self.config.max_updates:
            self.stop("updates")

    def forget(self, requester: Requester) -> None:
        """
        Let go of the scores that a requester waits for; what nobody waits for is cancelled.
        """
        self.out += [Cancel(call) for call in self.measuring.drop(requester)]

    def decide(
        self, number: int, kind: DecisionKind, reason: str = "", eta: int | None = None
    ) -> Card:
        """
        Decide a card: it leaves the buffer, and what became of it is counted, once.

        Args:
            number: The card's number.
            kind: What becomes of it.
            reason: Why.
            eta: How far it is behind the head; None for what it was when a sweep took it.
        """
        judged = self.buffer.seen(number)
        card = self.buffer.settle(number)
        card = card if eta is None else attrs.evolve(card, eta=eta)
        decision = Decision(card=number, kind=kind, reason=reason, version=self.head.version)
        self.tally.decisions[f"{kind}:{reason}" if kind == "discarded" else kind] += 1
        if judged:
            self.tally.etas[card.eta] += 1
        if kind == "committed":
            self.tally.committed_etas[card.eta] += 1
        if self.reservations is not None:
            if kind == "committed":
                self.reservations.trained((number,))
            else:
                self.reservations.drop(number)
            if reason == "stale":
                self.tried_in_vain(card.task)
            elif self.tally.tries:
                self.tally.tries.pop(card.task, None)
        self.digest.decide(decision, card.digest)
        self.out.append(Notify(CardDecided(now=self.now, decision=decision, eta=card.eta)))
        return card

    def tried_in_vain(self, task: str) -> None:
        """
        A group of a task was too old to be used.

        A task that never ends in time would be tried for ever, so that is told, again after twice as many.
        """
        tries = self.tally.tries
        tries[task] = count = tries.get(task, 0) + 1
        if count >= MANY_TRIES and count.bit_count() == 1:
            text = (
                f"{count} groups in a row were too old to be used, so nothing is learnt of this task;"
                " give a higher max_staleness, or policy='wait'"
            )
            self.fault(Fault(where="gate", type="TriedInVain", message=text, task=task))

    def adopt(
        self,
        head: Snapshot,
        cards: tuple[Card, ...] | None,
        keys: tuple[str, ...] | None = None,
    ) -> None:
        """
        Make a version that the ledger has acknowledged the head.

        Args:
            head: The new head.
            cards: What it is made of; None when somebody else committed it.
            keys: The parts that it changes, when it has no cards.
        """
        self.head = head
        if cards is None:
            self.merger.moved(head.version)
        else:
            changed = {key for card in cards for key in card.keys} or set(keys or ("*",))
            self.merger.committed(head.version, sorted(changed))
        self.digest.commit(head.version, head.digest)
        numbers = tuple(card.number for card in cards or ())
        self.out.append(Notify(HeadCommitted(now=self.now, head=head, cards=numbers)))

    def fault(self, fault: Fault) -> None:
        """
        Count something that went wrong, and tell.
        """
        fault = self.named(fault)
        self.tally.faults.add(fault)
        self.out.append(Notify(FaultSeen(now=self.now, fault=fault)))

    def named(self, fault: Fault) -> Fault:
        """
        A fault with the name of the plug-in whose it is.
        """
        name = self.names.get(fault.where, "")
        return attrs.evolve(fault, plugin=name) if name and not fault.plugin else fault

    def backend_failed(self, call: Call, fault: Fault, retry_after: float | None) -> None:
        """
        A paid call failed; when many did in a row, the backend is left alone, and that is told once.
        """
        first = self.backoff.failed(
            call.id,
            kind=call.kind,
            now=self.now,
            next_call=self.calls,
            at_once=len(self.slots.running) + 1,
            retry_after=retry_after,
        )
        if first:
            text = (
                f"call after call fails, so calls begin later and later; the last: {fault.message}"
            )
            self.fault(attrs.evolve(fault, where="backend", message=text))

    def plugin_fault(self, fault: Fault, of: str | None = None) -> None:
        """
        Contain a fault of one of a plug-in's methods; the second in a row ends the run.
        """
        self.fault(fault)
        self.plugin_erred(fault, of)

    def plugin_erred(self, fault: Fault, of: str | None = None) -> None:
        """
        As ``plugin_fault``, for a fault that is counted elsewhere.
        """
        self.plugin_errors[of or fault.where] += 1
        if self.plugin_errors[of or fault.where] >= 2:  # noqa: PLR2004 - the rule is "two in a row"
            self.stop("error", fault)

    def plugin_worked(self, of: str) -> None:
        """
        A plug-in worked: its faults are no longer in a row.
        """
        if self.plugin_errors:
            del self.plugin_errors[of]

    def stop(self, reason: str, fault: Fault | None = None) -> None:
        """
        Begin to end the run, or end one sooner that drains; the first reason is the one reported.
        """
        if self.stop_reason is None:
            self.stop_reason = reason
            self.error = None if fault is None else self.named(fault)
        if reason not in STOPS_DRAINING:
            self.halt(reason)
        elif self.phase == "running":
            self.phase = "draining"

    def halt(self, reason: str) -> None:
        """
        Give up what is in flight or undecided, in a run that has been stopped.
        """
        if self.halted_by is None:
            self.halted_by, self.halted_at = reason, self.now
        if self.phase in ("running", "draining"):
            self.phase = "halting"

    @property
    def running(self) -> bool:
        """
        Whether new rollouts may still start.
        """
        return self.phase == "running"

    def head_reward(self) -> float | None:
        """
        The head's mean held-out reward, when every held-out task has a score.
        """
        return self.measuring.mean(self.head.artifact, self.config.held_out)
