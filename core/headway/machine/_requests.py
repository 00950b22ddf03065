"""
Requests: what an open step asks for, and what becomes of its cards when it ends.

Guarantee: one commit at a time is on its way.  A step that wants to commit, or to end with another
memory, while another's commit is on its way waits its turn; the ledger's answer closes it: the head
moves, or the ledger failed and all cards wait again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from headway.contracts import (
    KEEP,
    Carry,
    Commit,
    Committed,
    Compare,
    Consume,
    Fault,
    Gather,
    HeadMoved,
    Json,
    Measure,
    MeasureAll,
    Promote,
    Request,
    Snapshot,
    SweepOutcome,
    Train,
    Usage,
)
from headway.contracts._memories import memory_text
from headway.machine._calls import CommitCall, PromoteCall, TrainCall
from headway.machine._instructions import Run
from headway.machine._measuring import FINAL_DRAW, Requester
from headway.machine._messages import commit_message
from headway.machine._open import OpenStep, OpenSweep
from headway.machine._state import State
from headway.machine._sweeps import Sweeps

_STEP = "aggregator's step"

MAX_REQUESTS = 10_000
"""Requests that one step may make; one that goes on asking would never end."""

MAX_RACES = 16
"""Commits lost in a row after which a step's cards are ``discarded(conflict)``."""


@attrs.define(eq=False)
class Requests:
    """
    Carries out what steps ask for.
    """

    state: State
    sweeps: Sweeps
    _races: int = attrs.field(default=0, init=False)
    _tasks: frozenset[str] = attrs.field(init=False)
    """The ids of the tasks that a step may measure on."""

    def __attrs_post_init__(self) -> None:
        config = self.state.config
        self._tasks = frozenset((*config.train, *config.held_out, *config.oracle))

    def yielded(self, sweep: OpenSweep, request: Request) -> None:
        """
        A step asked for something.
        """
        step = sweep.step
        step.n += 1
        problem = _PROBLEMS[type(request)](self, sweep, request)
        if step.n > MAX_REQUESTS:
            problem = f"a step made more than {MAX_REQUESTS} requests"
        if problem is not None:
            fault = Fault(where="aggregator", type="ContractError", message=problem)
            self.raised(sweep, fault)
            return
        step.asked = True
        _DO[type(request)](self, sweep, request)

    def _train(self, sweep: OpenSweep, request: Train) -> None:
        sweep.step.awaiting = "train"
        self.state.training.wishes[sweep.step.number] = request

    def _consume(self, sweep: OpenSweep, request: Consume) -> None:
        for number in request.cards:
            self.sweeps.decide(sweep, number, "discarded", request.reason)
        self.sweeps.answer(sweep.step, None)

    def _gather(self, sweep: OpenSweep, request: Gather) -> None:
        del request
        sweep.step.awaiting = "gather"

    def _keep(self, sweep: OpenSweep, request: Carry) -> None:
        sweep.step.carried.update(request.cards)
        self.sweeps.answer(sweep.step, None)

    def _problem_of_promotion(self, sweep: OpenSweep, request: Promote) -> str | None:
        del sweep
        made = self.state.head.version
        late = request.version > made
        return f"Promote names version {request.version}; there are {made}" if late else None

    def _problem_of_gathering(self, sweep: OpenSweep, request: Gather) -> str | None:
        del sweep, request
        outcomes = self.state.reservations is not None
        return None if outcomes else 'Gather is of no use here: declare learns_from = "outcomes"'

    def _problem_of_cards(
        self, sweep: OpenSweep, request: Commit | Consume | Carry | Train
    ) -> str | None:
        reservations, kind = self.state.reservations, type(request).__name__
        strange_cards = [n for n in request.cards if n not in sweep.survivors]
        if strange_cards or len(set(request.cards)) < len(request.cards):
            return f"{kind} names cards that the step does not hold: {list(request.cards)}"
        if reservations is None:
            return None
        if isinstance(request, Commit):
            most = reservations.updates_per_step
            moves = request.candidate != self.state.head.artifact
            if moves and sweep.step.moves >= most:
                return f"a step moved the head more than {most} times; declare updates_per_step"
        if isinstance(request, Carry):
            return "groups can't be carried over: commit or consume them"
        if not isinstance(request, Train) and not reservations.full and not sweep.used:
            return f"{kind} before the batch is complete: yield Gather() until it gives ()"
        return None

    def _problem_of_measure(self, sweep: OpenSweep, request: Measure | Compare) -> str | None:
        del sweep
        tasks, known = request.tasks, self._tasks
        if not tasks or not request.candidates or not known.issuperset(tasks):
            kind, strange = type(request).__name__, [task for task in tasks if task not in known]
            return f"{kind} names no task or candidate, or the unknown task {strange[:1]}"
        if isinstance(request, Compare):
            return None
        last = request.first + request.draws
        return None if last <= FINAL_DRAW else f"Measure asks for draw {last}, above {FINAL_DRAW}"

    def _problem_of_measures(self, sweep: OpenSweep, request: MeasureAll) -> str | None:
        if not request.measures:
            return "MeasureAll holds no Measure"
        problems = (self._problem_of_measure(sweep, measure) for measure in request.measures)
        return next((problem for problem in problems if problem is not None), None)

    def _promote(self, sweep: OpenSweep, request: Promote) -> None:
        state = self.state
        call = PromoteCall(state.next_call(), request.version)
        state.promotions[call.id] = call
        state.out.append(Run(call))
        self.sweeps.answer(sweep.step, None)

    def _measure(self, sweep: OpenSweep, request: Measure | MeasureAll) -> None:
        step = sweep.step
        step.awaiting = "measure"
        requester = ("step", step.number)
        step.several = isinstance(request, MeasureAll)
        measures = request.measures if isinstance(request, MeasureAll) else (request,)
        if self.state.measuring.want(requester, *measures):
            self._goes_on(requester)

    def _compare(self, sweep: OpenSweep, request: Compare) -> None:
        step = sweep.step
        step.awaiting = "measure"
        requester = ("step", step.number)
        measure = Measure((request.reference, *request.candidates), request.tasks)
        state = self.state
        if state.measuring.compare(requester, measure, state.config.reward_range):
            self._goes_on(requester)

    def _goes_on(self, requester: Requester) -> None:
        """
        What a step asked for is known already, so it goes on and nothing has changed.
        """
        self.sweeps.measured(requester)
        self.state.still = True

    def _commit(self, sweep: OpenSweep, request: Commit) -> None:
        state, step = self.state, sweep.step
        if self.sweeps.committing is not None:
            # Whatever the ledger answers, this step is closed by it, with all that are open.
            step.awaiting = "turn"
            return
        step.memory, step.keys = request.memory, request.keys
        if request.candidate == state.head.artifact:
            self._committed(sweep, request.cards)
            return
        step.awaiting = "commit"
        number = state.next_call()
        key = f"{state.config.run or state.config.seed}.{state.head.version}.{step.number}.{step.n}"
        call = CommitCall(
            id=number,
            key=key,
            expected=state.head.version,
            artifact=request.candidate,
            cards=request.cards,
            message=self._message(sweep, request),
        )
        step.commit = call
        state.tally.ledger_seconds -= state.now
        state.out.append(Run(call))

    def trained(self, call: TrainCall, value: Json, usage: Usage) -> None:
        """
        A training worked.
        """
        self.state.trained(usage)
        sweep = self.sweeps.of_step(call.step)
        assert sweep is not None
        sweep.step.trained = True
        self.sweeps.answer(sweep.step, value)

    def train_failed(
        self, call: TrainCall, fault: Fault, usage: Usage, retry_after: float | None
    ) -> None:
        """
        A training failed: its step's cards wait again; when it failed too often, the run can't go on.
        """
        state = self.state
        state.trained(usage)
        state.training.failed(state.now, retry_after)
        state.fault(fault)
        sweep = self.sweeps.of_step(call.step)
        assert sweep is not None
        self.sweeps.close(sweep, "error")
        self.sweeps.again = True
        if state.training.errors >= state.config.max_train_errors:
            state.stop("error", fault)

    def _got_through(self, step: OpenStep) -> None:
        """
        A step committed or ended: if it trained, trainings that failed are no longer in a row.
        """
        if step.trained:
            self.state.training.errors = 0

    def _message(self, sweep: OpenSweep, request: Commit) -> str:
        measuring, held_out = self.state.measuring, self.state.config.held_out
        cards = [sweep.survivors[number] for number in request.cards]
        return commit_message(
            cards,
            keys=request.keys,
            reward=measuring.mean(request.candidate, held_out),
            before=measuring.mean(self.state.head.artifact, held_out),
        )

    def committed(self, value: Committed | HeadMoved) -> None:
        """
        The ledger answered.
        """
        state, sweep = self.state, self.sweeps.committing
        assert sweep is not None
        call = sweep.step.commit
        assert call is not None
        sweep.step.commit = None
        state.tally.ledger_seconds += state.now
        if isinstance(value, HeadMoved):
            self._lost(sweep, value.head)
            return
        self._races = 0
        cards = tuple(sweep.survivors[n] for n in call.cards)
        state.adopt(Snapshot(value.version, call.artifact), cards, sweep.step.keys)
        sweep.moved = True
        self.sweeps.close_others(sweep)
        sweep.head = value.version
        self._committed(sweep, call.cards)
        sweep.step.moves += 1

    def _committed(self, sweep: OpenSweep, cards: tuple[int, ...]) -> None:
        step = sweep.step
        self._got_through(step)
        reservations = self.state.reservations
        later = 0 if reservations is None else step.moves  # its cards were judged before these
        for number in cards:
            sweep.used[number] = eta = sweep.survivors[number].eta + later
            self.sweeps.decide(sweep, number, "committed", eta=eta if later else None)
        sweep.committed += len(cards)
        if step.left is None and reservations is not None and not reservations.open:
            step.left = self.state.read_groups()  # from now on others may be reserved
        if step.memory is not KEEP:
            self._remember(sweep, step.memory)
        step.memory = KEEP
        if self.state.phase == "halting":
            self.sweeps.close(sweep, "given-up")
        else:
            self.sweeps.answer(step, self.state.head)

    def _lost(self, sweep: OpenSweep, head: Snapshot) -> None:
        state = self.state
        state.tally.commit_races += 1
        self._races += 1
        state.adopt(head, None)
        if self._races >= MAX_RACES:
            self._races = 0
            self.sweeps.discard_rest(sweep, "conflict")
        self.sweeps.close_others(sweep)
        self.sweeps.close(sweep, "cas-conflict")
        self.sweeps.again = True

    def commit_failed(self, fault: Fault) -> None:
        """
        The ledger raised: nothing was committed.  The cards wait again; when it raises once more, the
        run can't go on.
        """
        sweep = self.sweeps.committing
        assert sweep is not None
        sweep.step.commit = None
        self.state.tally.ledger_seconds += self.state.now
        self.sweeps.close_others(sweep)
        self.sweeps.close(sweep, "error")
        self.sweeps.again = True
        self.state.plugin_fault(fault, "commit")

    def _changes(self, memory: Json) -> bool:
        # Not ==, to which 1, 1.0 and True are the same.
        return memory_text(memory) != memory_text(self.state.memory)

    def _remember(self, sweep: OpenSweep, memory: Json) -> None:
        if len(self.sweeps.open) > 1 and self._changes(memory):
            self.sweeps.close_others(sweep)
        self.state.memory = memory

    def returned(self, sweep: OpenSweep, memory: Json) -> None:
        """
        A step ended by itself.
        """
        step = sweep.step
        if memory is not None and self.sweeps.committing is not None and self._changes(memory):
            step.awaiting = "turn"  # as a second commit would, and with the same end
            return
        self.state.plugin_worked(_STEP)
        self._got_through(step)
        if memory is not None:
            self._remember(sweep, memory)
        if not step.asked:
            self.state.buffer.give_back(sweep.cards)
            self.sweeps.returned_at = sweep.made
            self.sweeps.finish(sweep, "returned")
            return
        carried: set[int] = set() if sweep.quiet else step.carried
        for number in sorted(sweep.survivors):
            if number not in carried:
                reason = "uncertain" if number in step.carried else "worse"
                self.sweeps.decide(sweep, number, "discarded", reason)
        self._carry(sorted(carried))
        kept: SweepOutcome = "carried" if carried else "below-threshold"
        self.sweeps.finish(sweep, "committed" if sweep.has_committed else kept)

    def _carry(self, numbers: list[int]) -> None:
        state = self.state
        state.buffer.carry(numbers)
        carried = state.buffer.carried
        if not carried:
            return
        # What other steps hold is let go last, which is never: it was within the limit before.
        leased = {card.number for card in state.buffer.leased}
        order = sorted(carried, key=lambda number: (number in leased, number))
        for number in state.backpressure.overflow(order):
            state.decide(number, "discarded", "uncertain")

    def raised(self, sweep: OpenSweep, fault: Fault) -> None:
        """
        A step raised or broke its contract: its cards are tried once more, then let go.
        """
        if not sweep.retry:
            self.state.fault(fault)
            self.sweeps.close(sweep, "error")
            self.sweeps.retry = True
            # A step that was told to decide is told so again; else the two could take turns for ever.
            self.sweeps.again = not sweep.quiet
            return
        self.sweeps.discard_rest(sweep, "plugin_error")
        self.sweeps.close(sweep, "error")
        self.state.plugin_fault(fault, _STEP)


_DO: dict[type, Callable[[Requests, OpenSweep, Any], None]] = {
    Measure: Requests._measure,
    MeasureAll: Requests._measure,
    Compare: Requests._compare,
    Train: Requests._train,
    Commit: Requests._commit,
    Promote: Requests._promote,
    Consume: Requests._consume,
    Carry: Requests._keep,
    Gather: Requests._gather,
}
"""How each kind of request is carried out."""

_PROBLEMS: dict[type, Callable[[Requests, OpenSweep, Any], str | None]] = {
    Measure: Requests._problem_of_measure,
    MeasureAll: Requests._problem_of_measures,
    Compare: Requests._problem_of_measure,
    Train: Requests._problem_of_cards,
    Commit: Requests._problem_of_cards,
    Promote: Requests._problem_of_promotion,
    Consume: Requests._problem_of_cards,
    Carry: Requests._problem_of_cards,
    Gather: Requests._problem_of_gathering,
}
"""What is asked of each kind, and says what is wrong with it."""
