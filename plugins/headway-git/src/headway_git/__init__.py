"""
A ledger whose versions are git commits, and export of any ledger to git.
"""

from headway_git._export import export_to_git
from headway_git._ledger import GitLedger

__all__ = ["GitLedger", "export_to_git"]
