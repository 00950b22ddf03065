"""
The contract of a strategy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

from headway.contracts import Json, canonical_json
from headway.strategies._keyed import change_keys, rebase_change


class Strategy(ABC):
    """
    What is improved, how a run sees it, and how a proposal becomes a change.

    ``initial``, ``render``, ``to_diff`` and ``apply`` must be written.  A strategy is called from
    several threads at once and keeps nothing between calls.  What it is given it never changes.
    """

    @abstractmethod
    def initial(self) -> Json:
        """
        The state that a run starts from, unless it is given another one.
        """

    @abstractmethod
    def render(self, state: Json) -> Any:
        """
        What ``run`` and ``propose`` receive.
        """

    @abstractmethod
    def to_diff(self, proposal: Any, state: Json) -> Json | None:
        """
        The change that a proposal stands for; None when it would change nothing.

        Args:
            proposal: What ``propose`` returned; never None.
            state: The state that it was made against.

        Raises:
            TypeError: the proposal is of a type that means nothing here.
            ValueError: its value cannot be used.
        """

    @abstractmethod
    def apply(self, state: Json, diff: Json) -> Json:
        """
        The state with a change applied; a new value, the old one stays as it is.
        """

    def rebase(self, diff: Json, state: Json) -> Json | None:
        """
        The same change, made to fit a newer state; None when it no longer applies.

        By default the three-way rule by key (``rebase_change``) where both are mappings, else the
        change as it is.
        """
        by_key = all(isinstance(cast("object", value), Mapping) for value in (diff, state))
        return rebase_change(diff, state) if by_key else diff

    def keys(self, diff: Json) -> tuple[str, ...]:
        """
        Which parts a change touches; by default a mapping's keys, else everything.
        """
        return change_keys(diff) if isinstance(diff, Mapping) else ("*",)

    def removals(self, state: Json) -> tuple[Json, ...]:
        """
        Changes that each take one part away, for whoever looks for parts that do not pay.
        """
        return ()

    def describe(self, state: Json) -> Mapping[str, float]:
        """
        What kind of solution a state is, by names and numbers from 0 to 1; by default nothing.
        """
        return {}

    def contract_breaking(self, diff: Json) -> bool:
        """
        Whether a change breaks what other parts rely on.
        """
        return False

    def check(self, state: Json) -> None:  # noqa: B027 - most need no check
        """
        Refuse a value that is no state of this strategy.

        Raises:
            TypeError: it is of another type.
            ValueError: something in it cannot be used.
        """

    def files(self, state: Json) -> Mapping[str, str]:
        """
        The state as readable files: relative path to text.
        """
        return {"state.json": canonical_json(state) + "\n"}

    def rendering(self, state: Json) -> AbstractContextManager[Any]:
        """
        What is rendered, and what must be cleaned up once it has been used.
        """
        return nullcontext(self.render(state))
