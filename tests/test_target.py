"""
What follows once a head is known to reach the target, and what is known of solved tasks.
"""

from __future__ import annotations

from by_hand import Hand, Optimizer, artifact

from headway import Commit, Measure
from headway.builtins._policies import Guarded
from headway.builtins._sampler import ShuffledEpochs
from headway.contracts import Committed, Outcome
from headway.gate import Barrier
from headway.machine import PluginLookups


class Noting(ShuffledEpochs):
    """
    Keeps what it was shown.
    """

    def __init__(self):
        super().__init__()
        self.books = []

    def pick(self, book):
        self.books.append(book)
        return super().pick(book)


class OnlyOne(Noting):
    """
    Picks the same task again and again.
    """

    def pick(self, book):
        self.books.append(book)
        return "a"


def shown(gate=None, sampler=None, **config):
    """
    A machine that runs, and the books that its sampler was shown.
    """
    sampler = sampler or Noting()
    lookups = PluginLookups(
        aggregator=Optimizer(), policy=Guarded(), sampler=sampler, estimator=None
    )
    config = {"slots": 8, "deterministic": True} | config
    return Hand(gate, lookups, **config).start().baseline(), sampler.books


def commit(hand, score):
    """
    The open step measures a candidate and commits it.
    """
    hand.says(Measure((hand.machine.head, artifact(1)), ("x", "y")))
    hand.baseline(score)
    hand.says(Commit(artifact(1), hand.cards))
    return hand.done("commit", Committed(1))


def test_no_rollout_begins_once_the_target_is_reached():
    """
    The open step is waited for; a rollout that began now would only be given up.
    """
    hand, books = shown(target_reward=1.0, n_workers=2)
    hand.card()
    commit(hand, 1.0)
    before = len(books)
    for _ in hand.calls("rollout"):
        hand.done("rollout", Outcome(reward=1.0))

    assert (before, "running") == (len(books), hand.machine.phase)
    hand.returns()
    assert "target_reward" == hand.machine.stop_reason


def test_rollouts_go_on_below_the_target():
    """
    The same with a score that misses it.
    """
    hand, books = shown(target_reward=1.0, n_workers=2)
    hand.card()
    commit(hand, 0.5)
    before = len(books)
    hand.done("rollout", Outcome(reward=1.0))

    assert before + 1 == len(books)


def test_sampler_is_told_what_the_head_solves():
    """
    From the rollout that shows it until the head moves.
    """
    hand, books = shown()
    first = hand.calls("rollout")[0].task
    hand.done("rollout", Outcome(reward=1.0))
    known = books[-1].solved
    hand.card()
    commit(hand, 0.5)
    hand.done("rollout", Outcome(reward=1.0))  # on the head before

    assert (frozenset({first}), frozenset()) == (known, books[-1].solved)


def test_random_rewards_solve_nothing():
    """
    One lucky rollout says nothing of the next one.
    """
    hand, books = shown(deterministic=False)
    hand.done("rollout", Outcome(reward=1.0))

    assert frozenset() == books[-1].solved


def test_a_contradiction_forgets_what_was_solved():
    """
    Rewards that were taken as deterministic, until a task that was solved is not.
    """
    hand, books = shown(sampler=OnlyOne(), deterministic=None)
    hand.done("rollout", Outcome(reward=1.0))
    known = books[-1].solved
    hand.done("rollout", Outcome(reward=0.5))
    hand.done("propose", None)

    assert (frozenset("a"), frozenset()) == (known, books[-1].solved)


def test_order_of_arrival_does_not_show_under_a_barrier():
    """
    What a round's rollouts show counts from the next round on, also when there are fewer workers
    than the round has tickets.
    """
    hand, books = shown(Barrier(n_workers=1, round_size=3))
    for _ in range(3):
        hand.done("rollout", Outcome(reward=1.0))

    assert [frozenset()] * 3 == [book.solved for book in books[:3]]
