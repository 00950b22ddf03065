"""
A ledger in one SQLite file, on the standard library alone, and the file itself for whoever keeps
more in it.
"""

from headway.builtins.sqlite._database import Database
from headway.builtins.sqlite._ledger import SqliteLedger

__all__ = ["Database", "SqliteLedger"]
