"""
An observer that notes when what happened.
"""

from __future__ import annotations

from itertools import pairwise

from headway.contracts import CardDecided, HeadCommitted, TicketEnded


class Watch:
    """
    Seconds since the run began, of every decided card, commit and finished rollout.
    """

    def __init__(self):
        self.decided, self.commits, self.rollouts = [], [], []

    def __call__(self, notice):
        if isinstance(notice, CardDecided):
            if notice.decision.kind != "settled":
                self.decided.append(notice.now)
        elif isinstance(notice, HeadCommitted):
            self.commits.append(notice.now)
        elif isinstance(notice, TicketEnded) and notice.completion == "ok":
            self.rollouts.append(notice.now)


def rate(times, begin, end, burst):
    """
    Events a second in the steady state between two moments.

    Cards are decided in bursts, one a measurement, so the count runs from one burst to another
    instead of cutting through one: the first burst opens the clock and is not counted.

    Args:
        times: When the events were.
        begin: Where the steady state begins.
        end: Where it ends.
        burst: Events closer to the first than this belong to its burst.
    """
    inside = [moment for moment in sorted(times) if begin <= moment <= end]
    if not inside or inside[-1] <= inside[0] + burst:
        return 0.0
    counted = [moment for moment in inside if moment > inside[0] + burst]
    return len(counted) / (counted[-1] - inside[0])


def longest_gap(times):
    """
    The longest time without an event, from the start to the last event.
    """
    moments = [0.0, *sorted(times)]
    return max((b - a for a, b in pairwise(moments)), default=0.0)
