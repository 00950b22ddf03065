"""
A ledger whose versions are git commits, and export of any ledger to git.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway_git._export import export_to_git
    from headway_git._ledger import GitLedger

__all__ = ["GitLedger", "export_to_git"]


def __getattr__(name: str) -> Any:
    # Whoever looks for plug-ins imports this package, and most of them want none of it.
    if name == "GitLedger":
        from headway_git._ledger import GitLedger

        return GitLedger
    if name == "export_to_git":
        from headway_git._export import export_to_git

        return export_to_git
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
