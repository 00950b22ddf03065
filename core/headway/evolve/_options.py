"""
The options of a ``Program``: one frozen object, validated before anything starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs

from headway._checks import BOOLEANS, check_count, check_flag, check_number
from headway.errors import OptionError

FROZEN_IDS = ("oracle", "audit_budget", "merge_permissions", "safety_constraints")
"""What no run may change, so that no artifact is called so."""


def _check_id(option: str, value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise OptionError(option, value, "Give a name.")
    if value in FROZEN_IDS:
        remedy = f"This is frozen: nothing may change it. Any name but {', '.join(FROZEN_IDS)}."
        raise OptionError(option, value, remedy)


def _option(text: str, default: Any, check: Any) -> Any:
    return attrs.field(default=default, metadata={"help": text, "check": check})


@attrs.frozen(kw_only=True)
class ProgramOptions:
    """
    How a program's tasks are split, and what its artifact is called.

    ``field.metadata["help"]`` is the description that the command line and the reference show.

    Raises:
        OptionError: a value cannot be used.
    """

    held_out_frac: float = _option(
        "share of the tasks that candidates are measured on",
        0.4,
        partial(check_number, above=0, below=1),
    )
    shuffle: bool = _option("chance chooses the held-out tasks; else the last", True, check_flag)
    seed: int = _option("the split depends on it", 0, partial(check_count, least=0))
    artifact_id: str = _option("the name of what is improved", "artifact", _check_id)

    def __attrs_post_init__(self) -> None:
        for field in attrs.fields(type(self)):
            field.metadata["check"](field.name, getattr(self, field.name))


OPTION_HELP: Mapping[str, str] = {
    field.name: str(field.metadata["help"]) for field in attrs.fields(ProgramOptions)
}
"""A line on each option."""


def from_text(option: str, text: Any) -> Any:
    """
    The value that a text stands for, when it stands for one; else the text, for the check to refuse.

    >>> from_text("held_out_frac", "0.25"), from_text("shuffle", "false"), from_text("seed", "x")
    (0.25, False, 'x')
    """
    if not isinstance(text, str):
        return text
    if option == "shuffle":
        return BOOLEANS.get(text.lower(), text)
    read = {"held_out_frac": float, "seed": int}.get(option, str)
    try:
        return read(text)
    except ValueError:
        return text
