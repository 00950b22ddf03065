"""
A ledger in one SQLite file, on the standard library alone, and the file itself for whoever keeps
more in it.
"""

from headway.builtins.sqlite._database import Database
from headway.builtins.sqlite._ledger import SqliteLedger
from headway.builtins.sqlite._states import STATES, States, Stored

__all__ = ["STATES", "Database", "SqliteLedger", "States", "Stored"]
