"""
Which names a branch may have, whatever the ledger.
"""

from __future__ import annotations

import re

from headway.errors import LedgerError

_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def checked_branch(name: str) -> str:
    """
    The name itself, when every ledger can store a branch under it.

    Git's rules and those of every file system are narrower than a Python string; one rule in front
    of all ledgers keeps a run portable between them.

    Raises:
        LedgerError: the name cannot be stored.

    >>> checked_branch("dev")
    'dev'
    """
    if not _BRANCH.fullmatch(name) or ".." in name or name.endswith((".lock", ".")):
        message = (
            f"{name!r} cannot name a branch: use up to 100 of the letters A to Z, digits, "
            "'.', '_' and '-', beginning with a letter or digit, without '..' and a final '.lock'"
        )
        raise LedgerError(message)
    return name
