"""
What the ledger in memory lets go; that it does what every ledger must, ``test_ledger_contract`` says.
"""

from __future__ import annotations

import pytest

from headway.builtins._memory_ledger import MemoryLedger
from headway.contracts import Artifact, Committed, Snapshot
from headway.errors import LedgerError
from headway.testing.conformance._ledger_calls import commit


def filled(count, **options):
    """
    A ledger with versions of 1,000 characters each.
    """
    ledger = MemoryLedger(Artifact("0" * 1000), **options)
    for version in range(count):
        commit(ledger, version, f"{version + 1:04d}" * 250, key=f"k{version}")
    return ledger


def test_old_states_are_let_go():
    """
    The head is kept whatever the limit, the log lists all, and a state that is gone is a clear error.
    """
    ledger = filled(50, kept_bytes=10_000)

    assert Artifact("0050" * 250) == ledger.snapshot().artifact
    assert 50 == len(ledger.log())
    assert Snapshot(49, Artifact("0049" * 250)) == ledger.promote(49)
    with pytest.raises(LedgerError, match=r"version 3 of 'dev' was let go.*kept_bytes"):
        ledger.promote(3)


@pytest.mark.parametrize("kept", [0, 5, 10_000])
def test_heads_are_kept(kept):
    """
    Also those of other branches, and a head can be promoted.
    """
    ledger = filled(3, kept_bytes=kept)
    ledger.fork("side")
    commit(ledger, 3, "x" * 2000)

    assert 3 == ledger.snapshot("side").version
    assert Snapshot(3, ledger.snapshot("side").artifact) == ledger.promote(3, source="side")
    assert Snapshot(4, Artifact("x" * 2000)) == ledger.promote(4)


def test_equal_states_are_kept_once():
    """
    A state that comes again takes no more room.
    """
    ledger = MemoryLedger(Artifact("a" * 1000), kept_bytes=2500)
    for version in range(20):
        commit(ledger, version, "ab"[version % 2] * 1000, key=f"k{version}")

    assert Snapshot(1, Artifact("a" * 1000)) == ledger.promote(1)


def test_the_log_is_bounded(monkeypatch):
    """
    The newest entries are kept, with their keys.
    """
    monkeypatch.setattr("headway.builtins._memory_ledger.KEPT_ENTRIES", 10)
    ledger = filled(25)

    assert list(range(16, 26)) == [entry.version for entry in ledger.log()]
    assert Committed(25) == commit(ledger, 24, "0025" * 250, key="k24")
    with pytest.raises(LedgerError, match="no version 3"):
        ledger.promote(3)
