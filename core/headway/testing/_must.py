"""
What an auditor says when something is wrong.
"""

from __future__ import annotations


class AuditError(AssertionError):
    """
    A run did something that no run may do.
    """


def must(holds: object, text: str) -> None:
    """
    Raise an ``AuditError`` unless something holds.
    """
    if not holds:
        raise AuditError(text)
