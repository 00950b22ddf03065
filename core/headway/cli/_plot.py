"""
A curve as a small plot made of characters.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " ._-=+*%#"
_EIGHTHS = 8


def plot(
    points: Iterable[tuple[float, float | None]],
    *,
    width: int = 60,
    height: int = 10,
    ascii_only: bool = False,
) -> str:
    """
    Draw a value that holds until the next one, over a growing x.

    >>> print(plot([(0, 0.0), (1, 0.5), (2, 1.0)], width=3, height=2, ascii_only=True))
    1.000 | .#
    0.000 |.##
           0 2

    Args:
        points: ``(x, y)`` with x in ascending order; one whose y is None is left out.
        width: Columns of the plot itself.
        height: Its lines.
        ascii_only: Whether to keep to ASCII characters.

    Returns:
        The lines without a line break at the end; ``""`` when there is nothing to draw.
    """
    known = [(x, y) for x, y in points if y is not None]
    if not known:
        return ""
    low, high = min(y for _, y in known), max(y for _, y in known)
    levels = _levels(_columns(known, width), low, high, height * _EIGHTHS)
    glyphs = _ASCII if ascii_only else _BLOCKS
    labels = [f"{low:.3f}"] if low == high else [f"{high:.3f}", f"{low:.3f}"]
    margin = max(map(len, labels))
    rows = [_row(levels, row, glyphs) for row in reversed(range(height))]
    sides = [labels[0], *[""] * (height - 2), labels[-1]] if low < high else [""] * height
    if low == high:
        sides[height // 2] = labels[0]
    lines = [f"{side:>{margin}} |{row}".rstrip() for side, row in zip(sides, rows, strict=True)]
    return "\n".join([*lines, _axis(known, margin, width)])


def _columns(points: Sequence[tuple[float, float]], width: int) -> list[float]:
    """
    The value that holds at the right edge of each column.
    """
    xs = [x for x, _ in points]
    first, span = xs[0], xs[-1] - xs[0]
    edges = (first + span * column / max(1, width - 1) for column in range(width))
    return [points[max(0, bisect_right(xs, edge) - 1)][1] for edge in edges]


def _levels(values: Iterable[float], low: float, high: float, most: int) -> list[int]:
    if low == high:
        return [most // 2 for _ in values]
    return [1 + round((value - low) / (high - low) * (most - 1)) for value in values]


def _row(levels: Iterable[int], row: int, glyphs: str) -> str:
    return "".join(glyphs[min(max(level - row * _EIGHTHS, 0), _EIGHTHS)] for level in levels)


def _axis(points: Sequence[tuple[float, float]], margin: int, width: int) -> str:
    first, last = f"{points[0][0]:g}", f"{points[-1][0]:g}"
    gap = max(1, width - len(first) - len(last))
    return f"{'':{margin}}  {first}{'':{gap}}{last}"
