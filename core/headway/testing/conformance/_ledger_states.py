"""
The half of the contract of ledgers that is about states, versions and branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from headway.contracts import Artifact, Committed, HeadMoved, Json, Ledger, Snapshot, canonical_json
from headway.errors import LedgerError
from headway.testing._walks import ALIKE, spelled
from headway.testing.conformance._common import Contract
from headway.testing.conformance._ledger_calls import HOSTILE_TEXTS, VALUES, Make, commit, remedied


class LedgerStates(Contract):
    """
    Tests of what a ledger stores and gives back.
    """

    @pytest.fixture
    def ledger(self, make: Make) -> Iterator[Ledger]:
        """
        A ledger with 0 at version 0.
        """
        with closing(make(Artifact(0))) as ledger:
            yield ledger

    @remedied(
        "begin dev and stable at version 0 with `initial`, without a log entry; durability is"
        " 'none', 'process' or 'power'"
    )
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

    @remedied(
        "number a commit one above the newest, and log version, parent, digest, message and key"
    )
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
    @remedied(
        "compare expected with the head's version and answer HeadMoved(head) where they "
        "differ, before anything is written"
    )
    def test_a_commit_on_anything_else_changes_nothing(self, ledger: Ledger, expected: int) -> None:
        """
        It is answered with the head that is there instead.
        """
        commit(ledger, 0, "a")
        before = ledger.snapshot(), ledger.log()

        assert HeadMoved(before[0]) == commit(ledger, expected, "b")
        assert before == (ledger.snapshot(), ledger.log())

    @remedied("make a version of every commit, also of one with a state that was there before")
    def test_the_same_state_may_come_again(self, ledger: Ledger) -> None:
        """
        A commit that changes nothing, and one that goes back, are versions like any other.
        """
        for version, value in enumerate(["a", "a", 0, "a"]):
            assert Committed(version + 1) == commit(ledger, version, value, f"k{version}")

        assert Snapshot(4, Artifact("a")) == ledger.snapshot()
        assert Snapshot(3, Artifact(0)) == ledger.snapshot("dev", 3)

    @remedied("keep each commit's key with its version, look there first, and answer as before")
    def test_the_same_key_commits_once(self, ledger: Ledger) -> None:
        """
        The same answer again, also after the head has moved on.
        """
        commit(ledger, 0, "a")
        commit(ledger, 1, "b")

        assert Committed(1) == commit(ledger, 0, "a")
        assert 2 == len(ledger.log())
        assert Snapshot(2, Artifact("b")) == ledger.snapshot()

    @remedied(
        "compare the digest of the state with the one that was committed under the key, and "
        "raise LedgerError where they differ"
    )
    def test_a_key_with_another_state_is_an_error(self, ledger: Ledger) -> None:
        """
        Answering as before would lose that state without a word.
        """
        commit(ledger, 0, "a", key="k")
        with pytest.raises(LedgerError, match="'k' named the commit of another state"):
            commit(ledger, 1, "b", key="k")

        assert Snapshot(1, Artifact("a")) == ledger.snapshot()
        assert 1 == len(ledger.log())

    @remedied("keep a key only with a commit that was made")
    def test_a_key_whose_commit_failed_can_be_used_again(self, ledger: Ledger) -> None:
        """
        ``HeadMoved`` changed nothing, so nothing is kept under the key.
        """
        commit(ledger, 0, "a")
        commit(ledger, 0, "b", key="k")

        assert Committed(2) == commit(ledger, 1, "b", key="k")

    @remedied("look a key up among the branch's own")
    def test_keys_are_those_of_a_branch(self, ledger: Ledger) -> None:
        """
        The same key may name another commit on another branch.
        """
        commit(ledger, 0, "a", key="k")

        assert Committed(1) == commit(ledger, 0, "b", key="k", branch="stable")

    @remedied("spell the state (artifact.digest) before anything is written")
    def test_a_state_that_is_no_json_is_refused(self, ledger: Ledger) -> None:
        """
        Before anything changes: after an exception the ledger is as it was.
        """
        with pytest.raises(ValueError, match="JSON"):
            commit(ledger, 0, float("nan"))

        assert () == ledger.log()
        assert Committed(1) == commit(ledger, 0, "a")

    @pytest.mark.parametrize("name", VALUES)
    @remedied("store canonical_json(artifact.value), or what it can be made from to the letter")
    def test_a_state_is_given_back_as_it_was(self, ledger: Ledger, name: str) -> None:
        """
        Whatever JSON can say; the next commit builds on it.
        """
        answer = ledger.commit(0, Artifact(VALUES[name]), key="k", message="m")
        commit(ledger, 1, "next")

        assert Committed(1) == answer
        assert canonical_json(VALUES[name]) == spelled(ledger.snapshot("dev", 1))

    @remedied("compare spellings (canonical_json), not values: Python calls 1, 1.0 and True equal")
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

    @remedied(
        "look a version up on the branch that was asked for, and raise LedgerError for one it"
        " never had"
    )
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

    @remedied("keep every version of a mapping, whole or as its difference from the one before")
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

    @remedied(
        "set the target's head to that version under its own number, leave the source alone, "
        "and log it with the key ''"
    )
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

    @remedied("number the next commit above the newest version that the branch ever had")
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

    @remedied("raise LedgerError where the target has another state under that number")
    def test_promoting_never_changes_a_version(self, ledger: Ledger) -> None:
        """
        A branch that made a version of its own keeps it.
        """
        commit(ledger, 0, "a")
        commit(ledger, 0, "other", branch="stable")
        with pytest.raises(LedgerError, match="has a version 1 of its own"):
            ledger.promote(1)

        assert Snapshot(1, Artifact("other")) == ledger.snapshot("stable")

    @remedied(
        "begin the new branch with the source's versions, log and keys, and share nothing "
        "from there on"
    )
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

    @remedied("give copies, or values that nobody changes: (*self._log,) and not the list itself")
    def test_what_was_given_stays_as_it_was(self, ledger: Ledger) -> None:
        """
        A snapshot and a log that somebody holds are not those of later.
        """
        ledger.commit(0, Artifact({"a.md": "one"}), key="one", message="m")
        snapshot, log = ledger.snapshot(), ledger.log()
        before = snapshot.version, spelled(snapshot), [*log]
        for version in range(1, 4):
            state = Artifact({"a.md": f"later {version}", "b.md": ""})
            ledger.commit(version, state, key=f"k{version}", message="m")
        ledger.promote(2)

        assert before == (snapshot.version, spelled(snapshot), [*log])
        assert isinstance(log, tuple)
        assert spelled(snapshot) == spelled(ledger.snapshot("dev", 1))

    @remedied(
        "store keys and messages as data: quote nothing by hand, and make no file names of them"
    )
    @pytest.mark.parametrize("text", HOSTILE_TEXTS, ids=ascii)
    def test_hostile_keys_and_messages_come_back(self, ledger: Ledger, text: str) -> None:
        """
        A key and a message are any texts.
        """
        answers = [
            ledger.commit(0, Artifact("a"), key=text, message=text),
            ledger.commit(1, Artifact("b"), key="next", message=""),
            ledger.commit(0, Artifact("a"), key=text, message=text),
        ]
        entry = ledger.log()[0]

        assert [Committed(1), Committed(2), Committed(1)] == answers
        assert (text, text) == (entry.key, entry.message)
