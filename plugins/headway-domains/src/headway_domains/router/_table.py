"""
The routing table: what a state is, how it is changed, and how people read it.

A state maps keywords to labels.  A diff maps keywords to their new labels, or to None to strike them
out.  Each keyword stands alone, so changes of different keywords commute.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias, cast

from headway.contracts import Json
from headway.errors import ContractError

Diff: TypeAlias = Mapping[str, str | None]
"""Keyword to new label; None strikes the keyword out."""

FILE = "routes.md"

_PAGE = """\
# Routes

A message gets the label of its keyword.
A message whose keyword is not listed gets none.

| keyword | label |
| --- | --- |
{rows}"""

_ROW = re.compile(r"^\| (\S+) \| (\S+) \|$", re.MULTILINE)
_HEAD = 2
"""Rows of the table that are no routes."""


def route(table: Mapping[str, str], text: str) -> str | None:
    """
    The label of a message: that of its second word; None when the table lacks it.

    >>> route({"parcel": "delivery"}, "my parcel 3")
    'delivery'
    """
    return table.get(text.split()[1])


def checked(diff: Json) -> Diff:
    """
    A diff as what it must be.

    Raises:
        ContractError: it does not map keywords to labels or None.
    """
    if isinstance(diff, Mapping) and diff:
        entries = cast("Mapping[object, object]", diff).items()
        if all(isinstance(k, str) and (v is None or isinstance(v, str)) for k, v in entries):
            return cast("Diff", diff)
    raise ContractError(f"not a change of a routing table: {diff!r}; map keywords to labels")


def changed(table: Mapping[str, str], diff: Diff) -> dict[str, str]:
    """
    A new table with the changes made.
    """
    merged = {**table, **diff}
    return {keyword: label for keyword, label in merged.items() if label is not None}


def remaining(diff: Diff, table: Mapping[str, str]) -> dict[str, str | None]:
    """
    The changes that a table does not have yet.
    """
    return {keyword: label for keyword, label in diff.items() if table.get(keyword) != label}


def write_routes(table: Mapping[str, str]) -> dict[str, str]:
    """
    The table as a page: relative path to text.
    """
    rows = "".join(f"| {keyword} | {label} |\n" for keyword, label in sorted(table.items()))
    return {FILE: _PAGE.format(rows=rows)}


def read_routes(files: Mapping[str, str]) -> dict[str, str]:
    """
    The table that ``write_routes`` wrote.

    Raises:
        KeyError: the page is missing.
    """
    return dict(_ROW.findall(files[FILE])[_HEAD:])
