"""
What every ledger must do, as tests that the author of a ledger runs; they need pytest.

::

    from headway.testing.ledgers import LedgerContract

    class TestMyLedger(LedgerContract):
        @pytest.fixture
        def make(self, tmp_path):
            return lambda initial=None: MyLedger(tmp_path / uuid4().hex, initial=initial)

        @pytest.fixture
        def reopen(self):
            return lambda ledger: (ledger.close(), MyLedger(ledger.path))[1]
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, TypeAlias

import pytest

from headway.contracts import (
    Artifact,
    Committed,
    HeadMoved,
    Json,
    Ledger,
    Snapshot,
    canonical_json,
)
from headway.errors import LedgerClosedError, LedgerError, UnsafeNameError
from headway.testing._walks import ALIKE, Walk, answer, seen, spelled

Make: TypeAlias = Callable[[Artifact | None], Ledger]
"""Makes a new ledger of its own at each call, with this state at version 0."""

Reopen: TypeAlias = Callable[[Ledger], Ledger]
"""Closes a ledger and opens what it stored again."""

HOSTILE_BRANCHES: tuple[str, ...] = (
    "",
    "-rf",
    ".hidden",
    "a/b",
    "a..b",
    "x.lock",
    "end.",
    "a b",
    "a\n",
    "\u00fcber",
    "x" * 101,
)
"""Names that no branch may have."""

VALUES: dict[str, Json] = {
    "null": None,
    "whole": 1,
    "real": 1.0,
    "true": True,
    "minus-zero": -0.0,
    "small": 5e-324,
    "large-whole": 10**30,
    "empty-text": "",
    "empty-list": [],
    "empty-mapping": {},
    "text": "two\nlines, a \x00, \u00fcber, \U0001f600",
    "half-a-pair": "\ud800",
    "nested": {"a": [{"b": [[], {}, None, "\u2028"]}, 0.1], "": {"": ""}},
    "deep": {"a": {"b": {"c": {"d": {"e": [[[[[1]]]]]}}}}},
    "long": {"a.md": "x" * 200_000, "b.md": "\u00e9" * 50_000},
    "wide": {f"{number}.md": str(number) for number in range(2_000)},
    "numbers": [number / 7 for number in range(5_000)],
}
"""States that a ledger must give back as they were."""


def commit(
    ledger: Ledger, expected: int, value: Json, key: str | None = None, branch: str = "dev"
) -> Committed | HeadMoved:
    """
    Commit a value, with a key and a message made from it unless there is a key.
    """
    key = f"k{value}" if key is None else key
    return ledger.commit(expected, Artifact(value), key=key, message=f"m{value}", branch=branch)


def run_threads(function: Callable[[int], None], count: int) -> None:
    """
    Call a function on so many threads at once, each with its number; raise what one of them raised.
    """
    failed: list[BaseException] = []

    def call(number: int) -> None:
        try:
            function(number)
        except BaseException as error:  # noqa: BLE001 - it is raised by the thread that waits
            failed.append(error)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


class LedgerContract:
    """
    Tests for any ledger: subclass it, and say with two fixtures how one is made and opened again.

    ``make`` must be given; ``reopen`` is for a ledger whose versions outlive it, and the tests that
    need it are skipped without.  A ledger may let states other than mappings of names go, but none
    of the newest ten.
    """

    @pytest.fixture
    def make(self) -> Make:
        """
        A function that makes a ledger with a state at version 0.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a fixture 'make'")

    @pytest.fixture
    def reopen(self) -> Reopen:
        """
        A function that closes a ledger and opens what it stored again.
        """
        pytest.skip("keeps nothing beyond its end")

    @pytest.fixture
    def ledger(self, make: Make) -> Iterator[Ledger]:
        """
        A ledger with 0 at version 0.
        """
        with closing(make(Artifact(0))) as ledger:
            yield ledger

    def test_it_begins_at_version_zero(self, ledger: Ledger, make: Make) -> None:
        """
        Both branches hold the initial state, and nothing was committed.
        """
        start = Snapshot(0, Artifact(0))
        with closing(make(None)) as bare:
            assert Snapshot(0, Artifact(None)) == bare.snapshot()

        assert isinstance(ledger, Ledger)
        assert (start, start) == (ledger.snapshot(), ledger.snapshot("stable"))
        assert () == ledger.log()
        assert getattr(ledger, "durability", "none") in {"none", "process", "power"}

    def test_a_commit_on_the_head_moves_it(self, ledger: Ledger) -> None:
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
    def test_a_commit_on_anything_else_changes_nothing(self, ledger: Ledger, expected: int) -> None:
        """
        It is answered with the head that is there instead.
        """
        commit(ledger, 0, "a")
        before = ledger.snapshot(), ledger.log()

        assert HeadMoved(before[0]) == commit(ledger, expected, "b")
        assert before == (ledger.snapshot(), ledger.log())

    def test_the_same_state_may_come_again(self, ledger: Ledger) -> None:
        """
        A commit that changes nothing, and one that goes back, are versions like any other.
        """
        for version, value in enumerate(["a", "a", 0, "a"]):
            assert Committed(version + 1) == commit(ledger, version, value, f"k{version}")

        assert Snapshot(4, Artifact("a")) == ledger.snapshot()
        assert Snapshot(3, Artifact(0)) == ledger.snapshot("dev", 3)

    def test_the_same_key_commits_once(self, ledger: Ledger) -> None:
        """
        The same answer again, also after the head has moved on.
        """
        commit(ledger, 0, "a")
        commit(ledger, 1, "b")

        assert Committed(1) == commit(ledger, 0, "a")
        assert 2 == len(ledger.log())
        assert Snapshot(2, Artifact("b")) == ledger.snapshot()

    def test_a_key_with_another_state_is_an_error(self, ledger: Ledger) -> None:
        """
        Answering as before would lose that state without a word.
        """
        commit(ledger, 0, "a", key="k")
        with pytest.raises(LedgerError, match="'k' named the commit of another state"):
            commit(ledger, 1, "b", key="k")

        assert Snapshot(1, Artifact("a")) == ledger.snapshot()
        assert 1 == len(ledger.log())

    def test_a_key_whose_commit_failed_can_be_used_again(self, ledger: Ledger) -> None:
        """
        ``HeadMoved`` changed nothing, so nothing is kept under the key.
        """
        commit(ledger, 0, "a")
        commit(ledger, 0, "b", key="k")

        assert Committed(2) == commit(ledger, 1, "b", key="k")

    def test_keys_are_those_of_a_branch(self, ledger: Ledger) -> None:
        """
        The same key may name another commit on another branch.
        """
        commit(ledger, 0, "a", key="k")

        assert Committed(1) == commit(ledger, 0, "b", key="k", branch="stable")

    def test_a_state_that_is_no_json_is_refused(self, ledger: Ledger) -> None:
        """
        Before anything changes: after an exception the ledger is as it was.
        """
        with pytest.raises(ValueError, match="JSON"):
            commit(ledger, 0, float("nan"))

        assert () == ledger.log()
        assert Committed(1) == commit(ledger, 0, "a")

    @pytest.mark.parametrize("name", VALUES)
    def test_a_state_is_given_back_as_it_was(self, ledger: Ledger, name: str) -> None:
        """
        Whatever JSON can say; the next commit builds on it.
        """
        answer = ledger.commit(0, Artifact(VALUES[name]), key="k", message="m")
        commit(ledger, 1, "next")

        assert Committed(1) == answer
        assert canonical_json(VALUES[name]) == spelled(ledger.snapshot("dev", 1))

    def test_values_that_are_alike_are_told_apart(self, make: Make) -> None:
        """
        1, 1.0 and true are three values, and null is not the absence of a name.
        """
        rest = {"rest.md": "x" * 5_000}  # so that a ledger may find it worth while to keep changes
        changed = [{**rest, "a": value} for value in ALIKE]
        come_and_gone = [state for value in ALIKE for state in ({**rest, "b": value}, rest)]
        within = [{**rest, "a": [value]} for value in ALIKE]
        states = [rest, *changed, *come_and_gone, *within, *ALIKE]
        found: list[str] = []
        with closing(make(Artifact(rest))) as ledger:
            for version, state in enumerate(states):
                commit(ledger, version, state, key=f"k{version}")
                found.append(spelled(ledger.snapshot("dev", version)))

        assert [canonical_json(state) for state in (rest, *states[:-1])] == found

    def test_an_earlier_version_can_be_read(self, ledger: Ledger) -> None:
        """
        By its number, on the branch that has it; one that the branch never had is refused.
        """
        commit(ledger, 0, "a")
        commit(ledger, 1, "b")

        assert Snapshot(1, Artifact("a")) == ledger.snapshot("dev", 1)
        with pytest.raises(LedgerError, match="has no version 1"):
            ledger.snapshot("stable", 1)
        with pytest.raises(LedgerError, match="has no version -1"):
            ledger.snapshot("dev", -1)

    def test_every_version_of_a_mapping_can_be_read(self, make: Make) -> None:
        """
        However many there are: names come, change and go.
        """
        state: dict[str, Json] = {f"{number}.md": "begin" for number in range(20)}
        states = [state]
        with closing(make(Artifact(state))) as ledger:
            for version in range(150):
                state = {**state, f"{version % 30}.md": f"version {version}"}
                state.pop(f"{version * 7 % 30}.md", None)
                states.append(state)
                commit(ledger, version, state, key=f"k{version}")
            found = [spelled(ledger.snapshot("dev", version)) for version in range(151)]

        assert [canonical_json(state) for state in states] == found

    def test_promoting_moves_the_other_branch(self, ledger: Ledger) -> None:
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
        assert [""] == [entry.key for entry in ledger.log("stable")]

    def test_promoting_an_older_version_goes_back(self, ledger: Ledger) -> None:
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

    def test_promoting_never_changes_a_version(self, ledger: Ledger) -> None:
        """
        A branch that made a version of its own keeps it.
        """
        commit(ledger, 0, "a")
        commit(ledger, 0, "other", branch="stable")
        with pytest.raises(LedgerError, match="has a version 1 of its own"):
            ledger.promote(1)

        assert Snapshot(1, Artifact("other")) == ledger.snapshot("stable")

    def test_a_fork_has_the_history_and_goes_its_own_way(self, ledger: Ledger) -> None:
        """
        Both branches can be committed to without seeing each other; the keys come along.
        """
        commit(ledger, 0, "a")
        head = ledger.fork("try-1")
        commit(ledger, 1, "b", branch="try-1")

        assert Snapshot(1, Artifact("a")) == head == ledger.snapshot()
        assert Snapshot(2, Artifact("b")) == ledger.snapshot("try-1")
        assert ["ka", "kb"] == [entry.key for entry in ledger.log("try-1")]
        assert Committed(1) == commit(ledger, 1, "a", branch="try-1")
        assert Committed(2) == commit(ledger, 1, "c")
        assert Snapshot(0, Artifact(0)) == ledger.snapshot("try-1", 0)

    @pytest.mark.parametrize("name", HOSTILE_BRANCHES)
    def test_hostile_branch_names_are_refused(self, ledger: Ledger, name: str) -> None:
        """
        One rule for all ledgers, so that a run can move between them.
        """
        with pytest.raises(UnsafeNameError):
            ledger.fork(name)

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
