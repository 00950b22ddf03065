"""
How numbers and tables are written on the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headway_es.campaign._statistics import Difference

FEW = 10
"""With fewer pairs the bootstrap's interval is too narrow to judge by."""

LEAST = 3
"""With fewer pairs there is no interval, and no test."""


def interval(found: Difference, digits: int = 1) -> str:
    """
    A mean difference, with its interval where there are pairs enough for one.
    """
    if found.count < LEAST:
        return f"{found.mean:+.{digits}f}"
    return f"{found.mean:+.{digits}f} [{found.low:+.{digits}f}, {found.high:+.{digits}f}]"


def p_value(value: float) -> str:
    """
    A p.
    """
    return "<0.001" if value < 0.001 else f"{value:.3f}"  # noqa: PLR2004 - three digits are shown


def markdown(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """
    A table, the first row being its head, and an empty line.
    """
    head, *body = rows
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in body:
        yield f"| {' | '.join(row)} |"
    yield ""
