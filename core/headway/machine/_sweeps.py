"""
Sweeps: from the cards that one takes to the end of the step that decides them.

A sweep leases all that waits, judges it, rebases and verifies what the policy says, and hands the
survivors to a step of the aggregator.  It carries out the step's requests; the step is a transaction
on the head: when somebody else moves the head, or a score can't be had, the step is closed and its
cards are judged anew or discarded.  One sweep is open at a time, so there is one writer.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Literal, TypeAlias

import attrs

from headway.contracts import (
    KEEP,
    Card,
    Commit,
    Committed,
    Consume,
    Fault,
    HeadMoved,
    Json,
    Measure,
    Request,
    Snapshot,
    SweepDone,
    SweepOutcome,
)
from headway.machine._calls import CommitCall, RebaseCall, Rebased
from headway.machine._instructions import Abort, Notify, Resume, Run, StepStart
from headway.machine._lookups import LookupRaised
from headway.machine._measuring import Requester
from headway.machine._state import State
from headway.merger import Sweep

Awaiting: TypeAlias = Literal["plugin", "measure", "commit"]

_STEP = "aggregator's step"

MAX_REQUESTS = 10_000
"""Requests that one step may make; one that goes on asking would never end."""

MAX_RACES = 16
"""Commits lost in a row after which a step's cards are ``discarded(conflict)``."""


@attrs.define(eq=False)
class OpenStep:
    """
    A step of the aggregator that has begun and not ended.

    Args:
        number: The step's number.
        n: How many requests it has made.
        awaiting: Whom the machine waits for: the plug-in, a measurement or the ledger.
        asked: Whether it has asked for anything.
        carried: Cards that it wants to carry over.
        commit: The commit that is on its way.
        memory: The memory to keep once that commit is acknowledged.
    """

    number: int
    n: int = 0
    awaiting: Awaiting = "plugin"
    asked: bool = False
    carried: set[int] = attrs.field(factory=set[int])
    commit: CommitCall | None = None
    memory: Json = KEEP


@attrs.define(eq=False)
class OpenSweep:
    """
    A sweep that has begun and not ended.

    Args:
        number: The sweep's number.
        quiet: Nothing else could happen when it began: its step must decide.
        considered: How many cards it took.
        rebasing: Cards whose rebase has not started.
        verifying: Cards that are being rebased or verified, by number.
        survivors: Cards for the step, by number.
        committed: Cards committed so far.
        stale: Cards discarded as stale so far.
        step: Its step, once it is open.
    """

    number: int
    quiet: bool
    considered: int
    rebasing: deque[Card] = attrs.field(factory=deque[Card])
    verifying: dict[int, Card] = attrs.field(factory=dict[int, Card])
    survivors: dict[int, Card] = attrs.field(factory=dict[int, Card])
    committed: int = 0
    stale: int = 0
    step: OpenStep | None = None


@attrs.define(eq=False)
class Sweeps:
    """
    The one sweep that is open, if any, and what the next one needs to know.
    """

    state: State
    open: OpenSweep | None = attrs.field(default=None, init=False)
    steps: int = attrs.field(default=0, init=False)
    again: bool = attrs.field(default=False, init=False)
    barren: int = attrs.field(default=0, init=False)
    refresh: bool = attrs.field(default=False, init=False)
    _count: int = attrs.field(default=0, init=False)
    _races: int = attrs.field(default=0, init=False)
    _retried: bool = attrs.field(default=False, init=False)
    _returned_at: int = attrs.field(default=-1, init=False)

    @property
    def step(self) -> OpenStep | None:
        """
        The open step, if any.
        """
        return None if self.open is None else self.open.step

    @property
    def worth_while(self) -> bool:
        """
        Whether there is evidence that the last step did not already give back.
        """
        return self.again or self._returned_at != self.state.tally.cards

    def begin(self, *, quiet: bool) -> None:
        """
        Open a sweep over all that waits.
        """
        state = self.state
        cards, first = state.buffer.lease()
        state.tally.considered += first
        try:
            verdicts = state.merger.sweep(cards, state.head.version)
        except LookupRaised as raised:
            state.buffer.give_back(card.number for card in cards)
            self.again = True
            state.plugin_fault(raised.fault)
            return
        self.again = False
        state.plugin_worked("staleness policy")
        self._count += 1
        self.open = OpenSweep(self._count, quiet, len(cards))
        self._sort(self.open, verdicts)

    def _sort(self, sweep: OpenSweep, verdicts: Sweep) -> None:
        for card in verdicts.stale:
            self._discard(card, "stale")
            sweep.stale += 1
        for card in verdicts.duplicates:
            self._discard(card, "duplicate")
        for card in verdicts.accepted:
            self._keep(sweep, attrs.evolve(card, base=self.state.head.version))
        for card in verdicts.rebased:
            self.state.buffer.update(card)
            sweep.verifying[card.number] = card
            sweep.rebasing.append(card)

    def _discard(self, card: Card, reason: str) -> None:
        self.state.buffer.update(card)
        self.state.decide(card.number, "discarded", reason)

    def _keep(self, sweep: OpenSweep, card: Card) -> None:
        self.state.buffer.update(card)
        sweep.survivors[card.number] = card

    def next_rebase(self) -> RebaseCall | None:
        """
        The next rebase to start, if any.
        """
        if self.open is None or not self.open.rebasing:
            return None
        card = self.open.rebasing.popleft()
        return RebaseCall(self.state.next_call(), card, self.state.head.artifact)

    def rebased(self, number: int, value: Rebased) -> None:
        """
        A card was rebased, or no longer applies.
        """
        sweep = self.open
        assert sweep is not None
        card = sweep.verifying[number]
        if value.proposal is None or value.proposal.no_op:
            self._drop(sweep, number, "conflict" if value.proposal is None else "duplicate")
            return
        assert value.artifact is not None
        untouched = self.state.merger.untouched(card)
        head = self.state.head
        card = sweep.verifying[number] = attrs.evolve(
            card,
            diff=value.proposal.diff,
            digest=value.proposal.digest,
            keys=value.proposal.keys,
            base=head.version,
            rebased=(card.base, head.version),
        )
        if untouched and card.delta is not None:
            self._verified(sweep, card, kept=card.delta >= 0)
            return
        requester = ("verify", number)
        if self.state.measuring.want(
            requester, (head.artifact, value.artifact), (card.task,), range(1)
        ):
            self.measured(requester)

    def _verified(self, sweep: OpenSweep, card: Card, *, kept: bool) -> None:
        if not kept:
            self._drop(sweep, card.number, "worse")
            return
        del sweep.verifying[card.number]
        self._keep(sweep, card)

    def _drop(self, sweep: OpenSweep, number: int, reason: str) -> None:
        self._discard(sweep.verifying.pop(number), reason)

    def rebase_failed(self, number: int) -> None:
        """
        A rebase raised or ran out of time: the card no longer applies.
        """
        assert self.open is not None
        self._drop(self.open, number, "conflict")

    def measured(self, requester: Requester) -> None:
        """
        All scores that a requester waited for are known.
        """
        sweep = self.open
        assert sweep is not None
        scores = self.state.measuring.take(requester)
        if requester[0] == "verify":
            before, after = scores[0][0], scores[1][0]
            self._verified(sweep, sweep.verifying[requester[1]], kept=after >= before)
        else:
            self._answer(scores)

    def unmeasured(self, requester: Requester) -> None:
        """
        A score that a requester waits for can't be had.
        """
        sweep = self.open
        assert sweep is not None
        self.state.forget(requester)
        if requester[0] == "verify":
            self._drop(sweep, requester[1], "unmeasured")
        else:
            self._discard_rest("unmeasured")
            self._close_step()
            self._finish("below-threshold")

    def open_step(self) -> bool:
        """
        Go on with a sweep whose cards are all judged; False when there is nothing to go on with.
        """
        sweep = self.open
        if sweep is None or sweep.verifying or sweep.step is not None:
            return False
        if not sweep.survivors:
            stale = sweep.stale == sweep.considered
            self._finish("all-stale" if stale else "all-dropped")
            return True
        self.steps += 1
        sweep.step = OpenStep(self.steps)
        cards = tuple(sweep.survivors[n] for n in sorted(sweep.survivors))
        start = StepStart(cards, self.state.head, self.state.memory, sweep.quiet)
        self.state.out.append(Resume(self.steps, 0, start))
        return True

    def yielded(self, request: Request) -> None:
        """
        The step asked for something.
        """
        step = self.step
        assert step is not None
        step.n += 1
        problem = self._problem(request)
        if step.n > MAX_REQUESTS:
            problem = f"a step made more than {MAX_REQUESTS} requests"
        if problem is not None:
            self.raised(Fault(where="aggregator", type="ContractError", message=problem))
            return
        step.asked = True
        if isinstance(request, Measure):
            self._measure(step, request)
        elif isinstance(request, Commit):
            self._commit(step, request)
        elif isinstance(request, Consume):
            for number in request.cards:
                self._decide(number, "discarded", request.reason)
            self._answer(None)
        else:
            step.carried.update(request.cards)
            self._answer(None)

    def _problem(self, request: Request) -> str | None:
        sweep = self.open
        assert sweep is not None
        if isinstance(request, Measure):
            known = {*self.state.config.held_out, *self.state.config.train}
            strange = [task for task in request.tasks if task not in known]
            if strange or not request.tasks or not request.candidates:
                return f"Measure names no task or candidate, or the unknown task {strange[:1]}"
            return None
        strange_cards = [n for n in request.cards if n not in sweep.survivors]
        if strange_cards or len(set(request.cards)) < len(request.cards):
            kind = type(request).__name__
            return f"{kind} names cards that the step does not hold: {list(request.cards)}"
        return None

    def _measure(self, step: OpenStep, request: Measure) -> None:
        step.awaiting = "measure"
        requester = ("step", step.number)
        draws = range(request.draws)
        if self.state.measuring.want(requester, request.candidates, request.tasks, draws):
            self.measured(requester)

    def _commit(self, step: OpenStep, request: Commit) -> None:
        state = self.state
        step.memory = request.memory
        if request.candidate == state.head.artifact:
            self._committed(step, request.cards)
            return
        step.awaiting = "commit"
        number = state.next_call()
        key = f"{state.config.seed}.{state.head.version}.{step.number}.{step.n}"
        call = CommitCall(number, key, state.head.version, request.candidate, request.cards)
        step.commit = call
        state.out.append(Run(call))

    def committed(self, value: Committed | HeadMoved) -> None:
        """
        The ledger answered.
        """
        state = self.state
        sweep = self.open
        assert sweep is not None
        step = sweep.step
        assert step is not None
        call = step.commit
        assert call is not None
        step.commit = None
        if isinstance(value, HeadMoved):
            self._lost(value.head)
            return
        self._races = 0
        cards = tuple(sweep.survivors[n] for n in call.cards)
        state.adopt(Snapshot(value.version, call.artifact), cards)
        self._committed(step, call.cards)

    def _committed(self, step: OpenStep, cards: tuple[int, ...]) -> None:
        sweep = self.open
        assert sweep is not None
        for number in cards:
            self._decide(number, "committed")
        sweep.committed += len(cards)
        if step.memory is not KEEP:
            self.state.memory = step.memory
        step.memory = KEEP
        if self.state.phase == "halting":
            self._abort("given-up")
        else:
            self._answer(self.state.head)

    def _lost(self, head: Snapshot) -> None:
        state = self.state
        state.tally.commit_races += 1
        self._races += 1
        state.adopt(head, None)
        self._retried = False
        if self._races >= MAX_RACES:
            self._races = 0
            self._discard_rest("conflict")
        self.again = True
        self._abort("lost")

    def commit_failed(self, fault: Fault) -> None:
        """
        The ledger raised: nothing was committed, and the run can't go on.
        """
        assert self.step is not None
        self.step.commit = None
        self._abort("error")
        self.state.fault(fault)
        self.state.stop("error", fault)

    def _decide(
        self, number: int, kind: Literal["committed", "discarded"], reason: str = ""
    ) -> None:
        sweep = self.open
        assert sweep is not None
        del sweep.survivors[number]
        if sweep.step is not None:
            sweep.step.carried.discard(number)
        self.state.decide(number, kind, reason)

    def _answer(self, value: Any) -> None:
        step = self.step
        assert step is not None
        step.awaiting = "plugin"
        self.state.out.append(Resume(step.number, step.n, value))

    def returned(self, memory: Json) -> None:
        """
        The step ended by itself.
        """
        sweep = self.open
        assert sweep is not None
        step = sweep.step
        assert step is not None
        self._retried = False
        self.state.plugin_worked(_STEP)
        if memory is not None:
            self.state.memory = memory
        if not step.asked:
            self._give_back()
            self._finish("returned")
            return
        carried: set[int] = set() if sweep.quiet else step.carried
        for number in sorted(sweep.survivors):
            if number not in carried:
                self._decide(
                    number, "discarded", "uncertain" if number in step.carried else "worse"
                )
        self._carry(sorted(carried))
        kept: SweepOutcome = "carried" if carried else "below-threshold"
        self._finish("committed" if sweep.committed else kept)

    def _carry(self, numbers: list[int]) -> None:
        state = self.state
        state.buffer.carry(numbers)
        for number in state.backpressure.overflow(state.buffer.carried):
            state.decide(number, "discarded", "uncertain")

    def _give_back(self) -> None:
        sweep = self.open
        assert sweep is not None
        self.state.buffer.give_back([*sweep.survivors, *sweep.verifying])
        self._returned_at = self.state.tally.cards

    def raised(self, fault: Fault) -> None:
        """
        The step raised or broke its contract: its cards are tried once more, then let go.
        """
        if not self._retried:
            self._retried = True
            self.state.fault(fault)
            self.again = True
            self._abort("error")
            return
        self._retried = False
        self._discard_rest("plugin_error")
        self._abort("error")
        self.state.plugin_fault(fault, _STEP)

    def _discard_rest(self, reason: str) -> None:
        assert self.open is not None
        for number in sorted(self.open.survivors):
            self._decide(number, "discarded", reason)

    def _close_step(self) -> None:
        step = self.step
        assert step is not None
        self.state.forget(("step", step.number))
        self.state.out.append(Abort(step.number))

    def _abort(self, outcome: SweepOutcome) -> None:
        self._close_step()
        self._give_back()
        committed = self.open is not None and self.open.committed
        self._finish("committed" if committed else outcome)

    def give_up(self) -> None:
        """
        Close the sweep now; a commit that is on its way stays until the ledger has answered.
        """
        sweep = self.open
        if sweep is None:
            return
        for number in sweep.verifying:
            self.state.forget(("verify", number))
        step = sweep.step
        if step is not None and step.commit is not None:
            return
        if step is not None:
            self._abort("given-up")
        else:
            self._give_back()
            self._finish("given-up")

    def _finish(self, outcome: SweepOutcome) -> None:
        sweep = self.open
        assert sweep is not None
        state = self.state
        self.open = None
        state.tally.sweeps[outcome] += 1
        self.barren = 0 if sweep.committed else self.barren + 1
        if state.backpressure.swept(committed=sweep.committed, stale=sweep.stale):
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
