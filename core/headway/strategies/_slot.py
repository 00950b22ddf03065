"""
A strategy for one text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from headway.contracts import Json
from headway.errors import shown
from headway.strategies._keyed import (
    Conflict,
    apply_change,
    as_conflict,
    change,
    rebase_change,
)
from headway.strategies._strategy import Strategy
from headway.strategies._texts import check_unicode

_KEY = "text"


@attrs.frozen(eq=False)
class SingleSlot(Strategy):
    """
    One text, such as a prompt, that a proposal replaces as a whole.

    A state is a text, ``render`` gives just that, and a proposal is the new text.

    Args:
        text: The text to start with.
        conflict: What becomes of a new text when the head has another one by now than it was made
            against.  ``"mine"`` keeps it as an alternative, which must beat the head like any other;
            ``"theirs"`` gives it up.

    Raises:
        OptionError: ``conflict`` is another word.
        TypeError: the text is none.
    """

    text: str = attrs.field(default="")
    conflict: Conflict = attrs.field(default="mine", converter=as_conflict, kw_only=True)

    def __attrs_post_init__(self) -> None:
        self.check(self.text)

    def initial(self) -> Json:
        """
        The text to start with.
        """
        return self.text

    def render(self, state: Json) -> str:
        """
        The text.
        """
        return str(state)

    def to_diff(self, proposal: Any, state: Json) -> Json | None:
        """
        The new text.
        """
        self.check(proposal)
        return change({_KEY: proposal}, {_KEY: state})

    def apply(self, state: Json, diff: Json) -> Json:
        """
        The new text.
        """
        return apply_change({_KEY: state}, diff)[_KEY]

    def rebase(self, diff: Json, state: Json) -> Json | None:
        """
        The new text, if it may stand against a newer one.
        """
        return rebase_change(diff, {_KEY: state}, self.conflict)

    def check(self, state: Json) -> None:
        """
        Refuse anything but a text.
        """
        if not isinstance(state, str):
            message = f"{shown(state)} is of type {type(state).__name__}; give a text"
            raise TypeError(message)
        check_unicode(state, "the text")

    def files(self, state: Json) -> Mapping[str, str]:
        """
        The text as one file.
        """
        return {"text.txt": self.render(state)}
