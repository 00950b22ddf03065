"""
The ledgers that come with Headway do what every ledger must.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from itertools import count

import pytest

from headway.builtins._memory_ledger import MemoryLedger
from headway.builtins.sqlite import Database, SqliteLedger
from headway.testing.conformance import LedgerContract


class TestMemory(LedgerContract):
    @pytest.fixture
    def make(self):
        return MemoryLedger


class TestSqlite(LedgerContract):
    @pytest.fixture
    def make(self, tmp_path):
        numbers = count()
        return lambda initial: SqliteLedger(tmp_path / f"{next(numbers)}.db", initial=initial)

    @pytest.fixture
    def reopen(self):
        def again(ledger):
            ledger.close()
            return SqliteLedger(ledger.database.path)

        return again

    @pytest.fixture
    def elsewhere(self):
        return lambda ledger: (SqliteLedger, ledger.database.path)


class TestSqliteInADatabaseOfItsOwners(LedgerContract):
    """
    As a run directory has it, with the journal in the same file.
    """

    @pytest.fixture
    def make(self, tmp_path):
        numbers = count()
        with ExitStack() as opened:

            def ledger(initial):
                database = Database(tmp_path / f"{next(numbers)}.db")
                return SqliteLedger(opened.enter_context(closing(database)), initial=initial)

            yield ledger

    @pytest.fixture
    def reopen(self):
        def again(ledger):
            ledger.close()
            return SqliteLedger(ledger.database)

        return again
