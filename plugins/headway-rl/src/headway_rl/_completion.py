"""
When a group is complete, and what a failed member does to it.

A member that fails for the infrastructure's reasons is tried again, with the same group and place and a
fresh seed.  Once its attempts are used up the rule decides; a member that did badly is scored and is no
failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import attrs

from headway.errors import OptionError
from headway_rl._checks import check_choice, check_count

MemberState: TypeAlias = Literal["waiting", "done", "failed"]
"""``failed`` stands for a member whose attempts are used up."""

GroupVerdict: TypeAlias = Literal["wait", "complete", "drop", "stop"]

RULES = ("stop", "shrink", "drop")


@attrs.frozen(kw_only=True)
class GroupCompletion:
    """
    What becomes of a group with members that failed for good.

    Args:
        retries: How often a failed member is tried again; 2 means three attempts.
        on_failure: ``stop`` ends the run with the member's error.  ``shrink`` trains the group with
            the others, if at least ``min_members`` are left, else drops it.  ``drop`` resolves it
            without training.
        min_members: For ``shrink`` only: how many must be left.

    Raises:
        OptionError: one of them is out of its range, or ``min_members`` does not fit the rule.
    """

    retries: int = 2
    on_failure: Literal["stop", "shrink", "drop"] = "stop"
    min_members: int | None = None

    def __attrs_post_init__(self) -> None:
        check_count("retries", self.retries, 0)
        check_choice("on_failure", self.on_failure, RULES)
        if self.on_failure != "shrink" and self.min_members is not None:
            remedy = "It says how far a group may shrink; give on_failure='shrink' with it."
            raise OptionError("min_members", self.min_members, remedy)
        if self.on_failure == "shrink":
            if self.min_members is None:
                remedy = "Say how far a group may shrink: give min_members."
                raise OptionError("min_members", None, remedy)
            check_count("min_members", self.min_members, 1)

    @property
    def loses_data(self) -> bool:
        """
        Whether it may resolve a member or a group without training it.
        """
        return self.on_failure != "stop"

    def verdict(self, members: Sequence[MemberState]) -> GroupVerdict:
        """
        What a group with members in these states does next.

        >>> GroupCompletion(on_failure="shrink", min_members=2).verdict(["done", "failed", "done"])
        'complete'
        """
        failed = sum(state == "failed" for state in members)
        if failed and self.on_failure != "shrink":
            return "stop" if self.on_failure == "stop" else "drop"
        if len(members) - failed < (self.min_members or 0):
            return "drop"
        return "wait" if "waiting" in members else "complete"
