"""
The observers that the commands and the log bring do what every observer must.
"""

from __future__ import annotations

import io
import logging

import pytest

from headway._log import log_observer
from headway.cli._progress import LiveTable, PlainLines
from headway.options import RunOptions
from headway.testing.conformance import ObserverContract


class TestPlainLines(ObserverContract):
    @pytest.fixture
    def make(self):
        return lambda: PlainLines(io.StringIO())


class TestLiveTable(ObserverContract):
    @pytest.fixture
    def make(self):
        return lambda: LiveTable(io.StringIO(), RunOptions())


class TestLog(ObserverContract):
    by_reference = False

    @pytest.fixture
    def make(self, caplog):
        caplog.set_level(logging.DEBUG, "headway")
        return lambda: log_observer("a run")
