"""
Sweeps: from the cards that one takes to the step that decides them, and to its end.

A sweep leases all that waits, judges it, rebases and verifies what the policy says, and hands the
survivors to a step of the aggregator.

Up to ``max_steps`` sweeps are open at once and race, each with cards of its own.  Guarantee: a step
is a transaction on the head and the memory.  When either changes by another's doing, its sweep is
closed and its cards are judged anew.  A sweep whose commit is on its way is never closed before the
ledger has answered.

With ``checkpoint_every``, no step begins after so many events in a row with a step out, until those
that are out have ended; so there is a moment for a checkpoint again, and the next event, which a
``Tick`` at that very moment makes sure of, lets the held one begin.
"""

from __future__ import annotations

from typing import Any, Literal

import attrs

from headway.contracts import Card, Fault, Measure, SweepDone, SweepOutcome
from headway.gate import GateView
from headway.machine._calls import RebaseCall, Rebased, TrainCall
from headway.machine._instructions import Abort, Cancel, Notify, Resume, StepStart
from headway.machine._lookups import LookupRaised
from headway.machine._measuring import Requester
from headway.machine._open import OpenStep, OpenSweep
from headway.machine._state import State
from headway.merger import Sweep

_FOR_ONE_REASON: dict[str, SweepOutcome] = {
    "stale": "all-stale",
    "duplicate": "duplicate",
    "conflict": "conflict",
    "oversized": "oversized",
    "vetoed": "oracle-rejected",
    "unmeasured": "unmeasured",
}
"""What a sweep came to that discarded all of its cards for one reason."""

_OVERTAKEN = ("lost", "cas-conflict")


@attrs.define(eq=False)
class Sweeps:
    """
    The sweeps that are open, by number, and what the next one needs to know.
    """

    state: State
    open: dict[int, OpenSweep] = attrs.field(factory=dict[int, OpenSweep], init=False)
    steps: int = attrs.field(default=0, init=False)
    again: bool = attrs.field(default=False, init=False)
    barren: int = attrs.field(default=0, init=False)
    refresh: bool = attrs.field(default=False, init=False)
    retry: bool = attrs.field(default=False, init=False)
    returned_at: int = attrs.field(default=-1, init=False)
    since: int = attrs.field(default=0, init=False)
    """Events in a row after which a step was out; counted where ``checkpoint_every`` is set."""
    _count: int = attrs.field(default=0, init=False)

    # ------------------------------------------------------------------ what is open

    @property
    def committing(self) -> OpenSweep | None:
        """
        The sweep whose commit is on its way to the ledger, if any.
        """
        for sweep in self.open.values():
            if sweep.begun is not None and sweep.begun.commit is not None:
                return sweep
        return None

    def of_step(self, number: int) -> OpenSweep | None:
        """
        The open sweep whose step has this number, if any.
        """
        for sweep in self.open.values():
            if sweep.begun is not None and sweep.begun.number == number:
                return sweep
        return None

    def of_rebase(self, call: int) -> OpenSweep | None:
        """
        The open sweep that waits for this rebase, if any.
        """
        return next((sweep for sweep in self.open.values() if call in sweep.rebases), None)

    def _of(self, requester: Requester) -> OpenSweep:
        what, number = requester
        if what == "verify":
            return next(sweep for sweep in self.open.values() if number in sweep.verifying)
        sweep = self.of_step(number)
        assert sweep is not None
        return sweep

    @property
    def waiting(self) -> bool:
        """
        Whether nothing but rebases and measurements can take the open sweeps further.
        """
        return all(sweep.waits for sweep in self.open.values())

    @property
    def room(self) -> bool:
        """
        Whether one more sweep may be open: all that the open ones wait for is running.

        A step that is about to speak may ask for more, and a commit on its way will most likely
        move the head, so either is waited for; a training is not.
        """
        if not self.open:
            return True
        return (
            len(self.open) < self.state.config.max_steps
            and all(sweep.waits or sweep.trains for sweep in self.open.values())
            and not any(sweep.rebasing for sweep in self.open.values())
            and self.state.measuring.next() is None
        )

    @property
    def worth_while(self) -> bool:
        """
        Whether there is evidence that the last step did not already give back.
        """
        return self.again or self.returned_at != self.state.tally.cards

    # ------------------------------------------------------------------ room for a checkpoint

    @property
    def out(self) -> bool:
        """
        Whether any step is out: it has begun and not ended.
        """
        return any(sweep.begun is not None for sweep in self.open.values())

    @property
    def _due(self) -> bool:
        """
        Whether steps are held back until none is out.
        """
        every = self.state.config.checkpoint_every
        return every is not None and self.since >= every

    def event_over(self) -> None:
        """
        An event was dealt with.
        """
        self.since = self.since + 1 if self.out else 0

    @property
    def held_back(self) -> bool:
        """
        Whether a step was held back and none is out any more: it may begin with the next event.
        """
        if self.since or self.state.config.checkpoint_every is None:
            return False
        return any(sweep.ready for sweep in self.open.values())

    # ------------------------------------------------------------------ from cards to a step

    def begin(self, *, quiet: bool) -> None:
        """
        Open a sweep over all that waits.
        """
        state, reservations = self.state, self.state.reservations
        cards, first = state.buffer.lease(None if reservations is None else reservations.batch())
        state.tally.considered += first
        try:
            verdicts = state.merger.sweep(cards, state.head.version)
        except LookupRaised as raised:
            state.buffer.give_back(card.number for card in cards)
            self.again = True
            state.plugin_fault(raised.fault)
            return
        if reservations is None:
            state.plugin_worked("staleness policy")
        self._count += 1
        sweep = OpenSweep(
            number=self._count,
            head=state.head.version,
            quiet=quiet,
            retry=self.retry,
            considered=len(cards),
            made=state.tally.cards,
        )
        self.again = self.retry = False
        self.open[sweep.number] = sweep
        self._sort(sweep, verdicts)

    def _sort(self, sweep: OpenSweep, verdicts: Sweep) -> None:
        for card in verdicts.stale:
            self._discard(sweep, card, "stale")
            sweep.stale += 1
        for card in verdicts.duplicates:
            self._discard(sweep, card, "duplicate")
        for card in verdicts.accepted:
            judged = card.is_group or card.base == sweep.head
            self._keep(sweep, card if judged else attrs.evolve(card, base=sweep.head))
        for card in verdicts.rebased:
            self.state.buffer.update(card)
            sweep.verifying[card.number] = card
            sweep.rebasing.append(card)

    def _discard(self, sweep: OpenSweep, card: Card, reason: str) -> None:
        sweep.reasons.add(reason)
        self.state.buffer.update(card)
        self.state.decide(card.number, "discarded", reason)

    def _keep(self, sweep: OpenSweep, card: Card) -> None:
        self.state.buffer.update(card)
        sweep.survivors[card.number] = card

    def next_rebase(self) -> RebaseCall | None:
        """
        The next rebase to start, if any.
        """
        for sweep in self.open.values():
            if sweep.rebasing:
                card = sweep.rebasing.popleft()
                call = RebaseCall(self.state.next_call(), card, self.state.head.artifact)
                sweep.rebases[call.id] = card.number
                return call
        return None

    def start_training(self) -> None:
        """
        Start the training that an open step waits for, unless one runs.
        """
        state = self.state
        wish = state.training.next(state.now)
        if wish is None:
            return
        spent = state.budget.spent
        if spent is not None:
            state.stop(spent)
            state.halt(spent)
            return
        number, request = wish
        sweep = self.of_step(number)
        assert sweep is not None
        cards = tuple(sweep.survivors[card] for card in request.cards)
        call = TrainCall(
            id=state.next_call(),
            step=number,
            n=sweep.step.n,
            nth=sweep.step.trainings,
            artifact=state.head.artifact,
            cards=cards,
            payload=request.payload,
        )
        sweep.step.trainings += 1
        state.train(call)

    def rebased(self, call: int, value: Rebased) -> None:
        """
        A card was rebased, or no longer applies; nothing happens if its sweep was closed meanwhile.
        """
        sweep = self.of_rebase(call)
        if sweep is None:
            return
        number = sweep.rebases.pop(call)
        if value.proposal is None or value.proposal.no_op:
            self._drop(sweep, number, "conflict" if value.proposal is None else "duplicate")
            return
        assert value.artifact is not None
        card = sweep.verifying[number]
        untouched = self.state.merger.untouched(card)
        card = sweep.verifying[number] = attrs.evolve(
            card,
            diff=value.proposal.diff,
            digest=value.proposal.digest,
            keys=value.proposal.keys,
            base=sweep.head,
            rebased=(card.base, sweep.head),
        )
        if untouched and card.delta is not None:
            self._verified(sweep, card, kept=card.delta >= 0)
            return
        requester = ("verify", number)
        candidates = (self.state.head.artifact, value.artifact)
        if self.state.measuring.want(requester, Measure(candidates, (card.task,))):
            self.measured(requester)

    def _verified(self, sweep: OpenSweep, card: Card, *, kept: bool) -> None:
        if not kept:
            self._drop(sweep, card.number, "worse")
            return
        del sweep.verifying[card.number]
        self._keep(sweep, card)

    def _drop(self, sweep: OpenSweep, number: int, reason: str) -> None:
        self._discard(sweep, sweep.verifying.pop(number), reason)

    def rebase_failed(self, call: int) -> None:
        """
        A rebase raised or ran out of time: the card no longer applies.
        """
        sweep = self.of_rebase(call)
        if sweep is not None:
            self._drop(sweep, sweep.rebases.pop(call), "conflict")

    def measured(self, requester: Requester) -> None:
        """
        All scores that a requester waited for are known.
        """
        sweep = self._of(requester)
        compared = self.state.measuring.compared(requester)
        if compared is not None:
            answer, moot = compared
            self.state.out += [Cancel(call) for call in moot]
            self.answer(sweep.step, answer)
            return
        scores = self.state.measuring.take(requester)
        if requester[0] == "verify":
            ((before,), (after,)) = scores[0]
            self._verified(sweep, sweep.verifying[requester[1]], kept=after >= before)
        else:
            self.answer(sweep.step, scores if sweep.step.several else scores[0])

    def unmeasured(self, requester: Requester) -> None:
        """
        A score that a requester waits for can't be had.
        """
        sweep = self._of(requester)
        self.state.forget(requester)
        if requester[0] == "verify":
            self._drop(sweep, requester[1], "unmeasured")
        else:
            self.discard_rest(sweep, "unmeasured")
            self.close(sweep, "below-threshold")

    def open_step(self) -> bool:
        """
        Go on with a sweep whose cards are all judged; False when there is none, or when it is time
        for a checkpoint.
        """
        if self._due:
            return False
        for sweep in self.open.values():
            if sweep.ready:
                self._open_step(sweep)
                return True
        return False

    def _open_step(self, sweep: OpenSweep) -> None:
        if not sweep.survivors:
            self.finish(sweep, "all-dropped")
            return
        self.steps += 1
        sweep.begun = OpenStep(self.steps)
        cards = tuple(sweep.survivors[n] for n in sorted(sweep.survivors))
        state = self.state
        start = StepStart(
            cards, state.head, state.memory, sweep.quiet, state.deterministic, state.stable
        )
        self.state.out.append(Resume(self.steps, 0, start))

    def gather(self, view: GateView) -> bool:
        """
        Hand a step that waits for them further cards of its batch; False when there are none yet.
        """
        sweep = self.gathering
        if sweep is None:
            return False
        reservations, state = self.state.reservations, self.state
        assert reservations is not None
        numbers = reservations.gather(view) if reservations.open else ()
        if numbers is None:
            return False
        leased, first = state.buffer.lease(numbers)
        state.tally.considered += first
        cards = state.merger.sweep(leased, sweep.head).accepted
        sweep.considered += len(cards)
        for card in cards:
            self._keep(sweep, card)
        self.answer(sweep.step, cards)
        return True

    @property
    def gathering(self) -> OpenSweep | None:
        """
        The open sweep whose step waits for further cards, if any.
        """
        for sweep in self.open.values():
            if sweep.begun is not None and sweep.begun.awaiting == "gather":
                return sweep
        return None

    def answer(self, step: OpenStep, value: Any) -> None:
        """
        Hand a step the answer to what it asked for last.
        """
        step.awaiting = "plugin"
        self.state.out.append(Resume(step.number, step.n, value))

    # ------------------------------------------------------------------ how a sweep ends

    def decide(
        self,
        sweep: OpenSweep,
        number: int,
        kind: Literal["committed", "discarded"],
        reason: str = "",
        eta: int | None = None,
    ) -> None:
        """
        Decide a card that a sweep holds.
        """
        del sweep.survivors[number]
        if kind == "discarded":
            sweep.reasons.add(reason)
        if sweep.begun is not None:
            sweep.begun.carried.discard(number)
        self.state.decide(number, kind, reason, eta)

    def discard_rest(self, sweep: OpenSweep, reason: str) -> None:
        """
        Discard all that a sweep still holds.
        """
        for number in sorted(sweep.survivors):
            self.decide(sweep, number, "discarded", reason)

    def give_up(self) -> None:
        """
        Close the sweeps now, but for one whose commit is on its way: it stays until the ledger has
        answered.
        """
        committing = self.committing
        for sweep in list(self.open.values()):
            if sweep is not committing:
                self.close(sweep, "given-up")

    def close_others(self, winner: OpenSweep) -> None:
        """
        The head or the memory changed by one sweep's doing: the others' cards are judged anew.
        """
        for sweep in list(self.open.values()):
            if sweep is not winner:
                self.close(sweep, "lost")
                self.again = True

    def close(self, sweep: OpenSweep, outcome: SweepOutcome) -> None:
        """
        End a sweep where it stands; its undecided cards wait again.
        """
        state = self.state
        for number in sweep.verifying:
            state.forget(("verify", number))
        state.out += [Cancel(call) for call in sweep.rebases if call in state.slots.running]
        if sweep.begun is not None:
            state.forget(("step", sweep.begun.number))
            state.leave_training(sweep.begun.number)
            state.out.append(Abort(sweep.begun.number))
        state.buffer.give_back(sweep.cards)
        self.finish(sweep, "committed" if sweep.has_committed else outcome)

    def finish(self, sweep: OpenSweep, outcome: SweepOutcome) -> None:
        """
        Count a sweep that holds nothing any more, and tell.
        """
        state = self.state
        del self.open[sweep.number]
        if outcome in ("below-threshold", "all-dropped") and len(sweep.reasons) == 1:
            outcome = _FOR_ONE_REASON.get(next(iter(sweep.reasons)), outcome)
        state.tally.sweeps[outcome] += 1
        if state.reservations is not None:
            state.reservations.returned()
            if sweep.is_used_up:
                state.batch_over(sweep.used, *(sweep.step.left or state.read_groups()))
        if outcome not in _OVERTAKEN:
            self.barren = 0 if sweep.has_committed else self.barren + 1
        if state.backpressure.swept(committed=sweep.has_committed, stale=sweep.stale):
            self.refresh = True
        if sweep.quiet and outcome == "returned":
            held = ", ".join(map(str, state.buffer.held))
            text = f"nothing runs, nothing can start, and the step decided none of the cards {held}"
            state.stop("stalled", Fault(where="aggregator", type="Stalled", message=text))
        notice = SweepDone(
            now=state.now,
            sweep=sweep.number,
            outcome=outcome,
            considered=sweep.considered,
            committed=sweep.committed,
            stale=sweep.stale,
            version=state.head.version,
            reward=state.head_reward(),
            rollouts=state.tally.tickets,
            calls=state.budget.calls,
        )
        state.out.append(Notify(notice))
