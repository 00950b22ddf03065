"""
Runs one test of a contract in process, for tests that the kit finds planted faults.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from headway.contracts import Artifact


def verdict(contract: type, make: Callable[..., Any], test: str, **more: Any) -> str:
    """
    What a test of a contract says of a part: nothing when it passes, else the failure's text; when it
    is skipped, that and why.

    Args:
        contract: The kind's contract.
        make: Makes a part, as the author's fixture does.
        test: The name of the test; each of its parameters is tried, up to the first that fails.
        more: Class attributes, and fixtures by their names.
    """
    flags = {name: value for name, value in more.items() if not _is_fixture(contract, name)}
    fixtures = {name: value for name, value in more.items() if name not in flags}
    tests = type("TestPart", (contract,), flags)()
    function = getattr(tests, test)
    for case in _cases(function):
        with TemporaryDirectory() as folder:
            known = {"make": make, "tmp_path": Path(folder), **fixtures, **case}
            text = _tried(function, known)
        if text:
            return text
    return ""


def _is_fixture(contract: type, name: str) -> bool:
    return callable(getattr(contract, name, None))


def _cases(function: Any) -> Iterator[dict[str, Any]]:
    axes = []
    for mark in getattr(function, "pytestmark", ()):
        if mark.name == "parametrize":
            names, values = mark.args[:2]
            listed = [n.strip() for n in names.split(",")] if isinstance(names, str) else names
            rows = [value if len(listed) > 1 else (value,) for value in values]
            axes.append([dict(zip(listed, row, strict=True)) for row in rows])
    for choice in product(*axes):
        yield {name: value for part in choice for name, value in part.items()}


def _tried(function: Any, known: dict[str, Any]) -> str:
    made = {"ledger": lambda: known["make"](Artifact(0)), "executor": known["make"]}
    arguments = {}
    for name in inspect.signature(function).parameters:
        arguments[name] = known[name] if name in known else made[name]()
    try:
        function(**arguments)
    except (AssertionError, pytest.fail.Exception) as failure:
        return str(failure)
    except pytest.skip.Exception as skipped:
        return f"skipped: {skipped}"
    finally:
        for name in made:
            if name in arguments:
                with suppress(Exception):  # a part that can't be closed has been judged already
                    arguments[name].close()
    return ""
