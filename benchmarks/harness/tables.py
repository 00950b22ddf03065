"""
Medians and tables.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path
from statistics import median

BAR = 20
"""Characters of a whole bar."""


def mid(results, value):
    """
    The median of a value, given by name or by function, over the repetitions.
    """
    return median(map(value if callable(value) else lambda result: result[value], results))


def bar(share):
    """
    A share of 1 as a bar of characters.
    """
    return ("#" * round(BAR * share)).ljust(BAR, ".")


def counts(numbers):
    """
    A mapping of counts in a line, the largest first.
    """
    ranked = sorted(numbers.items(), key=lambda entry: -entry[1])
    return " ".join(f"{name}={number}" for name, number in ranked) or "-"


def setting():
    """
    Where the figures come from, in a line.
    """
    load = os.getloadavg()[0]
    return (
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"{os.cpu_count()} cores, load {load:.1f} before"
    )


class Table:
    """
    A table that is printed row by row, since a row may take minutes.

    Args:
        columns: A format for each column, such as ``wall="7.2f"``; the name is its heading.
    """

    def __init__(self, **columns):
        self._columns = columns
        self.missed = []
        print(setting())
        print("  ".join(self._fit(name, name.replace("_", " ")) for name in columns))

    def row(self, *, missed=(), **values):
        """
        Print a row, and what its figures miss.
        """
        cells = [
            self._fit(name, "-" if values[name] is None else format(values[name], spec))
            for name, spec in self._columns.items()
        ]
        told = "  MISSED: " + ", ".join(missed) if missed else ""
        print("  ".join(cells).rstrip() + told, flush=True)
        self.missed += missed

    def _fit(self, name, text):
        spec = self._columns[name]
        digits = spec.rstrip("dfs").partition(".")[0]
        width = max(len(name), int(digits or 0))
        return text.ljust(width) if spec.endswith("s") else text.rjust(width)


def add_common(parser, repeat=3):
    """
    The options that all scripts have.
    """
    parser.add_argument("--repeat", type=int, default=repeat, help="repetitions; medians are shown")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a figure is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every single result")


def end(asked, table, results):
    """
    Write the results, and exit as ``--check`` asks.
    """
    if asked.json is not None:
        asked.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if table.missed:
        print(f"{len(table.missed)} figures missed")
    sys.exit(asked.check and bool(table.missed))
