"""
Strategies: what is improved, how a run sees it, and how a proposal becomes a change.

A state and a diff are JSON values.  Nothing here keeps a state between calls, so one strategy serves
any number of threads.
"""

from headway.strategies._keyed import apply_change, change, change_keys, rebase_change
from headway.strategies._rules import AppendRules, KeyedRules
from headway.strategies._slot import SingleSlot
from headway.strategies._strategy import Strategy
from headway.strategies._tree import FileTree

__all__ = [
    "AppendRules",
    "FileTree",
    "KeyedRules",
    "SingleSlot",
    "Strategy",
    "apply_change",
    "change",
    "change_keys",
    "rebase_change",
]
