"""
When a step may take which groups: pure questions to a roster at a version of the head.

A group's *deadline* is the last version at which a step that trains it may begin.  A step at version
c passes ``updates`` versions, so ``later = (deadline - c) // updates`` batches of ``size`` groups can
begin after it in time.  The rule asks ``i <= later * size`` for the i-th oldest group that would
remain, which is the same question for all groups of one stamp: the youngest of them decides.
"""

from __future__ import annotations

from math import inf

import attrs

from headway.gate._roster import Roster


@attrs.frozen(kw_only=True)
class LookAhead:
    """
    The rule of one gate.

    Args:
        size: Groups in a batch.
        staleness: Versions from a group's stamp to its deadline.
        updates: The most versions that a step moves the head.
        deadlines: Whether deadlines are kept.
        window: How far a group's number may be above that of the oldest group that runs.
    """

    size: int
    staleness: int
    updates: int
    deadlines: bool
    window: float

    @property
    def ahead(self) -> int:
        """
        How many batches can begin in time after a group was admitted, beside the next one.
        """
        return self.staleness // self.updates

    def later(self, stamp: int, version: int) -> int:
        """
        How many batches can begin after one at ``version``, up to the deadline of this stamp; below
        0 when the deadline has passed.
        """
        return (stamp + self.staleness - version) // self.updates

    def waits_for(self, roster: Roster, version: int) -> float | None:
        """
        None when a step may take the oldest ready groups, of which there are enough for a batch; else
        a stamp: until a group of it or of an older one is complete or goes, no step may.
        """
        if not self._within(roster, roster.ready[self.size - 1]):
            return inf
        if not self.deadlines:
            return None
        rest, left = 0, self.size
        for stamp, cohort in roster.cohorts.items():
            gone = min(cohort.ready, left)
            left -= gone
            rest += cohort.running + cohort.ready - gone
            if rest > self.later(stamp, version) * self.size:
                return stamp
        return None

    def assignable(self, roster: Roster, version: int) -> bool:
        """
        Whether the oldest ready group can join a batch for good, beside those in training: filled up
        with the oldest others, ready or not, it leaves a place in time for each of the rest.
        """
        if not roster.ready or not self._within(roster, roster.ready[0]):
            return False
        if not self.deadlines:
            return True
        rest, left = 0, self.size - 1 - len(roster.training)
        own = roster.stamps[roster.ready[0]]
        for stamp, cohort in roster.cohorts.items():
            others = cohort.running + cohort.ready - (stamp == own)
            gone = min(others, left)
            left -= gone
            rest += others - gone
            if rest > self.later(stamp, version) * self.size:
                return False
        return True

    def _within(self, roster: Roster, group: int) -> bool:
        """
        Whether a ready group may overtake the oldest that runs.
        """
        return not roster.running or group < roster.running[0] + self.window

    def slack(self, roster: Roster, version: int) -> int:
        """
        The fewest places to spare before a deadline, for all that are outstanding.
        """
        least, index = (self.ahead + 1) * self.size, 0
        for stamp, cohort in roster.cohorts.items():
            index += cohort.running + cohort.ready + cohort.training
            least = min(least, (self.later(stamp, version) + 1) * self.size - index)
        return least

    def lost(self, roster: Roster, version: int) -> tuple[int, ...]:
        """
        The fewest groups without which the others have a place in time, oldest first; of one stamp,
        first those that run.
        """
        if not self.deadlines:
            return ()
        kept, lost = 0, list[int]()
        for stamp, cohort in roster.cohorts.items():
            kept += cohort.running + cohort.ready + cohort.training
            over = kept - max(0, self.later(stamp, version) + 1) * self.size
            if over > 0:
                lost += roster.of(stamp)[-over:]
                kept -= over
        return tuple(sorted(lost))
