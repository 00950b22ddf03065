"""
How the contracts call what an author wrote: what it raises fails the test in words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from headway.contracts import Json, canonical_json
from headway.errors import shown


def raised(call: str, error: BaseException, *, do: str) -> AssertionError:
    """
    What a test raises when the part itself has raised.
    """
    return AssertionError(f"{call} raised {type(error).__name__}: {error}\n-> {do}")


def asked(method: Callable[..., Any], *arguments: Any, do: str) -> Any:
    """
    What a method of a part gives; an exception of its own fails the test.

    Args:
        method: A bound method.
        arguments: What it is given.
        do: What the author is to do when it raises.
    """
    try:
        return method(*arguments)
    except AssertionError:
        raise
    except Exception as error:
        given = ", ".join(map(shown, arguments))
        name = getattr(method, "__name__", type(method).__name__)
        raise raised(f"{name}({given})", error, do=do) from error


def listed(found: object, kind: type) -> bool:
    """
    Whether something is a tuple or a list, and all that it holds is of a kind.
    """
    if not isinstance(found, tuple | list):
        return False
    items = cast("Sequence[object]", found)
    return all(isinstance(item, kind) for item in items)


def spelled(value: Json, where: str) -> str:
    """
    A JSON value in its one spelling; what is none fails the test.
    """
    try:
        return canonical_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        do = "make it of numbers, texts, booleans, None, lists and dicts with texts as keys"
        wrong = f"{where} gave {shown(value)}, which is no JSON value: {error}"
        raise AssertionError(f"{wrong}\n-> {do}") from error
