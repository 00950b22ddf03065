"""
What is on its way out: every deprecation of Headway stands here, with when it began and when it ends.

Guarantees: what stands here still works, and says at each use what to take instead; a version that
was to be the first without it cannot be made with it, since a test fails then.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import attrs


@attrs.frozen(kw_only=True)
class Deprecation:
    """
    One thing that will be removed.

    Args:
        since: The first version that warns, such as ``"0.3"``.
        gone: The first version without it, at least two minor versions later.
        instead: What to take instead, as the rest of a sentence that begins with "use".
    """

    since: str
    gone: str
    instead: str

    def told(self, what: str) -> str:
        """
        The warning about a use.
        """
        when = f"deprecated since headway {self.since} and gone in {self.gone}"
        return f"{what} is {when}: use {self.instead}"


HOOKS: Mapping[str, Deprecation] = MappingProxyType({})
"""
Hooks that plug-ins may still implement, by name.  Their specifications stay where they are until the
version that is to be without them.
"""
