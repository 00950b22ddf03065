"""
What every ledger must do, as tests that its author runs.

::

    from headway.testing.conformance import LedgerContract

    class TestMyLedger(LedgerContract):
        @pytest.fixture
        def make(self, tmp_path):
            return lambda initial=None: MyLedger(tmp_path / uuid4().hex, initial=initial)

        @pytest.fixture
        def reopen(self):
            return lambda ledger: (ledger.close(), MyLedger(ledger.path))[1]

        @pytest.fixture
        def elsewhere(self):
            return lambda ledger: (MyLedger, ledger.path)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any, ClassVar

import pytest

from headway.contracts import Artifact, Committed, HeadMoved, Ledger, Snapshot
from headway.errors import LedgerClosedError, LedgerError, UnsafeNameError
from headway.testing._ledger_writers import Writer, state_of
from headway.testing._walks import Walk, answer, seen, spelled
from headway.testing.conformance._ledger_calls import (
    HOSTILE_BRANCHES,
    Elsewhere,
    Make,
    Reopen,
    commit,
    remedied,
    run_threads,
)
from headway.testing.conformance._ledger_states import LedgerStates


class LedgerContract(LedgerStates):
    """
    Tests for any ledger.

    ``make`` gets the artifact of version 0, or None.  Two more fixtures are for a ledger whose versions
    outlive it, and the tests that need them are skipped without: ``reopen`` closes a ledger and opens
    what it stored again; ``elsewhere`` says what another process calls to open it, a class or function
    that can be imported and its arguments.  A ledger may let states other than mappings of names go, but
    none of the newest ten.

    Attributes:
        adds: How many commits each of two processes makes while they contend.
        kills: After how many acknowledged commits a process is killed, once each.
    """

    adds: ClassVar[int] = 30
    kills: ClassVar[tuple[int, ...]] = (1, 4, 9)

    @pytest.fixture
    def reopen(self) -> Reopen:
        """
        A function that closes a ledger and opens what it stored again.
        """
        pytest.skip("keeps nothing beyond its end")

    @pytest.fixture
    def elsewhere(self) -> Elsewhere:
        """
        A function that says how another process opens what a ledger stored.
        """
        pytest.skip("is of one process")

    def test_another_process_can_make_one(self, make: Any) -> None:
        """
        Its class is found by its name: parts travel by reference, never as objects.
        """
        with closing(make(None)) as ledger:
            super().test_another_process_can_make_one(lambda: ledger)

    @pytest.mark.parametrize("name", HOSTILE_BRANCHES)
    @remedied("hand every new branch's name to headway.names.check_id first")
    def test_hostile_branch_names_are_refused(self, ledger: Ledger, name: str) -> None:
        """
        One rule for all ledgers, so that a run can move between them.
        """
        with pytest.raises(UnsafeNameError):
            ledger.fork(name)

    @remedied("raise LedgerError with the words of the built-in ledgers, which name what there is")
    def test_what_is_not_there_is_an_error(self, ledger: Ledger) -> None:
        """
        Branches and versions that do not exist, and a branch that does.
        """
        with pytest.raises(LedgerError, match="no branch 'dve'; there are dev, stable"):
            ledger.snapshot("dve")
        with pytest.raises(LedgerError, match="no branch 'dve'"):
            commit(ledger, 0, "a", branch="dve")
        with pytest.raises(LedgerError, match="no branch 'dve'"):
            ledger.fork("new", source="dve")
        with pytest.raises(LedgerError, match="no version 3"):
            ledger.promote(3)
        with pytest.raises(LedgerError, match="'stable' exists already"):
            ledger.fork("stable")

    @pytest.mark.parametrize("call", ["snapshot", "commit", "promote", "log", "fork"])
    @remedied("raise LedgerClosedError from every call but close, and let close be called again")
    def test_a_closed_ledger_refuses_every_call(self, ledger: Ledger, call: str) -> None:
        """
        Closing twice is harmless.
        """
        ledger.close()
        ledger.close()
        calls: dict[str, Callable[[], Any]] = {
            "snapshot": ledger.snapshot,
            "commit": lambda: commit(ledger, 0, "a"),
            "promote": lambda: ledger.promote(0),
            "log": ledger.log,
            "fork": lambda: ledger.fork("x"),
        }

        with pytest.raises(LedgerClosedError):
            calls[call]()

    @remedied("compare and set within one lock or transaction: between the two nobody may commit")
    def test_of_many_writers_on_one_version_one_wins(self, ledger: Ledger) -> None:
        """
        With eight threads released at once, again and again: one ``Committed``, seven ``HeadMoved``.
        """
        for version in range(50):
            barrier = threading.Barrier(8)
            answers: list[Committed | HeadMoved] = []

            def race(
                writer: int,
                barrier: threading.Barrier = barrier,
                version: int = version,
                answers: list[Committed | HeadMoved] = answers,
            ) -> None:
                barrier.wait()
                answers.append(commit(ledger, version, [version, writer], f"{version}-{writer}"))

            run_threads(race, 8)

            assert 1 == answers.count(Committed(version + 1))
            assert 7 == answers.count(HeadMoved(ledger.snapshot()))

    @remedied("compare and set within one lock or transaction: between the two nobody may commit")
    def test_no_update_is_lost(self, ledger: Ledger) -> None:
        """
        Writers that add one on top of the head until it is theirs: the sum is the number of adds.
        """

        def add(writer: int) -> None:
            for number in range(25):
                while True:
                    head = ledger.snapshot()
                    key = f"{writer}-{number}-{head.version}"
                    answer = commit(ledger, head.version, head.artifact.value + 1, key)
                    if isinstance(answer, Committed):
                        break

        run_threads(add, 6)

        assert Snapshot(150, Artifact(150)) == ledger.snapshot()
        assert list(range(1, 151)) == [entry.version for entry in ledger.log()]
        assert list(range(150)) == [entry.parent for entry in ledger.log()]

    @remedied(
        "store versions, branches, logs and keys before a commit is acknowledged, and read "
        "all of them when it is opened"
    )
    def test_opened_again_it_has_everything(self, make: Make, reopen: Reopen) -> None:
        """
        Versions, branches, logs and keys; the initial state is that of the first opening.
        """
        ledger = make(Artifact({"a.md": "0"}))
        for version in range(5):
            commit(ledger, version, {"a.md": f"{version + 1}", "b.md": "same"}, f"k{version}")
        ledger.promote(2)
        ledger.fork("side")
        before = seen(ledger)
        ledger = reopen(ledger)

        assert before == seen(ledger)
        assert Committed(3) == commit(ledger, 2, {"a.md": "3", "b.md": "same"}, "k2")
        with pytest.raises(LedgerError, match="another state"):
            commit(ledger, 5, {}, "k2")
        assert Committed(6) == commit(ledger, 5, {"a.md": "6"}, "k5")
        ledger.close()

    @pytest.mark.parametrize("seed", range(5))
    @remedied("do as headway.builtins._memory_ledger does in the call that is shown")
    def test_it_answers_as_the_ledger_in_memory_does(self, make: Make, seed: int) -> None:
        """
        In a walk of seeded random calls, right and wrong ones.
        """
        walk = Walk(seed)
        with closing(make(Artifact(walk.state))) as ledger, closing(walk.model()) as model:
            for _ in range(150):
                call = walk.call(model)

                assert answer(model, call) == answer(ledger, call), call

    @pytest.mark.parametrize("seed", range(2))
    @remedied(
        "do as the ledger in memory does in the call that is shown, also with what was read "
        "from storage"
    )
    def test_so_it_does_when_opened_again_and_again(
        self, make: Make, reopen: Reopen, seed: int
    ) -> None:
        """
        The same walk, with the ledger closed and opened now and then.
        """
        walk = Walk(seed)
        ledger = make(Artifact(walk.state))
        with closing(walk.model()) as model:
            for number in range(150):
                call = walk.call(model)

                assert answer(model, call) == answer(ledger, call), call
                if number % 10 == 9:
                    ledger = reopen(ledger)
            assert seen(model) == seen(ledger)
        ledger.close()

    @remedied(
        "hold a lock that other processes see (a file lock, a transaction) while you compare and set,"
        " and read the head within it"
    )
    def test_two_processes_lose_no_update(self, make: Make, elsewhere: Elsewhere) -> None:
        """
        Each adds one on top of the head until it is its own; a third one looks on.
        """
        with closing(make(Artifact({"sum": 0}))) as ledger:
            writers = [Writer(elsewhere(ledger), "add", name, self.adds) for name in "ab"]
            for writer in writers:
                writer.let_go()
            codes = [writer.ended() for writer in writers]
            head, log = ledger.snapshot(), ledger.log()

        assert [0, 0] == codes
        assert {"sum": 2 * self.adds, "a": self.adds - 1, "b": self.adds - 1} == head.artifact.value
        assert list(range(1, 2 * self.adds + 1)) == [entry.version for entry in log]
        assert sorted("ab" * self.adds) == sorted(entry.message for entry in log)

    @remedied(
        "write a commit so that it is there whole or not at all, and answer once it is; a ledger that"
        " promises less has durability = 'none'"
    )
    def test_what_was_acknowledged_survives_kill(
        self, make: Make, reopen: Reopen, elsewhere: Elsewhere
    ) -> None:
        """
        A process is killed in the midst of committing: what it said is there, whole, in order; at most
        one commit more was made; and the same key says whether it was.
        """
        ledger = make(Artifact({}))
        if getattr(ledger, "durability", "none") == "none":
            ledger.close()
            pytest.skip("durability is none")
        for acknowledged in self.kills:
            writer = Writer(elsewhere(ledger), "go on")
            writer.let_go()
            told = [writer.read() for _ in range(acknowledged)]
            last = int([*told, *writer.killed()][-1])
            ledger = reopen(ledger)
            head, log = ledger.snapshot(), ledger.log()

            assert last <= head.version <= last + 1
            assert list(range(1, head.version + 1)) == [entry.version for entry in log]
            states = [spelled(ledger.snapshot("dev", version)) for version in range(1, last + 1)]
            assert [spelled(Snapshot(0, state_of(v))) for v in range(last)] == states
            assert Committed(last) == ledger.commit(
                last - 1, state_of(last - 1), key=f"k{last - 1}", message="again"
            )
        ledger.close()
