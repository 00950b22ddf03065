"""
The git ledger does what every ledger must do.
"""

from __future__ import annotations

from uuid import uuid4

import pytest

from headway.testing.conformance import LedgerContract
from headway_git import GitLedger


class TestGitLedger(LedgerContract):
    """
    In a bare repository of its own.
    """

    @pytest.fixture
    def make(self, tmp_path):
        def make(initial=None):
            path = tmp_path / uuid4().hex
            ledger = GitLedger(path, initial=initial)
            self.paths[ledger] = path
            return ledger

        self.paths = {}
        return make

    @pytest.fixture
    def reopen(self):
        def reopen(ledger):
            ledger.close()
            again = GitLedger(self.paths[ledger])
            self.paths[again] = self.paths[ledger]
            return again

        return reopen

    @pytest.fixture
    def elsewhere(self):
        return lambda ledger: (GitLedger, self.paths[ledger])
