"""
How a run ends: what is in flight is let go, what is undecided is settled, the last scores are taken.
"""

from __future__ import annotations

import attrs

from headway.contracts import CompletionKind, Fault, RunFinished
from headway.machine._config import STOPS_UNSCORED
from headway.machine._instructions import Finish, Notify
from headway.machine._requests import Requests
from headway.machine._scoring import Scoring
from headway.machine._state import State
from headway.machine._sweeps import Sweeps
from headway.machine._tickets import Tickets

_GIVEN_UP: dict[str, CompletionKind] = {"max_seconds": "abandoned", "interrupted": "abandoned"}
"""How tickets end that a halting stop finds in flight; ``cancelled`` for the other reasons."""


@attrs.define(eq=False)
class Ending:
    """
    Brings a run that has been stopped to its end.
    """

    state: State
    tickets: Tickets
    sweeps: Sweeps
    requests: Requests
    scoring: Scoring

    def give_up(self) -> None:
        """
        Let go of all that is in flight, but for a commit on its way.
        """
        state = self.state
        completion = _GIVEN_UP.get(state.halted_by or "", "cancelled")
        for call in list(state.slots.running):
            state.abandon(call)
        self._leave_promotions()
        self.tickets.give_up(completion)
        self.sweeps.give_up()
        self.scoring.settle_baseline()
        state.measuring.abandon()
        self.scoring.forgo()

    def halt(self) -> bool:
        """
        Go on in a run that gives up what is in flight; False while a commit is waited for.
        """
        self.give_up()
        if self.sweeps.committing is not None:
            if not self.scoring.overtime():
                return False
            self.requests.commit_failed(
                Fault(where="commit", type="Timeout", message="no answer within shutdown_grace")
            )
        self.settle()
        return True

    def settle(self) -> None:
        """
        Settle what is undecided, and go on to the final scores.
        """
        state = self.state
        for number in state.buffer.held:
            state.decide(number, "settled", state.stop_reason or "")
        state.phase = "scoring"
        if state.halted_by not in STOPS_UNSCORED:
            self.scoring.finish()

    def _leave_promotions(self) -> None:
        """
        Wait for no promotion any more; the ledger may still make it.
        """
        self.state.promotions.clear()

    def finish(self) -> None:
        """
        End the run.
        """
        state = self.state
        for call in list(state.slots.running):
            state.abandon(call)
        self._leave_promotions()
        state.phase = "finished"
        reason = state.stop_reason or ""
        notice = RunFinished(
            now=state.now,
            stop_reason=reason,
            version=state.head.version,
            digest=state.digest.hexdigest(),
        )
        state.out += [Notify(notice), Finish(reason)]
