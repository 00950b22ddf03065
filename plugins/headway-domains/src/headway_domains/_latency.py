"""
What domains have in common that can simulate a slow backend.
"""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Mapping
from typing import Self

import attrs

from headway.contracts import Domain
from headway.durations import Constant, Law
from headway_domains._options import law_of


@attrs.define(eq=False, kw_only=True)
class SlowDomain(Domain):
    """
    A domain whose rollouts, proposals and measurements each take a while, when that is asked for.

    Each of the three ends with ``wait``, so that the same ticket gives the same answer with and
    without waiting.

    Args:
        latency: How long each takes: a law as ``headway.durations.parse_law`` reads it, in seconds.
    """

    latency: Law = attrs.field(default=Constant(0.0), converter=law_of)
    waits: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.waits = self.latency.mean > 0

    def durations(self) -> Mapping[str, object]:
        """
        The latency law for each kind of work; nothing when there is no latency.
        """
        if self.latency.mean == 0:
            return {}
        return dict.fromkeys(("rollout", "propose", "measure"), self.latency)

    def virtual(self) -> Self:
        """
        A twin that gives the same answers and never sleeps.
        """
        twin = copy.copy(self)
        twin.waits = False
        return twin

    def wait(self, rng: random.Random | None) -> None:
        """
        Sleep as long as the latency law says.

        Args:
            rng: The call's random numbers; the last one is drawn here.  Without them there is no
                wait.
        """
        if self.waits and rng is not None:
            time.sleep(self.latency.draw(rng.random()))
