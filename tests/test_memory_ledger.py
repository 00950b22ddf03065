"""
Tests of the ledger in memory.
"""

from __future__ import annotations

import threading

import pytest

from headway.builtins._memory_ledger import MemoryLedger
from headway.contracts import Artifact, Committed, HeadMoved, Ledger, Snapshot
from headway.errors import LedgerClosedError, LedgerError


@pytest.fixture
def ledger():
    return MemoryLedger(Artifact(0))


def commit(ledger, expected, value, key=None, branch="dev"):
    return ledger.commit(
        expected, Artifact(value), key=key or f"k{value}", message=f"m{value}", branch=branch
    )


def test_it_begins_at_version_zero(ledger):
    """
    Both branches hold the initial state, and nothing was committed.
    """
    start = Snapshot(0, Artifact(0))

    assert isinstance(ledger, Ledger)
    assert (start, start) == (ledger.snapshot(), ledger.snapshot("stable"))
    assert () == ledger.log()
    assert Snapshot(0, Artifact(None)) == MemoryLedger().snapshot()


def test_a_commit_on_the_head_moves_it(ledger):
    """
    The head is the new state, one version on, and the log says how it came about.
    """
    answer = commit(ledger, 0, "a")
    (entry,) = ledger.log()

    assert Committed(1) == answer
    assert Snapshot(1, Artifact("a")) == ledger.snapshot()
    assert (1, 0, Artifact("a").digest) == (entry.version, entry.parent, entry.digest)
    assert ("ma", "ka") == (entry.message, entry.key)


@pytest.mark.parametrize("expected", [0, 2, -1])
def test_a_commit_on_anything_else_changes_nothing(ledger, expected):
    """
    It is answered with the head that is there instead.
    """
    commit(ledger, 0, "a")
    before = ledger.snapshot(), ledger.log()

    assert HeadMoved(before[0]) == commit(ledger, expected, "b")
    assert before == (ledger.snapshot(), ledger.log())


def test_the_same_key_commits_once(ledger):
    """
    The same answer again, also after the head has moved on.
    """
    commit(ledger, 0, "a")
    commit(ledger, 1, "b")

    assert Committed(1) == commit(ledger, 0, "a")
    assert 2 == len(ledger.log())
    assert Snapshot(2, Artifact("b")) == ledger.snapshot()


def test_a_key_with_another_state_is_an_error(ledger):
    """
    Answering as before would lose that state without a word.
    """
    commit(ledger, 0, "a", key="k")
    with pytest.raises(LedgerError, match="'k' named the commit of another state"):
        commit(ledger, 1, "b", key="k")

    assert Snapshot(1, Artifact("a")) == ledger.snapshot()


def test_a_key_whose_commit_failed_can_be_used_again(ledger):
    """
    ``HeadMoved`` changed nothing, so nothing is kept under the key.
    """
    commit(ledger, 0, "a")
    commit(ledger, 0, "b", key="k")

    assert Committed(2) == commit(ledger, 1, "b", key="k")


def test_a_state_that_is_no_json_is_refused_before_anything_changes(ledger):
    """
    After an exception the ledger is as it was.
    """
    with pytest.raises(ValueError, match="JSON"):
        commit(ledger, 0, float("nan"))

    assert () == ledger.log()
    assert Committed(1) == commit(ledger, 0, "a")


def test_of_many_writers_on_one_version_one_wins():
    """
    With eight threads released at once, a hundred times: one ``Committed``, seven ``HeadMoved``.
    """
    ledger = MemoryLedger(Artifact(0))
    for version in range(100):
        barrier = threading.Barrier(8)
        answers = []

        def race(writer, barrier=barrier, version=version, answers=answers):
            barrier.wait()
            answers.append(commit(ledger, version, [version, writer], key=f"{version}-{writer}"))

        run_threads(race, 8)

        assert 1 == answers.count(Committed(version + 1))
        assert 7 == answers.count(HeadMoved(ledger.snapshot()))


def test_no_update_is_lost():
    """
    Writers that add one on top of the head until it is theirs: the sum is the number of adds.
    """
    ledger = MemoryLedger(Artifact(0))

    def add(writer):
        for number in range(100):
            while True:
                head = ledger.snapshot()
                key = f"{writer}-{number}-{head.version}"
                if isinstance(
                    commit(ledger, head.version, head.artifact.value + 1, key), Committed
                ):
                    break

    run_threads(add, 6)

    assert Snapshot(600, Artifact(600)) == ledger.snapshot()
    assert list(range(1, 601)) == [entry.version for entry in ledger.log()]
    assert list(range(600)) == [entry.parent for entry in ledger.log()]


def run_threads(function, count):
    threads = [threading.Thread(target=function, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_promoting_moves_the_other_branch(ledger):
    """
    The version keeps its number; the branch it came from stays where it is.
    """
    commit(ledger, 0, "a")
    commit(ledger, 1, "b")
    promoted = ledger.promote(1)

    assert Snapshot(1, Artifact("a")) == promoted == ledger.snapshot("stable")
    assert Snapshot(2, Artifact("b")) == ledger.snapshot()
    assert promoted == ledger.promote(1)
    assert ["promote version 1 of dev"] == [entry.message for entry in ledger.log("stable")]


def test_promoting_an_older_version_goes_back(ledger):
    """
    A way back when a promoted version disappoints; the next commit takes a number of its own.
    """
    commit(ledger, 0, "a")
    commit(ledger, 1, "b")
    ledger.promote(2)
    ledger.promote(1)

    assert Snapshot(1, Artifact("a")) == ledger.snapshot("stable")
    assert [2, 1] == [entry.version for entry in ledger.log("stable")]
    assert Committed(3) == commit(ledger, 1, "c", branch="stable")
    assert Snapshot(3, Artifact("c")) == ledger.snapshot("stable")


def test_promoting_never_changes_a_version(ledger):
    """
    A branch that made a version of its own keeps it.
    """
    commit(ledger, 0, "a")
    commit(ledger, 0, "other", branch="stable")
    with pytest.raises(LedgerError, match="has a version 1 of its own"):
        ledger.promote(1)

    assert Snapshot(1, Artifact("other")) == ledger.snapshot("stable")


def test_a_fork_has_the_history_and_goes_its_own_way(ledger):
    """
    Both branches can be committed to without seeing each other.
    """
    commit(ledger, 0, "a")
    head = ledger.fork("try-1")
    commit(ledger, 1, "b", branch="try-1")

    assert Snapshot(1, Artifact("a")) == head == ledger.snapshot()
    assert Snapshot(2, Artifact("b")) == ledger.snapshot("try-1")
    assert ["ka", "kb"] == [entry.key for entry in ledger.log("try-1")]
    assert Committed(2) == commit(ledger, 1, "c")


@pytest.mark.parametrize(
    "name",
    ["", "-rf", ".hidden", "a/b", "a..b", "x.lock", "end.", "a b", "a\n", "\u00fcber", "x" * 101],
)
def test_hostile_branch_names_are_refused(ledger, name):
    """
    One rule for all ledgers, so that a run can move between them.
    """
    with pytest.raises(LedgerError, match="cannot name a branch"):
        ledger.fork(name)


def test_what_is_not_there_is_an_error(ledger):
    """
    Branches and versions that do not exist, and a branch that does.
    """
    with pytest.raises(LedgerError, match="no branch 'dve'; there are dev, stable"):
        ledger.snapshot("dve")
    with pytest.raises(LedgerError, match="no version 3"):
        ledger.promote(3)
    with pytest.raises(LedgerError, match="'stable' exists already"):
        ledger.fork("stable")


@pytest.mark.parametrize(
    "call",
    [
        lambda ledger: ledger.snapshot(),
        lambda ledger: commit(ledger, 0, "a"),
        lambda ledger: ledger.promote(0),
        lambda ledger: ledger.log(),
        lambda ledger: ledger.fork("x"),
    ],
    ids=["snapshot", "commit", "promote", "log", "fork"],
)
def test_a_closed_ledger_refuses_every_call(ledger, call):
    """
    Closing twice is harmless.
    """
    ledger.close()
    ledger.close()

    with pytest.raises(LedgerClosedError):
        call(ledger)


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


def test_an_earlier_version_can_be_read(ledger):
    """
    By its number, on the branch that has it; one that the branch never had is refused.
    """
    commit(ledger, 0, "a")
    commit(ledger, 1, "b")

    assert Snapshot(1, Artifact("a")) == ledger.snapshot("dev", 1)
    with pytest.raises(LedgerError, match="has no version 1"):
        ledger.snapshot("stable", 1)
