"""
What a call's answer, or the end of its time, leads to.
"""

from __future__ import annotations

from typing import Any

import attrs

from headway.contracts import NO_USAGE, CompletionKind, Fault, Usage
from headway.machine._calls import (
    Call,
    CommitCall,
    MeasureCall,
    PromoteCall,
    RebaseCall,
    TicketCall,
    TrainCall,
)
from headway.machine._events import Done, Failed
from headway.machine._instructions import Abandon
from headway.machine._measuring import Item, Requester
from headway.machine._requests import Requests
from headway.machine._scoring import Scoring
from headway.machine._state import State
from headway.machine._sweeps import Sweeps
from headway.machine._tickets import Tickets


@attrs.define(eq=False)
class Answers:
    """
    Hands each answer to whoever made the call.
    """

    state: State
    tickets: Tickets
    sweeps: Sweeps
    requests: Requests
    scoring: Scoring

    def outstanding(self, call: int) -> Call | None:
        """
        A call that has not been answered; None when it is over.
        """
        running = self.state.slots.running.get(call)
        if running is not None:
            return running
        promotion = self.state.promotions.get(call)
        if promotion is not None:
            return promotion
        training = self.state.training.running
        if training is not None and training.id == call:
            return training
        committing = self.sweeps.committing
        commit = None if committing is None else committing.step.commit
        return commit if commit is not None and commit.id == call else None

    @property
    def awaited(self) -> tuple[Call, ...]:
        """
        All calls that have not been answered, in the order in which they were made.
        """
        calls: dict[int, Call] = {**self.state.slots.running, **self.state.promotions}
        committing = self.sweeps.committing
        commit = None if committing is None else committing.step.commit
        for call in (commit, self.state.training.running):
            if call is not None:
                calls[call.id] = call
        return tuple(calls[number] for number in sorted(calls))

    @property
    def unwanted(self) -> frozenset[int]:
        """
        Those of them that were cancelled.
        """
        running = self.state.slots.running.values()
        rebases = [call.id for call in running if isinstance(call, RebaseCall)]
        moot = {call for call in rebases if self.sweeps.of_rebase(call) is None}
        cancelled = self.state.measuring.is_cancelled
        return frozenset(moot | {call.id for call in running if cancelled(call.id)})

    def done(self, event: Done) -> None:
        """
        A call finished.
        """
        call = self.state.ended(event.call) or self.outstanding(event.call)
        if call is None:
            self._late(event)
            return
        value: Any = event.value
        if isinstance(call, TrainCall):
            self.requests.trained(call, value, event.usage)
            return
        if call.paid:
            self.state.backoff.worked(call.kind)
        if self.state.plugin_errors:
            self.state.plugin_worked("commit" if isinstance(call, CommitCall) else "executor")
        if isinstance(call, TicketCall):
            if event.usage is not NO_USAGE:
                self.tickets.charge(call.ticket.number, event.usage)
            self.tickets.done(call, value, ripe=self._ripe)
        elif isinstance(call, MeasureCall):
            self._measured(call, value, event.usage)
            self.scoring.ended(call.id, scored=True)
            ready = self.state.measuring.done(call.id, value)
            self.state.still = not (ready or self._ripe)
            self._scored(ready)
        elif isinstance(call, RebaseCall):
            self.sweeps.rebased(call.id, value)
        elif isinstance(call, PromoteCall):
            del self.state.promotions[call.id]
            self.state.stable = value
        else:
            self.requests.committed(value)

    @property
    def _ripe(self) -> bool:
        """
        Whether there are cards that a sweep may take before long.

        Where measuring is dear, how many are enough depends on durations, and so on the time: then
        any event may make them enough.
        """
        state = self.state
        return bool(state.buffer.leasable) and len(self.sweeps.open) < state.config.max_steps

    def _measured(self, call: MeasureCall, value: float | None, usage: Usage) -> None:
        state = self.state
        state.budget.settle(1)
        if usage is not NO_USAGE:
            state.charge(call.kind, call.task, usage)
        if value is not None and state.doubting:
            for other in (0, 1):  # whoever draws more than once draws these
                known = state.measuring.score((call.artifact.digest, call.task, other))
                state.repeated(call.task, value if known is None else known, value)

    def _late(self, event: Done) -> None:
        self.state.late(event.call, event.usage)
        if isinstance(event.value, float):
            self.state.measuring.late(event.call, event.value)

    def _scored(self, requesters: list[Requester]) -> None:
        for requester in requesters:
            if requester[0] in ("step", "verify"):
                self.sweeps.measured(requester)
            else:
                self.scoring.measured(requester)

    def failed(self, event: Failed) -> None:
        """
        A call failed.
        """
        call = self.state.ended(event.call) or self.outstanding(event.call)
        if call is None:
            self.state.late(event.call, event.usage)
            self.state.measuring.late_failure(event.call)
            return
        if isinstance(call, TrainCall):
            self.requests.train_failed(call, event.fault, event.usage, event.retry_after)
            return
        if event.fault.where == "executor":
            self.state.plugin_erred(event.fault)
        elif call.paid and not self.state.measuring.is_cancelled(call.id):
            self._judge_backend(call, event)
        if isinstance(call, MeasureCall):
            self._measured(call, None, event.usage)
        elif isinstance(call, TicketCall):
            self.tickets.charge(call.ticket.number, event.usage)
        self._give_up(call, event.fault, "invalid" if event.invalid else "failed")

    def _judge_backend(self, call: Call, event: Failed) -> None:
        state = self.state
        if call.kind == "measure" and state.config.failure_score is not None:
            state.backoff.asked(event.retry_after, state.now)  # a failure is a result there
        elif event.invalid:
            state.backoff.answered()
        else:
            state.backend_failed(call, event.fault, event.retry_after)

    def _give_up(self, call: Call, fault: Fault, completion: CompletionKind) -> None:
        if isinstance(call, TicketCall):
            self.state.tally.failures += 1
            self.tickets.failed(call, completion, fault)
            return
        if isinstance(call, CommitCall):
            self.requests.commit_failed(fault)
            return
        if isinstance(call, PromoteCall):
            del self.state.promotions[call.id]
            self.state.fault(fault)
            return
        sweeps, measuring = self.sweeps, self.state.measuring
        rebase = isinstance(call, RebaseCall)
        if sweeps.of_rebase(call.id) if rebase else measuring.wanted(call.id):
            self.state.fault(fault)
            self.state.tally.failures += call.paid
        if rebase:
            sweeps.rebase_failed(call.id)
            return
        self.scoring.ended(call.id, scored=False)
        backoff = self.state.backoff
        given_up = measuring.failed(
            call.id,
            late=completion == "timeout",
            failing=backoff.failing,
            outage=backoff.outage,
        )
        if given_up is not None:
            self._unmeasured(given_up, fault)

    def _unmeasured(self, item: Item, fault: Fault) -> None:
        score = self.state.config.failure_score
        if score is not None:
            self._scored(self.state.measuring.settle(item, score))
            return
        self.state.measuring.let_go(item)
        for requester in sorted(item.waiters):
            if requester[0] in ("step", "verify"):
                self.sweeps.unmeasured(requester)
            else:
                self.scoring.unmeasured(requester, fault)

    def let_overdue_go(self) -> None:
        """
        Give up the calls whose deadline has come.
        """
        state = self.state
        while (call := state.slots.overdue(state.now)) is not None:
            state.abandon(call.id)
            fault = Fault(
                where=call.kind,
                type="Timeout",
                message="no answer by its deadline",  # no number: equal faults are counted as one
                task=getattr(call, "task", None),
            )
            self._give_up(call, fault, "timeout")
        training = state.training.overdue(state.now)
        if training is not None:
            self._train_overdue(training)

    def _train_overdue(self, call: TrainCall) -> None:
        text = "no answer within train_timeout"
        if self.state.training.untold:
            text += "; an earlier training that was given up has not come back and may hold it up"
        fault = Fault(where="train", type="Timeout", message=text)
        self.state.training.untold.add(call.id)
        self.state.out.append(Abandon(call.id))
        self.requests.train_failed(call, fault, NO_USAGE, None)
