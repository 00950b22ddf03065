"""
What starts in a free slot.

A running ticket's next call takes over the slot of the call before it.  A slot that is free goes to
a rebase or a measurement that a step waits for first, then to a new rollout, last to the head's own
scores, and then to a second copy of a call that takes too long.  While the backend is left alone,
only rebases begin; it is tried by a rollout rather than by a measurement, since a candidate that
nobody has scored may itself be what fails.
"""

from __future__ import annotations

import attrs

from headway.machine._calls import MeasureCall
from headway.machine._measuring import Item
from headway.machine._scoring import Scoring
from headway.machine._state import State
from headway.machine._sweeps import Sweeps
from headway.machine._tickets import Tickets


@attrs.define(eq=False)
class Filling:
    """
    Fills the free slots.
    """

    state: State
    tickets: Tickets
    sweeps: Sweeps
    scoring: Scoring

    def fill(self) -> bool:
        """
        Fill the free slots; True when something changed that is to be looked at first.
        """
        if self._waits and self.start_needed():
            return True
        if self._start_rollouts() or self._start_background():
            return True
        stragglers = self.tickets.stragglers
        if stragglers.to_hedge:
            stragglers.start_copies(self.tickets.flights)
        return False

    @property
    def _waits(self) -> bool:
        """
        Whether anything but a new rollout may be what a free slot goes to first.
        """
        sweeps, state = self.sweeps, self.state
        return bool(
            sweeps.open
            or self.tickets.held_calls
            or state.measuring.queued
            or state.backoff.failing
        )

    def start_needed(self) -> bool:
        """
        Start what open steps wait for; True when a score that is waited for can't be afforded.
        """
        state = self.state
        self.sweeps.start_training()
        self.tickets.start_held()
        again = state.backoff.failing and state.backoff.proven and state.slots.free > 0
        if again and state.may_pay and self._start_rollouts():
            return True
        if not self.sweeps.open and not state.measuring.queued:
            return False  # as most of the time
        while state.slots.free > 0:
            rebase = self.sweeps.next_rebase()
            if rebase is not None:
                state.start(rebase)
                continue
            item = state.measuring.next()
            if item is None or not state.may_pay:
                return False
            if not self._start_measure(item):
                return self._unaffordable()
        return False

    def _start_rollouts(self) -> bool:
        state, tickets, scoring = self.state, self.tickets, self.scoring
        places, slots = tickets.workers.places, state.slots
        if not places or state.phase != "running":
            return False
        # Once the target is reached only open steps are waited for: rollouts would be given up.
        if scoring.target_reached or scoring.holds_back():
            return False
        sweeping = bool(self.sweeps.open)
        while places and len(slots.running) < slots.capacity and state.may_pay:
            if not tickets.admit(sweeping):
                break
        return state.phase != "running"

    def _start_background(self) -> bool:
        state = self.state
        while (item := state.measuring.next_background()) is not None and state.slots.free > 0:
            if not state.may_pay:
                return False
            if not self._start_measure(item):
                return self.scoring.holds_back() and self._unaffordable()
        return False

    def _start_measure(self, item: Item) -> bool:
        state = self.state
        if not self.scoring.pays(item) and not state.budget.reserve(1):
            return False
        call = MeasureCall(state.next_call(), item.artifact, item.key[1], item.key[2])
        state.measuring.started(item, call.id)
        self.scoring.began(call.id)
        state.start(call)
        if any(what == "verify" for what, _ in item.waiters):
            state.tally.reverify_began(call.id, state.now)
        return True

    def _unaffordable(self) -> bool:
        """
        There is no call left for a score that is waited for: once nothing runs, the run goes on
        without it.

        What runs may turn out to spend less tokens and cost than it holds, so that is waited for.
        """
        state = self.state
        lacking = state.budget.lacking(1)
        under_way = bool(self.tickets.flights or state.slots.running)
        if lacking == "max_calls" or not under_way:
            state.stop(lacking)
        if under_way or not self.sweeps.waiting:
            return False
        if state.phase == "scoring":
            self.scoring.forgo()
        else:
            state.halt(lacking)
        return True
