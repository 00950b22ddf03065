"""
How deep a value of a plug-in's may be nested.
"""

from __future__ import annotations

from typing import Any, cast

DEEPEST = 100
"""How deep: whether it can be kept and read again must not depend on whose stack that is on."""


def check_depth(value: Any, what: str) -> None:
    """
    See that a value is not nested too deep.

    Args:
        value: The value, of which only what is in lists, tuples and dicts is looked at.
        what: What to call it.

    Raises:
        ValueError: it is.
    """
    level: list[Any] = [value]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner += cast("dict[str, Any]", item).values()
            elif isinstance(item, list | tuple):
                inner += cast("list[Any]", item)
        if not inner:
            return
        level = inner
    raise ValueError(f"{what} is nested more than {DEEPEST} deep")
