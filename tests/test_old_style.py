"""
Tests of aggregators with ``ingest(card)`` and ``step() -> list of MergeReport``.
"""

from __future__ import annotations

import threading

import pytest
from hints import TASKS, parts, reward

from headway import MergeReport, async_evolve, evolve
from headway.builtins._memory_ledger import MemoryLedger
from headway.contracts import Artifact, Commit, Committed, HeadMoved
from headway.errors import OptionError, UsageError
from headway.evolve._conversation import StepAbandoned, conversation
from headway.options import RunOptions

MODES = [
    {"driver": "serial"},
    {"driver": "threads"},
    {"driver": "asyncio", "asynchronous": True, "max_rollouts": 9000},
    {"driver": "threads", "asynchronous": True, "max_rollouts": 9000},
    {"driver": "simulated", "asynchronous": True, "max_rollouts": 300},
]


class Union:
    """
    Commits the union of what it was handed, when that is better.
    """

    def __init__(self, ledger=None, verifier=None, audit=None, config=None, staleness_policy=None):
        self.ledger, self.verifier, self.audit = ledger, verifier, audit
        self.config, self.policy = config, staleness_policy
        self.cards, self.ingested, self.steps = [], [], 0

    def ingest(self, card):
        self.cards.append(card)
        self.ingested.append(card.number)

    def step(self):
        self.steps += 1
        cards, self.cards = self.cards, []
        candidate = self.ledger.apply(*(card.diff for card in cards))
        head = self.ledger.snapshot().artifact.value
        before, after = self.verifier.rows([head, candidate])
        if sum(after) <= sum(before):
            return [MergeReport(outcome="below-threshold", cards=cards)]
        return self.merged(candidate, cards)

    def merged(self, candidate, cards):
        return [MergeReport(outcome="committed", cards=cards, candidate=candidate)]


class Itself(Union):
    """
    Commits through the ledger.
    """

    def merged(self, candidate, cards):
        head = self.ledger.commit(candidate, cards)
        assert head == self.ledger.snapshot()
        assert candidate == head.artifact.value
        return []


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("factory", [Union, Itself])
def test_an_old_aggregator_commits_unchanged_in_every_mode(mode, factory):
    """
    By what it reports, and by its ledger; each card is handed over once.
    """
    made = []

    def make(*given):
        made.append(factory(*given))
        return made[-1]

    result = evolve(TASKS, reward, **parts(), aggregator_factory=make, target_reward=1.0, **mode)

    assert "target_reward" == result.stop_reason
    assert result.decisions["committed"] > 0
    assert () == result.failures
    for one in made:
        assert len(set(one.ingested)) == len(one.ingested)


def test_the_factory_is_called_with_small_real_objects():
    """
    The options, the policy that the run uses, and what measures and commits.
    """
    seen = {}

    def make(ledger, verifier, audit, config, staleness_policy):
        seen.update(config=config, policy=staleness_policy, verifier=verifier)
        with pytest.raises(UsageError, match=r"inside step\(\)"):
            verifier.score([])

        class Scores(Union):
            def step(self):
                seen["score"] = verifier.score(["say alpha"], draws=2)
                seen["audit"] = audit.score(["say alpha"])
                seen["tasks"] = verifier.held_out
                seen["onto"] = ledger.apply({"add": ["b"]}, onto=["a"])
                return super().step()

        return Scores(ledger, verifier, audit, config, staleness_policy)

    result = evolve(
        TASKS, reward, **parts(), aggregator_factory=make, staleness_policy="full", n_workers=3,
        rounds=2,
    )  # fmt: skip

    assert isinstance(seen["config"], RunOptions)
    assert 3 == seen["config"].n_workers
    assert "accept" == seen["policy"].decide(5, 1, False)
    assert seen["score"] == seen["audit"]
    assert result.splits["held_out"] == seen["tasks"]
    assert ["a", "b"] == seen["onto"]


class Hoarder(Union):
    """
    Reports nothing before it has seen three cards.
    """

    def step(self):
        if len(self.cards) < 3:
            return [MergeReport(outcome="waiting", cards=self.cards)]
        return super().step()


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_cards_that_nobody_reports_stay_open(mode):
    """
    They come back with newer ones and are not handed over again; the run's books balance.
    """
    result = evolve(TASKS, reward, **parts(), aggregator_factory=Hoarder, validate=True, **mode)

    assert result.decisions.get("committed", 0) > 0
    assert () == result.failures


class Sorts(Union):
    """
    Gives one reason a card.
    """

    def step(self):
        cards, self.cards = self.cards, []
        outcomes = ["duplicate", "oracle-rejected", "conflict", "all-stale"]
        return [
            MergeReport(outcome=outcomes[card.number % 4], cards=[card.number]) for card in cards
        ]


def test_reasons_are_counted_as_they_are_reported():
    """
    Under the names that the run has for them.
    """
    distinct = parts(propose=lambda r, t, output, reward, ticket: f"rule {ticket.number}")
    result = evolve(TASKS, reward, **distinct, aggregator_factory=Sorts, rounds=2, driver="serial")

    assert {"duplicate": 2, "vetoed": 2, "conflict": 2, "stale": 2} == {
        name.removeprefix("discarded:"): n for name, n in result.decisions.items() if n
    }


class Wrong(Union):
    answer = None

    def step(self):
        self.cards.clear()
        self.verifier.score([])
        return type(self).answer


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "step() of an old-style aggregator returned None; give a list of MergeReport"),
        (["committed"], "returned ['committed']; give a list of MergeReport"),
        ([MergeReport(outcome="committed", cards=range(99))], "names no candidate and nothing was"),
        (
            [
                MergeReport(outcome="committed", candidate=[x], cards=[n])
                for n, x in enumerate("ab")
            ],
            "two candidates to commit, of which the second knows nothing of the first",
        ),
    ],
)
def test_a_report_that_means_nothing_is_a_fault_of_the_aggregator(answer, told, monkeypatch):
    """
    The run says so, and ends after two batches.
    """
    monkeypatch.setattr(Wrong, "answer", answer)
    result = evolve(TASKS, reward, **parts(), aggregator_factory=Wrong, rounds=9, driver="serial")

    assert "error" == result.stop_reason
    assert told in result.error.message


def test_an_outcome_that_nobody_knows_is_refused():
    """
    Where the report is made.
    """
    with pytest.raises(ValueError, match="outcome"):
        MergeReport(outcome="merged")


def test_an_old_aggregator_that_raises_is_contained():
    """
    As any other plug-in.
    """

    class Raises(Union):
        def step(self):
            raise KeyError("mine")

    result = evolve(TASKS, reward, **parts(), aggregator_factory=Raises, rounds=9)

    assert "error" == result.stop_reason
    assert "in step" in result.error.traceback


class Plain:
    """
    An aggregator of the present form, as a factory may make it, too.
    """

    batch = 1

    def step(self, cards, context):
        yield Commit(context.apply(*(card.diff for card in cards)), cards)


def test_an_object_may_be_given_and_a_factory_may_make_a_present_one():
    """
    An object with ``ingest`` is wrapped; what a factory makes is used as it is.
    """

    class Commits(Union):
        def step(self):
            return [MergeReport(outcome="duplicate", cards=self.cards)]

    given = evolve(TASKS, reward, **parts(), aggregator=Commits(), rounds=1, driver="serial")
    made = evolve(TASKS, reward, **parts(), aggregator_factory=lambda *_: Plain(), rounds=1)

    assert 4 == given.decisions["discarded:duplicate"]
    assert 1 == made.version


@pytest.mark.parametrize(
    ("factory", "told"),
    [
        (7, "Give a function that is called as aggregator_factory(ledger, verifier, audit, config"),
        (lambda ledger: Union(), "It is called as aggregator_factory(ledger, verifier, audit"),
        (lambda *_: 7, "aggregator_factory=7: It must make an aggregator"),
    ],
)
def test_a_factory_that_cannot_be_called_or_makes_none_is_refused(factory, told):
    """
    Before anything runs.
    """
    with pytest.raises(OptionError) as caught:
        evolve(TASKS, reward, **parts(), aggregator_factory=factory)

    assert told in str(caught.value)


class Contended(MemoryLedger):
    """
    Somebody else commits first, the first time.
    """

    lost = 0

    def commit(self, expected, artifact, *, key, message, branch="dev"):
        if not self.lost:
            self.lost += 1
            moved = super().commit(expected, Artifact(["say beta"]), key="x", message="theirs")
            assert isinstance(moved, Committed)
            return HeadMoved(self.snapshot())
        return super().commit(expected, artifact, key=key, message=message, branch=branch)


@pytest.mark.parametrize("factory", [Union, Itself])
def test_a_lost_commit_is_made_again_by_a_new_object(factory):
    """
    The step is abandoned in the middle; the next one knows the head that is there now.
    """
    made, heads = [], []

    def make(*given):
        made.append(factory(*given))
        return made[-1]

    class Sees(factory):
        def step(self):
            heads.append(self.ledger.snapshot().version)
            return super().step()

    result = evolve(
        TASKS, reward, **parts(), aggregator_factory=lambda *given: made.append(1) or Sees(*given),
        ledger=Contended(initial=Artifact([])), target_reward=1.0, driver="serial",
    )  # fmt: skip

    assert result.converged
    assert 1 == result.commit_races
    assert 2 <= len(made)
    assert "say beta" in result.state
    assert heads == sorted(heads)


def test_a_function_asks_by_calling_and_is_let_go_when_its_step_is():
    """
    The two take turns, and whoever closes the step waits until the function has let go.
    """
    trace = []

    def asks(ask):
        trace.append(threading.current_thread().name)
        try:
            trace.append(ask("first"))
            trace.append(ask("second"))
        except StepAbandoned:
            trace.append("let go")
            with pytest.raises(StepAbandoned):
                ask("third")
            raise
        return "done"

    talk = conversation(asks)
    assert "first" == next(talk)
    assert "second" == talk.send(1)
    with pytest.raises(StopIteration) as stopped:
        talk.send(2)
    assert "done" == stopped.value.value
    assert ["headway-old-style", 1, 2] == trace

    trace.clear()
    talk = conversation(asks)
    next(talk)
    talk.close()
    assert ["headway-old-style", "let go"] == trace


def test_simulated_runs_with_an_old_aggregator_repeat():
    """
    Although it runs on a thread of its own.
    """
    digests = {
        async_evolve(
            TASKS, reward, **parts(), aggregator_factory=Union, driver="simulated", max_rollouts=60
        ).digest
        for _ in range(3)
    }

    assert 1 == len(digests)
