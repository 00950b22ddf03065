"""
What follows in a run that searches, one thing at a time.

Endings are applied and groups reserved; then it is looked whether the search is over, whether a sweep
may begin, a step open or get what it waits for; then free slots are filled.  When nothing runs and
nothing can start, what is left is taken, or the run has stalled.
"""

from __future__ import annotations

import attrs

from headway.contracts import Fault
from headway.machine._ending import Ending
from headway.machine._filling import Filling
from headway.machine._scoring import Scoring
from headway.machine._state import State
from headway.machine._sweeps import Sweeps
from headway.machine._tickets import Tickets


@attrs.define(eq=False)
class Searching:
    """
    Takes a run further that searches, or that drains after a stop.
    """

    state: State
    tickets: Tickets
    sweeps: Sweeps
    scoring: Scoring
    filling: Filling
    ending: Ending

    def go_on(self) -> bool:
        """
        Let the next thing follow; True when something changed that is to be looked at first.
        """
        sweeps = self.sweeps
        self.tickets.apply_ended(sweeping=bool(sweeps.open))
        return (
            self.tickets.admission.look_after()
            or self.state.phase == "halting"
            or self._look_after()
            or self._sweep()
            or sweeps.open_step()
            or self._gather()
            or self._race()
            or self.filling.fill()
            or self._rest()
        )

    def _sweep(self, *, quiet: bool = False) -> bool:
        sweeps = self.sweeps
        if not self.state.buffer.leasable:
            sweeps.again = False
            return False
        reservations = self.state.reservations
        if reservations is not None and self.state.running and not reservations.ripe:
            return False
        if not sweeps.room or (sweeps.open and self.scoring.target_reached):
            return False
        view = self.tickets.view(sweeping=bool(sweeps.open), quiet=quiet)
        # Cards that are to be judged anew need no leave, but groups: the bound may not hold now.
        if not self.state.gate.take(view) and (reservations is not None or not sweeps.again):
            return False
        last = quiet or (view.draining and view.in_flight == 0 and not view.sweeping)
        if not (last or sweeps.worth_while):
            return False
        self.tickets.finished = 0
        sweeps.begin(quiet=last)
        return True

    def _gather(self, *, quiet: bool = False) -> bool:
        sweeps = self.sweeps
        return sweeps.gathering is not None and sweeps.gather(
            self.tickets.view(sweeping=True, quiet=quiet)
        )

    def _race(self) -> bool:
        """
        Start what the open steps wait for; when all of it runs, a further one may begin.
        """
        if not self.sweeps.open:
            return False
        return self.filling.start_needed() or self._sweep()

    def _look_after(self) -> bool:
        """
        Refresh workers, follow the head's reward, notice that the search is over.
        """
        state, sweeps = self.state, self.sweeps
        if sweeps.refresh:
            sweeps.refresh = False
            state.tally.forced_refreshes += self.tickets.workers.refresh(state.head)
        if not state.running:
            return False
        self.scoring.follow_head()
        if state.determinism == "contradicted":
            self.scoring.put_aside_more()
        config = state.config
        idle = not sweeps.open or sweeps.gathering is not None
        if idle and self.scoring.target_reached:
            state.stop("target_reward")
        elif config.patience is not None and sweeps.barren >= config.patience:
            state.stop("patience")
        elif self.tickets.admission.over and not sweeps.open:
            state.stop("max_iters")
        elif self._is_exhausted:
            state.stop("exhausted")
        return not state.running

    @property
    def _is_exhausted(self) -> bool:
        """
        Whether nothing is left to be found, nor has a head to be held against the target first, which
        may end the run for a better reason.
        """
        state, tickets = self.state, self.tickets
        if tickets.flights or not tickets.admission.exhausted:
            return False
        scores_may_come = state.slots.running or not state.may_pay or state.budget.affords(1)
        return not (self.scoring.following and scores_may_come)

    def _rest(self) -> bool:
        """
        When nothing runs and nothing can start: a last take, a stall, or the end of draining.
        """
        state, sweeps = self.state, self.sweeps
        open_yet = sweeps.open and sweeps.gathering is None
        if state.slots.running or open_yet or self.tickets.flights or state.promotions:
            return False
        if state.running and not state.may_pay:
            return False  # more can start, once the backend is called again
        if self._gather(quiet=True) or (len(state.buffer) and self._sweep(quiet=True)):
            return True
        if state.running:
            text = f"nothing runs and nothing can start{self.tickets.admission.blocking}"
            state.stop("stalled", Fault(where="gate", type="Stalled", message=text))
            return True
        if sweeps.open:
            sweeps.give_up()
            return True
        self.ending.settle()
        return True
