"""
Sync mode is a plain loop, whoever runs it and with however many workers.
"""

from __future__ import annotations

import threading
from functools import cache
from math import fsum

import attrs
import pytest

from headway import run
from headway.builtins._sampler import ShuffledEpochs
from headway.builtins.standard import Sequential, StandardAggregator
from headway.contracts import (
    Artifact,
    Card,
    Carry,
    Commit,
    Compare,
    Comparison,
    Consume,
    Decision,
    Measure,
    MeasureAll,
    Snapshot,
    StepContext,
    TaskBook,
    content_digest,
)
from headway.durations import Constant, LogNormal, Pareto
from headway.keyed import keyed_rng
from headway.machine import RunDigest
from headway.testing._toy import ToyDomain

SEED, ROUNDS = 3, 9
LAWS = {"constant": Constant(1.0), "lognormal": LogNormal(1.0, 0.8), "pareto": Pareto(1.0, 1.2)}
KINDS = ("rollout", "propose", "measure", "rebase", "commit")
DOMAINS = {
    "same": {"n_keys": 20, "right": 0.2},
    "noisy": {"n_keys": 6, "n_tasks": 8, "noise": 0.05},
}
MOST_SECONDS = 0.004
SECONDS_A_UNIT = 0.0003
NEVER = threading.Event()
cases = pytest.mark.parametrize(
    ("kind", "round_size"), [("same", 1), ("same", 5), ("same", 8), ("noisy", 5)]
)


class Unpunctual(ToyDomain):
    """
    A toy whose answers take as long as a law and the call's own random numbers say.

    The waits are real, and drawn last, so that the answers are those of the toy itself.
    """

    def __init__(self, law, **options):
        super().__init__(**options)
        self.law, self.begun, self.ended = law, [], []

    def rollout(self, state, task, *, rng):
        outcome, mark = super().rollout(state, task, rng=rng), rng.random()
        self.begun.append(mark)
        self.wait(mark)
        self.ended.append(mark)
        return outcome

    def propose(self, state, task, outcome, *, rng):
        diff = super().propose(state, task, outcome, rng=rng)
        self.wait(rng.random())
        return diff

    def measure(self, state, task, *, rng):
        reward = super().rollout(state, task, rng=rng).reward
        self.wait(rng.random())
        return reward

    def wait(self, mark):
        NEVER.wait(min(MOST_SECONDS, SECONDS_A_UNIT * self.law.draw(mark)))


class Decisive(StandardAggregator):
    """
    The standard aggregator, letting go of what it would carry over: a round then ends with its step.
    """

    def step(self, cards, context):
        step, answer, left = super().step(cards, context), None, []
        while (request := ask(step, answer, left)) is not None:
            answer = None if isinstance(request, Carry) else (yield request)
        return left[0]


def straight_line(domain, round_size):  # noqa: C901 - one straight line, to be read from top to end
    """
    The loop that sync mode stands for: roll a round out, then let one step decide its cards.
    """
    aggregator, sampler, digest, memory = decisive(), ShuffledEpochs(), RunDigest(), None
    splits, steps, number = domain.tasks(), 0, 0
    tasks = {task.id: task for task in (*splits.train, *splits.held_out)}
    head = Snapshot(0, Artifact(domain.initial()))
    book = TaskBook(train=tuple(t.id for t in splits.train), drawn=0, retry=(), seed=SEED)
    digest.commit(0, head.digest)

    def decide(cards, kind, reason=""):
        for card in cards:
            decision = Decision(card=card, kind=kind, reason=reason, version=head.version)
            digest.decide(decision, held.pop(card).digest)

    def measure(artifact, task, draw):
        rng = keyed_rng(SEED, "measure", task, draw, artifact.digest)
        return float(domain.measure(artifact.value, tasks[task], rng=rng))

    def scores(request):
        draws = range(request.first, request.first + request.draws)
        pairs = [(task, n) for task in request.tasks for n in draws]
        return [[measure(a, *pair) for pair in pairs] for a in request.candidates]

    for _ in range(ROUNDS):
        held = {}
        for _ in range(round_size):
            card, book = roll_out(domain, head, tasks[sampler.pick(book)], book, number)
            if card is not None:
                held[number] = card
                number += 1
        said = [card.digest for card in held.values()]
        again = [n for i, n in enumerate(held) if said.index(held[n].digest) < i]
        decide(again, "discarded", "duplicate")
        if not held:
            continue
        steps += 1
        step = aggregator.step(tuple(held.values()), context(domain, head, steps, memory))
        answer, left = None, []
        while (request := ask(step, answer, left)) is not None:
            answer = None
            if isinstance(request, Compare):
                rows = [
                    [measure(a, task, 0) for task in request.tasks]
                    for a in (request.reference, *request.candidates)
                ]
                answer = compared([round(fsum(row) / len(row), 9) for row in rows])
            elif isinstance(request, Measure):
                answer = scores(request)
            elif isinstance(request, MeasureAll):
                answer = [scores(part) for part in request.measures]
            elif isinstance(request, Commit):
                head = answer = Snapshot(head.version + 1, request.candidate)
                digest.commit(head.version, head.digest)
                decide(request.cards, "committed")
                memory = request.memory
            elif isinstance(request, Consume):
                decide(request.cards, "discarded", request.reason)
        decide(list(held), "discarded", "worse")
        memory = memory if left[0] is None else left[0]
    return digest.hexdigest(), head


def roll_out(domain, head, task, book, number):
    """
    One ticket, from its rollout to its card, if it makes one.
    """
    ticket, state = book.drawn, head.artifact.value
    book = attrs.evolve(book, drawn=book.drawn + 1)
    outcome = domain.rollout(state, task, rng=keyed_rng(SEED, "rollout", ticket))
    if outcome.reward >= domain.solved:
        return None, book
    diff = domain.propose(state, task, outcome, rng=keyed_rng(SEED, "propose", ticket))
    if diff is None or domain.apply(state, diff) == state:
        return None, book
    after = domain.rollout(domain.apply(state, diff), task, rng=keyed_rng(SEED, "rollout", ticket))
    card = Card(
        number=number,
        tickets=(ticket,),
        task=task.id,
        base=head.version,
        diff=diff,
        digest=content_digest(diff),
        keys=domain.keys(diff),
        reward=outcome.reward,
        delta=after.reward - outcome.reward,
    )
    return card, book


def compared(means):
    better = tuple(n for n, mean in enumerate(means[1:]) if mean > means[0])
    best = max(better, key=lambda n: (means[n + 1], -n), default=None)
    return Comparison(best=best, better=better)


def decisive():
    return Decisive(acceptance=Sequential(max_draws=30))


def context(domain, head, step, memory):
    def combine(artifact, *diffs):
        for diff in diffs:
            artifact = Artifact(domain.apply(artifact.value, diff))
        return artifact

    return StepContext(
        head=head,
        memory=memory,
        held_out=tuple(task.id for task in domain.tasks().held_out),
        deterministic=domain.deterministic,
        quiet=False,
        rng=keyed_rng(SEED, "step", step),
        step=step,
        combine=combine,
    )


def ask(step, answer, left):
    """
    What a step asks for next; None at its end, when ``left`` takes the memory that it leaves.
    """
    try:
        return step.send(answer)
    except StopIteration as stop:
        left.append(stop.value)
        return None


@cache
def expected(kind, round_size):
    return straight_line(ToyDomain(**DOMAINS[kind]), round_size)


def sync(domain, round_size, **options):
    return run(
        ToyDomain(**DOMAINS[domain]) if isinstance(domain, str) else domain,
        mode="sync",
        seed=SEED,
        round_size=round_size,
        rounds=ROUNDS,
        aggregator=decisive(),
        **options,
    )


def seen(result):
    assert "rounds" == result.stop_reason

    return result.digest, Snapshot(result.version, Artifact(result.state))


@cases
def test_the_loop_gets_somewhere(kind, round_size):
    """
    The comparison is worth something: there are commits, and more is left to find.
    """
    domain = ToyDomain(**DOMAINS[kind])
    _, head = expected(kind, round_size)

    assert 1 < head.version
    assert head.artifact.value != domain.initial()
    assert head.artifact.value != domain.hidden


@cases
@pytest.mark.parametrize("n_workers", [1, 64])
def test_serial_is_the_straight_line_loop(kind, round_size, n_workers):
    """
    One call after the other, at any number of workers.
    """
    result = sync(kind, round_size, driver="serial", n_workers=n_workers, validate=True)

    assert expected(kind, round_size) == seen(result)


@cases
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n_workers", [1, 3, 8, 64])
def test_simulated_is_the_straight_line_loop(kind, round_size, n_workers, law):
    """
    Whatever the order in which answers arrive.
    """
    durations = dict.fromkeys(KINDS, LAWS[law])
    result = sync(kind, round_size, driver="simulated", n_workers=n_workers, durations=durations)

    assert expected(kind, round_size) == seen(result)


@pytest.mark.parametrize(("kind", "round_size"), [("same", 8), ("noisy", 5)])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n_workers", [1, 3, 8, 64])
def test_threads_are_the_straight_line_loop(kind, round_size, n_workers, law):
    """
    Real threads, whose answers really take as long as a law says, change nothing either.
    """
    domain = Unpunctual(LAWS[law], **DOMAINS[kind])
    result = sync(domain, round_size, driver="threads", n_workers=n_workers)

    assert expected(kind, round_size) == seen(result)


@pytest.mark.parametrize("n_workers", [3, 8, 64])
def test_threads_do_answer_in_other_orders(n_workers):
    """
    The comparison is worth something: rollouts overtake each other, differently under each law.
    """
    toys = [Unpunctual(LAWS[law], **DOMAINS["same"]) for law in ("lognormal", "pareto")]
    for toy in toys:
        sync(toy, 8, driver="threads", n_workers=n_workers)

    assert sorted(toys[0].ended) == sorted(toys[1].ended)
    assert toys[0].begun != toys[0].ended != toys[1].ended != toys[1].begun


@pytest.mark.filterwarnings("ignore:slots=")
@pytest.mark.parametrize("slots", [1, 2, 7])
def test_slots_change_nothing(slots):
    """
    However few calls may run at once.
    """
    durations = dict.fromkeys(KINDS, LAWS["pareto"])
    result = sync("same", 8, driver="simulated", n_workers=8, slots=slots, durations=durations)

    assert expected("same", 8) == seen(result)


def test_another_seed_is_another_run():
    """
    The digest tells runs apart.
    """
    result = run(
        ToyDomain(**DOMAINS["same"]),
        mode="sync",
        driver="serial",
        seed=SEED + 1,
        round_size=8,
        rounds=ROUNDS,
    )

    assert expected("same", 8)[0] != result.digest
