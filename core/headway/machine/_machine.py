"""
The machine: events in, instructions out.

``handle`` is the only way to change it.  It checks the event first, and an illegal one raises
``IllegalEventError`` and changes nothing.  Then it lets calls that are past their deadline go,
applies the event by the table ``_applied_by``, and goes on as long as something follows: endings
are applied, a sweep begins, its step opens, free slots are filled, an ending run is brought to its
end.  The machine reads no clock, no thread, no disk and no global random number.

Phases: ``new`` until ``Started``; ``running``; ``draining`` after a stop on a work budget, when what
was paid for is still decided; ``halting`` after any other stop, when what is in flight is given up;
``scoring`` while the final scores are taken; ``finished``.

What a run that searches does next stands in ``_searching``, what a free slot goes to in ``_filling``,
what an answer leads to in ``_answers``, and how a run ends in ``_ending``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from types import MappingProxyType
from typing import Any, get_args

from headway.backpressure import Backpressure
from headway.contracts import Fault, Json, Request, Snapshot
from headway.errors import IllegalEventError, InvariantError
from headway.gate import Gate
from headway.machine._answers import Answers
from headway.machine._calls import ANSWERS, Call
from headway.machine._checkpoint import read, write
from headway.machine._config import STOPS_UNSCORED, MachineConfig
from headway.machine._counting import count
from headway.machine._ending import Ending
from headway.machine._events import (
    Done,
    Event,
    Failed,
    Raised,
    Resumed,
    Returned,
    Started,
    Stop,
    Tick,
    Yielded,
)
from headway.machine._filling import Filling
from headway.machine._instructions import Instruction
from headway.machine._lookups import Lookups
from headway.machine._open import OpenSweep
from headway.machine._requests import Requests
from headway.machine._scoring import Scoring
from headway.machine._searching import Searching
from headway.machine._state import State
from headway.machine._sweeps import Sweeps
from headway.machine._tally import Statistics
from headway.machine._tickets import Tickets
from headway.machine._validate import validate
from headway.merger import Merger

MOST_TRANSITIONS = 20_000
"""One event is never followed by this many transitions; a loop is a fault of Headway's own."""


class Machine:
    """
    One run, from ``Started`` to ``Finish``.

    Args:
        config: The machine's options.
        gate: The lag gate; it belongs to this machine from now on.
        alpha: The largest eta that the staleness policy tolerates.
        backpressure: Bounds what is stale or carried; it belongs to this machine from now on.
        lookups: The plug-ins' quick answers.
        names: The plug-ins' names, by where their faults are seen; a fault is told with its name.
    """

    def __init__(
        self,
        config: MachineConfig,
        *,
        gate: Gate,
        alpha: int,
        backpressure: Backpressure,
        lookups: Lookups,
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._state = State(
            config=config,
            gate=gate,
            merger=Merger(decide=lookups.decide, alpha=alpha),
            backpressure=backpressure,
            lookups=lookups,
            names=names,
        )
        self._tickets = Tickets(self._state)
        self._sweeps = Sweeps(self._state)
        self._requests = Requests(self._state, self._sweeps)
        self._scoring = Scoring(self._state)
        self._answers = Answers(
            self._state, self._tickets, self._sweeps, self._requests, self._scoring
        )
        self._ending = Ending(
            self._state, self._tickets, self._sweeps, self._requests, self._scoring
        )
        self._filling = Filling(self._state, self._tickets, self._sweeps, self._scoring)
        self._searching = Searching(
            self._state, self._tickets, self._sweeps, self._scoring, self._filling, self._ending
        )
        self._applied_by: dict[type, Callable[[Any], None]] = {
            Started: self._started,
            Done: self._answers.done,
            Failed: self._answers.failed,
            Yielded: self._yielded,
            Returned: self._returned,
            Raised: self._raised,
            Resumed: self._resumed,
            Tick: self._tick,
            Stop: self._stop,
        }
        """What each kind of event does; nothing else changes the machine."""
        self._alarms = self._alarms_of(config)
        self._wake_at: float | None = None

    # ------------------------------------------------------------------ what can be seen

    @property
    def config(self) -> MachineConfig:
        """
        The machine's options.
        """
        return self._state.config

    @property
    def head(self) -> Snapshot:
        """
        The published head.
        """
        return self._state.head

    @property
    def now(self) -> float:
        """
        Seconds since the run began, as far as the machine was told.
        """
        return self._state.now

    @property
    def memory(self) -> Json:
        """
        What the aggregator remembers.
        """
        return self._state.memory

    @property
    def stable(self) -> Snapshot | None:
        """
        The promoted head; None when it is not known.
        """
        return self._state.stable

    @property
    def phase(self) -> str:
        """
        Where in its life the run is.
        """
        return self._state.phase

    @property
    def stop_reason(self) -> str | None:
        """
        Why the run ends; None while it does not.
        """
        return self._state.stop_reason

    @property
    def halted_at(self) -> float | None:
        """
        Since when what is in flight is given up; None while it is waited for.
        """
        return None if self._state.halted_by is None else self._state.halted_at

    @property
    def error(self) -> Fault | None:
        """
        What ended the run, when its stop reason is ``error`` or ``stalled``.
        """
        return self._state.error

    @property
    def faults(self) -> tuple[tuple[Fault, int], ...]:
        """
        What went wrong and how often.
        """
        return self._state.tally.faults.items

    @property
    def scoring(self) -> Scoring:
        """
        The baseline, final and test scores.
        """
        return self._scoring

    @property
    def digest(self) -> str:
        """
        The digest of all decisions, versions and states so far.
        """
        return self._state.digest.hexdigest()

    @property
    def witness(self) -> str:
        """
        A short word on what all events so far have led to: a replay that says another has diverged.
        """
        return f"{self._state.calls}.{self._state.digest.hexdigest()[:12]}"

    @property
    def wake_at(self) -> float | None:
        """
        When a ``Tick`` is due at the latest: a deadline, a straggler, the end of a pause, of a
        round's or of the run's time; at once when a step was held back for a checkpoint.
        """
        return self._wake_at

    @property
    def paused_until(self) -> float | None:
        """
        Until when no paid call begins because the backend is left alone; infinite while one call
        tries it; None when calls may begin.
        """
        state = self._state
        if state.may_pay:
            return None
        return state.backoff.until if state.now < state.backoff.until else inf

    @property
    def held_tickets(self) -> int:
        """
        How many tickets wait for the backend before their next call.
        """
        return self._tickets.held

    @property
    def running_calls(self) -> tuple[Call, ...]:
        """
        The calls that occupy slots.
        """
        return tuple(self._state.slots.running.values())

    @property
    def in_flight(self) -> tuple[Call, ...]:
        """
        All calls whose answer is waited for, in the order in which they were made.
        """
        return self._answers.awaited

    @property
    def unwanted(self) -> frozenset[int]:
        """
        Those of them that were cancelled: whatever they give, nothing follows from it.
        """
        return self._answers.unwanted

    def statistics(self) -> Statistics:
        """
        A frozen count of everything.
        """
        return count(self._state, self._tickets, self._sweeps)

    def validate(self) -> None:
        """
        Assert every invariant.

        Raises:
            InvariantError: one is broken; the message says which.
        """
        validate(self._state, self._tickets, self._sweeps, self._scoring)

    # ------------------------------------------------------------------ checkpoints

    @property
    def can_checkpoint(self) -> bool:
        """
        Whether ``checkpoint`` may be called: the run has begun and no step is out.

        A step is a plug-in's generator, which can't be stored.
        """
        return self._state.phase != "new" and not self._sweeps.out

    def checkpoint(self) -> Json:
        """
        All that the machine remembers, as JSON whose dicts must keep the order of their keys.

        It shares nothing with the machine, so it may be written down at leisure.

        Raises:
            InvariantError: a step is out, or the run has not begun; see ``can_checkpoint``.
            TypeError: a domain's value is no JSON.
        """
        if not self.can_checkpoint:
            raise InvariantError("a checkpoint was asked for while a step is out")
        return write(self._parts)

    def restore(self, checkpoint: Json) -> None:
        """
        Go on where a machine stood that gave this checkpoint; only for a new machine that was built as
        that one was.  What comes from its options stays its own.

        Raises:
            CheckpointError: it can't be read; this machine is of no use then.
            InvariantError: this machine has begun already.
        """
        if self._state.phase != "new":
            raise InvariantError("a machine that has begun can't be restored")
        read(checkpoint, self._parts)
        self._wake_at = self._next_alarm()

    @property
    def _parts(self) -> tuple[object, ...]:
        return self._state, self._tickets, self._sweeps, self._requests, self._scoring

    # ------------------------------------------------------------------ the only mutator

    def handle(self, event: Event) -> list[Instruction]:
        """
        Take in one event and say what to do about it.

        Raises:
            IllegalEventError: the event can't happen now; nothing was changed.
        """
        self._check(event)
        state, now = self._state, event.now
        if state.phase == "finished":
            return []
        state.out = []
        if now > state.now:
            if state.phase == "running":
                self._tickets.waited(now - state.now)
            state.now = now
        lapsed = self._wake_at is not None and self._wake_at <= state.now
        if lapsed:
            self._lapse()
        state.still = False
        self._applied_by[type(event)](event)
        if lapsed or not state.still or self._filling.fill() or not state.slots.running:
            self._advance()
        if state.config.checkpoint_every is not None:
            self._sweeps.event_over()
        self._wake_at = self._next_alarm()
        return state.out

    def _check(self, event: Event) -> None:
        kind, phase = type(event), self._state.phase
        if kind not in self._applied_by:
            raise IllegalEventError(f"{event!r} is no event")
        if (kind is Started) != (phase == "new"):
            raise IllegalEventError(f"{kind.__name__} can't come while the run is {phase}")
        check = _CHECKS.get(kind)
        if check is not None:
            check(self, event)

    def _check_stop(self, event: Stop) -> None:
        if event.reason not in STOPS_UNSCORED:
            raise IllegalEventError(f"{event.reason!r} is no reason to stop from outside")

    def _check_failed(self, event: Done | Failed) -> None:
        if not 0 <= event.call < self._state.calls:
            raise IllegalEventError(f"call {event.call} was never made")

    def _check_done(self, event: Done) -> None:
        call = self._answers.outstanding(event.call)
        if call is None:
            self._check_failed(event)
        elif not isinstance(event.value, ANSWERS[call.kind]):
            raise IllegalEventError(f"{call.kind} call {call.id} can't give {event.value!r}")

    def _check_step(self, event: Yielded | Returned | Raised) -> None:
        if not 1 <= event.step <= self._sweeps.steps:
            raise IllegalEventError(f"step {event.step} was never begun")
        if isinstance(event, Yielded) and type(event.request) not in _REQUESTS:
            raise IllegalEventError(f"{event.request!r} is no request")
        sweep = self._sweeps.of_step(event.step)
        if sweep is None:
            return
        step = sweep.step
        if step.awaiting != "plugin" or event.n != step.n + 1:
            raise IllegalEventError(
                f"step {event.step} is at request {step.n} and the machine waits for its "
                f"{step.awaiting}; request {event.n} can't come"
            )

    # ------------------------------------------------------------------ one event each

    def _started(self, event: Started) -> None:
        state = self._state
        state.head, state.stable = event.head, event.stable
        state.phase = "running"
        state.digest.commit(event.head.version, event.head.digest)
        self._tickets.begin(event.head)
        self._scoring.begin()

    def _yielded(self, event: Yielded) -> None:
        if (sweep := self._speaker(event.step, event.took)) is not None:
            self._requests.yielded(sweep, event.request)

    def _returned(self, event: Returned) -> None:
        if (sweep := self._speaker(event.step, event.took)) is not None:
            self._requests.returned(sweep, event.memory)

    def _raised(self, event: Raised) -> None:
        if (sweep := self._speaker(event.step, event.took)) is not None:
            self._requests.raised(sweep, event.fault)

    def _speaker(self, step: int, took: float) -> OpenSweep | None:
        sweep = self._sweeps.of_step(step)
        self._state.tally.late += sweep is None
        self._state.tally.steps_seconds += took
        return sweep

    def _tick(self, event: Tick) -> None:
        del event

    def _stop(self, event: Stop) -> None:
        self._state.budget.charge(event.usage)
        self._state.stop(event.reason, event.fault)

    def _resumed(self, event: Resumed) -> None:
        del event
        self._state.tally.sessions += 1
        self._state.restart_calls()
        self._tickets.restart()

    # ------------------------------------------------------------------ time

    def _lapse(self) -> None:
        """
        Let go of what is past its time; before the event, so that no call follows from it.
        """
        state = self._state
        self._answers.let_overdue_go()
        self._tickets.end_round()
        self._tickets.mind_stragglers()
        self._tickets.admission.mind_waiting()
        if self._scoring.time_is_up():
            self._scoring.forgo()
            state.stop("max_seconds")
        if state.phase == "halting":
            self._ending.give_up()

    def _alarms_of(self, config: MachineConfig) -> tuple[Callable[[], float | None], ...]:
        """
        What may ask to be woken in a run with these options; what can't is not asked each time.
        """
        state, tickets = self._state, self._tickets
        timed = (config.rollout_timeout, config.eval_timeout) != (None, None)
        alarms = (
            (True, self._scoring.next_deadline),
            (timed, state.slots.next_deadline),
            (config.straggler != "count", tickets.next_straggler),
            (config.round_timeout is not None, tickets.round_ends),
            (state.reservations is not None, tickets.admission.next_alarm),
        )
        return tuple(alarm for may, alarm in alarms if may)

    def _next_alarm(self) -> float | None:
        state = self._state
        if state.config.checkpoint_every is not None and self._sweeps.held_back:
            return state.now
        soonest = state.backoff.until if state.backoff.until > state.now else inf
        for alarm in self._alarms:
            at = alarm()
            if at is not None and at < soonest:
                soonest = at
        if self._sweeps.open:
            at = state.training.next_alarm(state.now)
            if at is not None and at < soonest:
                soonest = at
        return soonest if soonest < inf else None

    # ------------------------------------------------------------------ what follows

    def _advance(self) -> None:
        state = self._state
        for _ in range(MOST_TRANSITIONS):
            if not _FOLLOWS[state.phase](self):
                return
        raise InvariantError(f"more than {MOST_TRANSITIONS} transitions follow one event")

    def _search(self) -> bool:
        return self._searching.go_on()

    def _score(self) -> bool:
        if self._state.halted_by in STOPS_UNSCORED:
            self._scoring.forgo()
        self._filling.fill()
        if self._scoring.over:
            self._ending.finish()
        return self._scoring.over

    def _halt(self) -> bool:
        return self._ending.halt()

    def _nothing(self) -> bool:
        return False


_REQUESTS = get_args(Request)

_FOLLOWS: dict[str, Callable[[Machine], bool]] = {
    "new": Machine._nothing,
    "running": Machine._search,
    "draining": Machine._search,
    "halting": Machine._halt,
    "scoring": Machine._score,
    "finished": Machine._nothing,
}
"""What follows in each phase, until nothing does."""

_CHECKS: dict[type, Callable[[Machine, Any], None]] = {
    Done: Machine._check_done,
    Failed: Machine._check_failed,
    Yielded: Machine._check_step,
    Returned: Machine._check_step,
    Raised: Machine._check_step,
    Stop: Machine._check_stop,
}
"""What is asked of an event of a kind, beside that it may come in this phase."""
