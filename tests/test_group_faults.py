"""
What steps of groups may do at odd moments, and what must hold all the same.
"""

from collections import Counter

import pytest

import headway
from groups import Better, Slope, options
from headway import Artifact, Commit, Consume, Measure
from headway.builtins._policies import Window
from headway.contracts import Gather, Train, UpdateDone, charge
from headway.durations import parse_law

DRIVERS = ("threads", "asyncio", "simulated", "serial")
UNEVEN = parse_law("lognormal:0.3,1")


def go(aggregator, domain=None, driver="simulated", law=UNEVEN, **more):
    """A run; under the virtual clock rollouts, measurements and trainings take time."""
    if driver == "simulated":
        more["durations"] = {"rollout": law, "measure": parse_law("constant:2"), "train": UNEVEN}
    return headway.run(domain or Slope(), aggregator=aggregator, driver=driver, **options(**more))


def gathered(cards):
    """All cards of a batch."""
    held = list(cards)
    while more := (yield Gather()):
        held += more
    held.sort(key=lambda card: card.number)
    return held


@pytest.mark.parametrize("decide", [Commit, Consume])
@pytest.mark.parametrize("driver", ["threads", "asyncio", "simulated"])
def test_gathering_after_the_batch(driver, decide):
    """A step that asks for more once its batch is used gets nothing more."""
    told = []

    class Greedy(Better):
        def step(self, cards, context):
            held = yield from gathered(cards)
            if decide is Commit:
                yield Commit(Artifact(context.head.artifact.value + 1), held)
            else:
                yield Consume(held)
            told.append((yield Gather()))

    result = go(Greedy(gathers=True), driver=driver, updates=3)

    assert ("updates", [(), (), ()]) == (result.stop_reason, told)


class AllThenNone(Better):
    """Uses its batch with the first update and moves the head once more after that."""

    def step(self, cards, context):
        value = context.head.artifact.value
        yield Commit(Artifact(value + 1), cards)
        yield Measure((Artifact(value + 5),), context.held_out)
        yield Commit(Artifact(value + 2), ())


def test_the_second_update_without_groups():
    """No group begins between two updates of a step: none is lost, and sync runs are equal."""
    digests = set()
    for driver in ("simulated", "threads", "serial"):
        for workers in (1, 3, 24):
            aggregator = AllThenNone(updates_per_step=2)
            result = go(aggregator, driver=driver, mode="sync", n_workers=workers, updates=4)
            digests.add(result.digest)
            assert 4 * 4 * 2 == result.rollouts
    ahead = go(AllThenNone(updates_per_step=2), max_staleness=1, updates=12)

    assert 1 == len(digests)
    assert (12 * 4 * 2, 0) == (ahead.rollouts, ahead.decisions.get("discarded:stale", 0))


@pytest.mark.parametrize("seed", range(12))
def test_the_target_while_gathering(seed):
    """A run at its target says so, also when a step waits for groups that will not begin any more."""

    class Jump(Better):
        def step(self, cards, context):
            held = yield from gathered(cards)
            yield Commit(Artifact(3.0), held)

    aggregator = Jump(batch=4, group_size=1, gathers=True)
    more = {"target_reward": -0.5, "max_rollouts": 400, "n_workers": 2, "updates": None}
    assert "target_reward" == go(aggregator, seed=seed, **more).stop_reason


@pytest.mark.parametrize("how", ["rejects", "names no card", "consumes"])
def test_updates_count_whatever_they_decide(how):
    """A batch that changed nothing is an update too, or a run that has converged would never end."""

    class Stubborn(Better):
        def step(self, cards, context):
            worse = Artifact(context.head.artifact.value - 1)
            if how == "rejects":
                yield Measure((context.head, worse), context.held_out)
            elif how == "consumes":
                yield Consume(cards)
            else:
                yield Commit(worse, ())

    told = []
    result = go(Stubborn(), updates=4, observers=[told.append])

    assert "updates" == result.stop_reason
    assert 32 <= result.rollouts <= 64
    assert 4 == sum(isinstance(notice, UpdateDone) for notice in told)


def test_a_step_that_raises_after_a_part_is_no_update():
    """Its batch is not used up; what is left of it comes again."""

    class Partial(Better):
        def step(self, cards, context):
            yield Commit(Artifact(context.head.artifact.value + 1), cards[:1])
            if len(cards) > 1:
                raise ValueError("half done")

    result = go(Partial(batch=2, group_size=1), max_staleness=4, admit_ahead=2, updates=4)

    assert result.updates == 4 or "error" == result.stop_reason
    assert result.updates <= result.decisions["committed"] // 1


class Costly(Slope):
    """A domain whose trainings cost tokens, and give a number by chance."""

    def train(self, state, cards, payload, *, rng):
        charge(tokens=1000)
        return rng.random() / 10


def test_no_training_begins_once_all_is_spent():
    """What one training charges may exceed a maximum; then nothing more begins."""

    class Thrice(Better):
        def step(self, cards, context):
            for number in range(3):
                yield Train(cards, number)
            yield Commit(Artifact(context.head.artifact.value + 0.1), cards)

    more = {"max_staleness": 8, "admit_ahead": 8, "n_workers": 100, "updates": 50}
    result = go(Thrice(), Costly(), max_tokens=1500, tokens_per_call=1, **more)

    assert ("max_tokens", 2000) == (result.stop_reason, result.usage.tokens)


@pytest.mark.parametrize("pinned", [False, True])
def test_chance_in_trainings_does_not_know_who_came_first(pinned):
    """A training's ``rng`` depends on its step and on which of its trainings it is."""

    class Tossing(Better):
        def step(self, cards, context):
            held = yield from gathered(cards)
            moved = yield Train(held)
            yield Commit(Artifact(context.head.artifact.value + moved), held)

    more = {"mode": "sync"}
    if pinned:
        more = {"batch_order": "admission", "bases": "stamp", "admit_ahead": 2}
    digests = {
        go(
            Tossing(gathers=True), Costly(), driver=driver, n_workers=workers, updates=4, **more
        ).digest
        for driver in ("simulated", "threads", "asyncio")
        for workers in (1, 3, 24)
    }

    assert 1 == len(digests)


class Moody:
    """A policy that discards what is too old, and raises at every other question."""

    rule = "none"

    def __init__(self):
        self.asked = 0

    def decide(self, eta, alpha, contract_breaking):
        self.asked += 1
        if self.asked % 2:
            raise ValueError("moody")
        return "discard" if eta > alpha else "accept"


class Rebasing:
    """A policy that wants outcomes rebased, which nobody can."""

    rule = "none"

    def decide(self, eta, alpha, contract_breaking):
        return "rebase"


@pytest.mark.parametrize("policy", [Moody, Rebasing])
def test_a_policy_that_does_not_answer_lets_nothing_through(policy):
    """Groups of which it has not said that they may be used are not used."""
    result = go(
        Better(batch=4, group_size=1),
        policy=policy(),
        law=parse_law("pareto:1,1.1"),
        max_staleness=1,
        n_workers=64,
        updates=100,
    )

    assert result.decisions["discarded:stale"] > 10
    assert max(result.committed_by_eta) <= 1


def test_a_window_and_steps_that_use_a_part():
    """Such steps move the head without using a batch; the run goes on."""

    class Part(Better):
        def step(self, cards, context):
            yield Commit(Artifact(context.head.artifact.value + 1), cards[:1])
            yield Measure((Artifact(context.head.artifact.value + 2),), context.held_out)

    for mode in ("sync", "async"):
        result = go(Part(), policy=Window(2), mode=mode, updates=5)
        assert "updates" == result.stop_reason


def test_each_group_ends_once_whatever_steps_do():
    """The counts of the groups add up: used, discarded, given up."""
    result = go(AllThenNone(updates_per_step=2), max_staleness=3, updates=9)

    assert Counter(result.decisions) >= Counter({"committed": 36})
    assert result.rollouts == 2 * sum(result.decisions.values())
