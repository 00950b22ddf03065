"""
The contract of its kind, and what only this one does.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from headway._templates.ledger import NewcomerLedger
from headway.contracts import Artifact, Committed, Ledger, Snapshot
from headway.errors import LedgerCorrupt
from headway.testing.conformance import LedgerContract


class TestNewcomerLedger(LedgerContract):
    """
    What every ledger must do.
    """

    @pytest.fixture
    def make(self, tmp_path: Path) -> Callable[[Artifact | None], Ledger]:
        """
        A function that makes a new one, with this state at version 0.
        """

        def made(initial: Artifact | None = None) -> Ledger:
            return NewcomerLedger(tmp_path / uuid4().hex, initial)

        return made

    @pytest.fixture
    def reopen(self) -> Callable[[Ledger], Ledger]:
        """
        A function that closes one and opens its file again.
        """
        return again


def again(ledger: Ledger) -> Ledger:
    """
    Close a ledger and open its file again.
    """
    assert isinstance(ledger, NewcomerLedger)
    ledger.close()
    return NewcomerLedger(ledger.path)


def test_a_line_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    """
    A process that is killed while it writes has committed nothing; the next commit takes its place.
    """
    path = tmp_path / "versions"
    ledger: Ledger = NewcomerLedger(path, Artifact("begin"))
    ledger.commit(0, Artifact("a"), key="k1", message="m1")
    with path.open("a", encoding="utf-8") as file:
        file.write('{"call": "comm')
    ledger = again(ledger)

    assert Snapshot(1, Artifact("a")) == ledger.snapshot()
    assert Committed(2) == ledger.commit(1, Artifact("b"), key="k2", message="m2")
    assert Snapshot(2, Artifact("b")) == again(ledger).snapshot()


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    """
    Nothing is read beyond it.
    """
    path = tmp_path / "versions"
    NewcomerLedger(path, Artifact("begin"))
    path.write_text(f"{path.read_text()}no JSON\n")

    with pytest.raises(LedgerCorrupt, match="line 2 is damaged"):
        NewcomerLedger(path)
