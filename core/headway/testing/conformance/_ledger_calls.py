"""
What the contract of ledgers hands a ledger, and how it asks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias, TypeVar

import pytest

from headway.contracts import Artifact, Committed, HeadMoved, Json, Ledger
from headway.testing._ledger_writers import Opener

Make: TypeAlias = Callable[[Artifact | None], Ledger]
"""Makes a new ledger of its own at each call, with this state at version 0."""

Reopen: TypeAlias = Callable[[Ledger], Ledger]
"""Closes a ledger and opens what it stored again."""

Elsewhere: TypeAlias = Callable[[Ledger], Opener]
"""Says how another process opens what a ledger stores."""

Test = TypeVar("Test", bound=Callable[..., Any])

HOSTILE_BRANCHES: tuple[str, ...] = (
    "",
    "-rf",
    ".hidden",
    "a/b",
    "a..b",
    "x.lock",
    "end.",
    "a b",
    "a\n",
    "\u00fcber",
    "x" * 101,
)
"""Names that no branch may have."""

HOSTILE_TEXTS: tuple[str, ...] = (
    "../outside",
    "/etc/passwd",
    ".git/config",
    "..",
    ".",
    "-rf",
    "a\\b",
    "C:\\x",
    "NUL",
    "a\nb",
    "a\r",
    "a\x00b",
    "a\x1bb",
    "\u202egnp.exe",
    "e\u0301",
    "\u00e9",
    "A.md",
    "a.md",
    "a.md/b.md",
    "'; drop table versions; --",
    "%s{0}$(x)`x`",
    "x" * 5_000,
)
"""Names, keys and messages that some file system, program or terminal reads as something else."""

VALUES: dict[str, Json] = {
    "null": None,
    "whole": 1,
    "real": 1.0,
    "true": True,
    "minus-zero": -0.0,
    "small": 5e-324,
    "large-whole": 10**30,
    "empty-text": "",
    "empty-list": [],
    "empty-mapping": {},
    "text": "two\nlines, a \x00, \u00fcber, \U0001f600",
    "half-a-pair": "\ud800",
    "nested": {"a": [{"b": [[], {}, None, "\u2028"]}, 0.1], "": {"": ""}},
    "deep": {"a": {"b": {"c": {"d": {"e": [[[[[1]]]]]}}}}},
    "long": {"a.md": "x" * 200_000, "b.md": "\u00e9" * 50_000},
    "wide": {f"{number}.md": str(number) for number in range(2_000)},
    "numbers": [number / 7 for number in range(5_000)],
    "hostile-names": {name: name for name in HOSTILE_TEXTS},
}
"""States that a ledger must give back as they were."""


def commit(
    ledger: Ledger, expected: int, value: Json, key: str | None = None, branch: str = "dev"
) -> Committed | HeadMoved:
    """
    Commit a value, with a key and a message made from it unless there is a key.
    """
    key = f"k{value}" if key is None else key
    return ledger.commit(expected, Artifact(value), key=key, message=f"m{value}", branch=branch)


def run_threads(function: Callable[[int], None], count: int) -> None:
    """
    Call a function on so many threads at once, each with its number; raise what one of them raised.
    """
    failed: list[BaseException] = []

    def call(number: int) -> None:
        try:
            function(number)
        except BaseException as error:  # noqa: BLE001 - it is raised by the thread that waits
            failed.append(error)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def remedied(do: str) -> Callable[[Test], Test]:
    """
    Have every failure of a test say what to do about it.
    """

    def around(test: Test) -> Test:
        @wraps(test)
        def remedying(*arguments: Any, **keywords: Any) -> Any:
            __tracebackhide__ = True
            try:
                return test(*arguments, **keywords)
            except (AssertionError, pytest.fail.Exception) as error:
                raise AssertionError(f"{error}\n-> {do}") from error

        found: Any = remedying
        return found  # type: ignore[no-any-return] # the test, as far as its callers see

    return around
