"""
What is outstanding, in numbers.
"""

from __future__ import annotations

from typing import Literal

import attrs


@attrs.frozen(kw_only=True)
class Standing:
    """
    What is outstanding, and what the next step waits for.

    Args:
        admitted: Groups admitted so far.
        trained: Groups trained so far.
        dropped: Groups dropped so far.
        outstanding: Groups admitted and neither trained nor dropped.
        ready: Those of them that are complete and wait.
        in_training: Those of them that the open step has.
        slack: The fewest places to spare before a deadline; below 0, a group will be too old.
        blocking: The number of the oldest group that is not complete, when something is waited for.
        blocking_age: How many versions ago it was admitted; None without such a group.
        waits_for: ``"bound"``: enough groups are ready, and an older one must come first.
            ``"groups"``: too few are ready.  ``"nothing"``: a step may begin, or is under way.
    """

    admitted: int
    trained: int
    dropped: int
    outstanding: int
    ready: int
    in_training: int
    slack: int
    blocking: int | None
    blocking_age: int | None
    waits_for: Literal["bound", "groups", "nothing"]
