"""
``headway plugins``: what is on offer, where it comes from, and what is wrong with it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from shutil import get_terminal_size
from typing import Any

import attrs

from headway.cli import _new_plugin
from headway.registry import PluginRow, Registry

_HEADER = ("KIND", "NAME", "TARGET", "DISTRIBUTION", "HOOKS", "STATUS")
_LEFT_OUT = ("HOOKS", "TARGET")
"""Columns that a terminal goes without when it is too narrow for all, the first one first."""

_EXAMPLE = """\
Example:
  headway plugins --check

HEADWAY_PLUGINS=a,b loads the plug-ins of these distributions only, HEADWAY_PLUGINS= none, and
HEADWAY_PLUGINS_STRICT=1 makes one that cannot be loaded an error.
"""


def add_parser(subparsers: Any) -> None:
    """
    Add the command's parser to what argparse's ``add_subparsers`` gave; that has no public type.
    """
    parser = subparsers.add_parser(
        "plugins",
        help="list the parts that runs can be made of",
        description="List the parts that runs can be made of, and what is wrong with any.",
        epilog=_EXAMPLE,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--check", action="store_true", help="import every target; exit 1 if anything is broken"
    )
    parser.set_defaults(run=run)
    _new_plugin.add_parser(parser.add_subparsers(metavar="COMMAND"))


def run(args: argparse.Namespace) -> int:
    """
    Print the listing.

    Returns:
        1 when everything was checked and something is broken, else 0.
    """
    # What a plug-in prints while it is imported must not get between the lines of the answer.
    with redirect_stdout(sys.stderr):
        rows = Registry.discover().listing(check=args.check)
    sys.stdout.write(_as_json(rows) if args.json else _as_table(rows))
    return int(args.check and any(row.status == "broken" for row in rows))


def _as_json(rows: Iterable[PluginRow]) -> str:
    return json.dumps({"plugins": [attrs.asdict(row) for row in rows]}, indent=2) + "\n"


def _as_table(rows: Sequence[PluginRow]) -> str:
    """
    A line a row; on a terminal that is too narrow with fewer columns.
    """
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    lines = _lines(rows, ())
    for number in range(1, len(_LEFT_OUT) + 1):
        if width is None or max(map(len, lines)) <= width:
            break
        left_out = _LEFT_OUT[:number]
        told = f"(too narrow for {' and '.join(left_out)}; --json has all)"
        lines = [*_lines(rows, left_out), told]
    return "\n".join(lines) + "\n"


def _lines(rows: Iterable[PluginRow], left_out: tuple[str, ...]) -> list[str]:
    kept = [number for number, name in enumerate(_HEADER) if name not in left_out]
    table = [[cells[n] for n in kept] for cells in (_HEADER, *(_cells(row) for row in rows))]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [_line(cells, widths) for cells in table]


def _cells(row: PluginRow) -> tuple[str, ...]:
    return (
        row.kind,
        row.name,
        row.target,
        f"{row.distribution} {row.version}".strip(),
        " ".join(row.hooks) or "-",
        f"{row.status}: {row.detail}" if row.detail else row.status,
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(map(str.ljust, cells, widths)).rstrip()
