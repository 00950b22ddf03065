"""
Questions to a curve: a reward that holds until the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from headway.comparing._trial import Axis, Curve


def held_at(curve: Curve, axis: Axis, places: Iterable[float]) -> list[float | None]:
    """
    The reward that holds at each place, in ascending order; None before the first point.
    """
    found: list[float | None] = []
    n, held = 0, None
    for place in places:
        while n < len(curve) and curve[n].at(axis) <= place:
            held = curve[n].reward
            n += 1
        found.append(held)
    return found


def mean_reward(curve: Curve, axis: Axis, until: float) -> float | None:
    """
    The area under the curve from 0 to ``until``, divided by that length.

    The last reward holds until there, since what a run leaves behind does.

    Args:
        curve: The curve.
        axis: What it is drawn over.
        until: Where the area ends, above 0.

    Returns:
        None when the curve does not begin at 0.
    """
    if not curve or curve[0].at(axis) > 0:
        return None
    places = [*(min(point.at(axis), until) for point in curve), until]
    areas = ((b - a) * point.reward for (a, b), point in zip(pairwise(places), curve, strict=True))
    return sum(areas) / until


def reached_at(curve: Curve, axis: Axis, target: float) -> float:
    """
    Where the reward is at the target for the first time; infinity when it never is.
    """
    places: Sequence[float] = [point.at(axis) for point in curve if point.reward >= target]
    return places[0] if places else float("inf")
