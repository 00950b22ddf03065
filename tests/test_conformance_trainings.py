"""
The contracts know trainings: a sound aggregator and domain pass, faulty ones are told what is wrong.
"""

from __future__ import annotations

import inspect

import pytest
from kit import verdict

from headway.contracts import Commit, Consume, Domain, Measure, Train
from headway.testing import ToyDomain
from headway.testing.conformance import AggregatorContract, DomainContract
from headway.testing.conformance.aggregators import small_domain


class Learner:
    """
    Trains twice before it commits what the trainings' toss chooses, and once after.
    """

    batch = 2
    max_steps = 2

    def step(self, cards, context):
        if not cards:
            return None
        learnt = yield Train(cards, ["all", context.step])
        first = cards[int(learnt["toss"] * len(cards))]
        again = yield Train([first], ["one", learnt["right"]])
        learnt.clear()
        child = context.apply(first.diff)
        before, after = yield Measure((context.head, child), context.held_out)
        if sum(after) <= sum(before):
            yield Consume([first])
            return {"tosses": again["toss"]}
        yield Commit(child, [first], memory={"tosses": again["toss"]})
        yield Train([card for card in cards if card is not first], "rest")
        return None


class TestLearner(AggregatorContract):
    """With faults, late answers, crashes, and under drivers with real threads and a real loop."""

    interleavings = 300

    @pytest.fixture
    def make(self):
        return Learner


class TrainsOnWhatIsGone(Learner):
    """
    Learns from a card that it has let go.
    """

    def step(self, cards, context):
        yield Consume(cards)
        yield Train(cards)


class TrainsOnOthers(Learner):
    """
    Learns from a card that it was not given.
    """

    def step(self, cards, context):
        yield Train([card.number + 1000 for card in cards])


class Untaught(ToyDomain):
    """
    Trains nothing.
    """

    name = "untaught"
    train = Domain.train


@pytest.mark.parametrize(
    ("make", "domain", "wrong", "remedy"),
    [
        (TrainsOnWhatIsGone, small_domain, "trains on card", "has not decided"),
        (TrainsOnOthers, small_domain, "holds only", "cards that the step was given"),
        (Learner, Untaught, "the domain 'untaught' trains nothing", "give as the fixture domain"),
    ],
)
def test_a_faulty_aggregator_is_found(make, domain, wrong, remedy):
    """
    Also one whose domain trains nothing; the sound one passes.
    """
    corpus = inspect.unwrap(vars(AggregatorContract)["corpus"])
    name = "test_every_card_is_decided_once"

    def told(part, where):
        made = corpus(AggregatorContract(), part, where)
        return verdict(AggregatorContract, part, name, domain=where, corpus=made)

    said, _, advice = told(make, domain).partition("\n-> ")

    assert wrong in said
    assert remedy in advice
    assert "" == told(Learner, small_domain)


class LearnsOnce(ToyDomain):
    """
    Can't make a training that it has made before.
    """

    def __init__(self):
        super().__init__(n_keys=5, n_tasks=6)
        self.made = set()

    def train(self, state, cards, payload, *, rng):
        if str(payload) in self.made:
            raise KeyError(payload)
        self.made.add(str(payload))


class LearnsObjects(ToyDomain):
    """
    Says what is no JSON value.
    """

    def train(self, state, cards, payload):
        return {"model": object()}


class MarksCards(ToyDomain):
    """
    Changes the cards that it is given.
    """

    def train(self, state, cards, payload):
        for card in cards:
            card.diff["seen"] = 1


class MovesTheState(ToyDomain):
    """
    Changes the state in place.
    """

    async def train(self, state, cards, payload):
        state["a"] = -1


@pytest.mark.parametrize(
    ("make", "wrong", "remedy"),
    [
        (LearnsOnce, "train of the domain 'toy' raised KeyError", "let train do with"),
        (LearnsObjects, "train gave {'model'", "make it of numbers"),
        (MarksCards, "train was given", "change none in place"),
        (MovesTheState, "train was given", "change none in place"),
        (ToyDomain, "", ""),
        (Untaught, "skipped: it has no train", ""),
    ],
)
def test_a_faulty_domain_is_found(make, wrong, remedy):
    """
    By what it says, changes, or can't do twice.
    """
    told = verdict(DomainContract, make, "test_it_can_train_again")

    assert wrong in told
    assert remedy in told


def test_a_domain_may_be_given_cards_and_payloads_of_its_own():
    """
    By the test class.
    """
    seen = []

    class Picky(ToyDomain):
        def train(self, state, cards, payload):
            seen.append(([card.number for card in cards], payload))

    class Contract(DomainContract):
        lessons = ("one", "two")

        def lesson(self, domain):
            return super().lesson(domain)[:1]

    told = verdict(Contract, Picky, "test_it_can_train_again")

    assert told == ""
    assert [payload for _, payload in seen] == ["one", "one", "two", "two"]
    assert {1} == {len(numbers) for numbers, _ in seen}
