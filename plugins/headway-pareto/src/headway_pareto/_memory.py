"""
What the optimizer remembers between its steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from headway.contracts import Json
from headway_pareto._front import Member, best_of, leads, pruned


@attrs.frozen(kw_only=True)
class Memory:
    """
    The front, and what merges need.

    Args:
        head: The content digest of the head that was last seen or committed; another one is somebody
            else's commit.
        members: The front, oldest first.
        changes: The changes that members are made of, by number.
        tried: Merges that were tried and are made of such changes.
    """

    head: str = ""
    members: tuple[Member, ...] = ()
    changes: Mapping[int, Json] = attrs.Factory(dict[int, Json])
    tried: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def read(cls, held: Any) -> Memory:
        """
        The memory that ``to_json`` wrote; an empty one for None.
        """
        if held is None:
            return cls()
        return cls(
            head=held["head"],
            members=tuple(map(Member.from_json, held["members"])),
            changes={int(number): change for number, change in held["changes"].items()},
            tried=tuple(map(tuple, held["tried"])),
        )

    def admitting(self, member: Member, size: int, change: Json = None) -> Memory | None:
        """
        The memory with one more member in its front; None when it does not belong there.

        Args:
            member: Who asks to be let in.
            size: How many members there may be.
            change: The newest of its changes, where it is not known yet.
        """
        members = pruned((*self.members, member), size)
        if all(held is not member for held in members):
            return None
        changes = dict(self.changes)
        if change is not None:
            changes[member.changes[-1]] = change
        return attrs.evolve(self, members=members, changes=changes)

    def knows(self, member: Member) -> bool:
        """
        Whether a member is the same artifact as one of the front.
        """
        return any(held.artifact == member.artifact for held in self.members)

    def to_json(self) -> Json:
        """
        The memory as a JSON value, without changes that no member is made of any more.
        """
        used = {number for member in self.members for number in member.changes}
        return {
            "head": self.head,
            "members": [member.to_json() for member in self.members],
            "leads": leads(self.members),
            "best": self.members.index(best_of(self.members)),
            "changes": {str(n): change for n, change in self.changes.items() if n in used},
            "tried": [list(key) for key in self.tried if used.issuperset(key)],
        }
