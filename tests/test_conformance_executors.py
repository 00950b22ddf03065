"""
The built-in executor does what every executor must.
"""

from __future__ import annotations

import pytest

from headway.builtins._executor import ThreadExecutor
from headway.builtins._process_executor import ProcessExecutor
from headway.testing.conformance import ExecutorContract


class TestProcess(ExecutorContract):
    elsewhere = True

    @pytest.fixture
    def make(self):
        return ProcessExecutor


class TestThread(ExecutorContract):
    @pytest.fixture
    def make(self):
        return ThreadExecutor
