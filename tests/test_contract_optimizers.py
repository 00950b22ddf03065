"""
Three throw-away optimizers, written against ``headway.contracts`` alone, run unchanged everywhere.

A frontier that picks its parent, an evolution strategy and MAP-Elites need what a hill climber does
not: a parent that is not the head, a payload that comes back, a memory between steps.  They keep
nothing in themselves.
"""

from __future__ import annotations

import copy
import math
import random
from statistics import fmean
from typing import ClassVar

import pytest

from headway import run
from headway.builtins._memory_ledger import MemoryLedger
from headway.contracts import (
    KEEP,
    Artifact,
    Commit,
    Consume,
    Domain,
    Measure,
    Outcome,
    Splits,
    Task,
    Work,
)
from headway.durations import Constant, LogNormal, Pareto
from headway.testing._toy import ToyDomain

DIMENSIONS = 6

# ---------------------------------------------------------------------------- the optimizers


class Frontier:
    """
    Keeps the ``k`` best states that it has seen; a rollout works on one of them.

    Memory: ``[[mean score, state], ...]``, best first; the first one is the head.
    """

    batch = 2

    def __init__(self, k=4):
        self.k = k

    def select(self, ticket, head, memory, rng):
        """
        A member of the frontier, the better the likelier.
        """
        if not memory:
            return Work()
        _, state = memory[min(int(rng.expovariate(1.0)), len(memory) - 1)]
        return Work(parent=Artifact(state))

    def step(self, cards, context):
        """
        Measure every child; admit it if there is room or it beats the worst.
        """
        children = [context.apply(card.diff, onto=card.parent) for card in cards]
        head, *rows = yield Measure((context.head, *children), context.held_out)
        frontier = self.admit(context.memory or [], fmean(head), context.head.artifact)
        for card, child, row in zip(cards, children, rows, strict=True):
            after = self.admit(frontier, fmean(row), child)
            if after == frontier:
                yield Consume([card])
                continue
            frontier = after
            yield Commit(Artifact(frontier[0][1]), [card], memory=frontier)

    def admit(self, frontier, score, child):
        """
        The frontier with a child in it, if it belongs there.
        """
        if any(Artifact(state) == child for _, state in frontier):
            return frontier
        return sorted([*frontier, [score, child.value]], key=lambda e: -e[0])[: self.k]


class EvolutionStrategy:
    """
    Follows the mean of mirrored finite differences, with momentum.

    Memory: the momentum vector.
    """

    batch = 8

    def __init__(self, rate=0.05, momentum=0.5):
        self.rate, self.momentum = rate, momentum

    def select(self, ticket, head, memory, rng):
        """
        Which direction to try: all that the domain needs is a seed.
        """
        return Work(payload=rng.getrandbits(32))

    def step(self, cards, context):
        """
        One step along the mean of what the pairs found, in ticket order.
        """
        if not cards:
            return
        cards = sorted(cards, key=lambda card: card.tickets)
        mean = [fmean(column) for column in zip(*(c.diff["add"] for c in cards), strict=True)]
        before = context.memory or [0.0] * len(mean)
        momentum = [self.momentum * old + g for old, g in zip(before, mean, strict=True)]
        move = {"add": [self.rate * value for value in momentum]}
        yield Commit(context.apply(move), cards, memory=momentum)


class MapElites:
    """
    Keeps the best state of every cell of a grid; a rollout works on a random elite.

    Memory: ``{cell: [mean score, state]}``; the best of all is the head.
    """

    batch = 3

    def select(self, ticket, head, memory, rng):
        """
        Any elite, with equal chances.
        """
        if not memory:
            return Work()
        _, state = memory[rng.choice(sorted(memory))]
        return Work(parent=Artifact(state))

    def step(self, cards, context):
        """
        A child takes its cell when it is better than who lives there.
        """
        children = [context.apply(card.diff, onto=card.parent) for card in cards]
        artifacts = (context.head.artifact, *children)
        rows = yield Measure(artifacts, context.held_out)
        scores = [fmean(row) for row in rows]
        archive = dict(context.memory or {})
        self.place(archive, scores[0], artifacts[0])
        for card, score, child in zip(cards, scores[1:], children, strict=True):
            if not self.place(archive, score, child):
                yield Consume([card])
                continue
            _, best = max(archive.values(), key=lambda elite: elite[0])
            yield Commit(Artifact(best), [card], memory=dict(archive))

    def place(self, archive, score, child):
        """
        Whether the child has taken its cell.
        """
        cell = "".join("+" if x > 0 else "-" for x in child.value[:3])
        if cell in archive and archive[cell][0] >= score:
            return False
        archive[cell] = [score, child.value]
        return True


# ---------------------------------------------------------------------------- what they work on


class Bowl(Domain):
    """
    A vector is the better the nearer it is to a task's target; a rollout tries a mirrored pair.
    """

    name = "bowl"
    deterministic = True
    solved = math.inf
    reward_range = (-math.inf, 0.0)
    defaults: ClassVar = {"bind": "early", "self_verify": False, "policy": "full"}

    def tasks(self):
        return Splits(
            train=[Task(id=f"t{n}", data=0.9 + n / 50) for n in range(10)],
            held_out=[Task(id=f"h{n}", data=0.91 + n / 50) for n in range(8)],
        )

    def initial(self):
        return [0.0] * DIMENSIONS

    def value(self, state, task):
        return -sum((x - task.data) ** 2 for x in state)

    def rollout(self, state, task, *, payload=0):
        eps, sigma = self.direction(payload), 0.1
        pair = [
            self.value([x + sign * sigma * e for x, e in zip(state, eps, strict=True)], task)
            for sign in (1, -1)
        ]
        return Outcome(reward=fmean(pair), output=(pair[0] - pair[1]) / (2 * sigma))

    def direction(self, payload):
        rng = random.Random(payload)
        return [rng.gauss(0.0, 1.0) for _ in range(DIMENSIONS)]

    def propose(self, state, task, outcome, *, payload):
        return {"add": [outcome.output * e for e in self.direction(payload)]}

    def apply(self, state, diff):
        return [x + d for x, d in zip(state, diff["add"], strict=True)]

    def measure(self, state, task):
        return self.value(state, task)


class Hill(Bowl):
    """
    The same bowl for those who mutate: a proposal is a random move.
    """

    name = "hill"
    defaults: ClassVar = {"policy": "full"}

    def rollout(self, state, task, *, payload=0):
        return Outcome(reward=self.value(state, task))

    def propose(self, state, task, outcome, *, rng):
        return {"add": [rng.gauss(0.0, 0.3) for _ in range(DIMENSIONS)]}


class Guesses(ToyDomain):
    """
    The toy domain, with parents of one's own.
    """

    defaults: ClassVar = {"policy": "full"}


# What each optimizer works on, for how long, how good it must be at the end, and from where.
OPTIMIZERS = {
    "frontier": (Frontier, lambda: Guesses(n_keys=10, n_tasks=20), 200, 0.0, 0.7),
    "es": (EvolutionStrategy, Bowl, 400, -5.7, -0.1),
    "map-elites": (MapElites, Hill, 400, -5.7, -1.0),
}
LAWS = {
    "rollout": Pareto(1.0, 1.5),
    "propose": LogNormal(0.5, 0.5),
    "measure": LogNormal(0.2, 0.5),
    "commit": Constant(0.05),
}
DRIVERS = [
    ("sync", "serial"),
    ("sync", "simulated"),
    ("sync", "threads"),
    ("async", "simulated"),
    ("async", "threads"),
]
everyone = pytest.mark.parametrize("name", OPTIMIZERS)
everywhere = pytest.mark.parametrize(("mode", "driver"), DRIVERS)


def go(name, mode, driver, aggregator=None, **options):
    make, domain, rollouts, _, _ = OPTIMIZERS[name]
    if driver == "simulated":
        options["durations"] = LAWS
    return run(
        domain(),
        mode=mode,
        driver=driver,
        aggregator=aggregator or make(),
        n_workers=8,
        round_size=8 if mode == "sync" else None,
        max_rollouts=rollouts,
        validate=True,
        **options,
    )


def conserved(result):
    """
    The conservation law; a run that ends by its budget decides all that was paid for.
    """
    assert "settled" not in result.decisions
    assert result.rollouts == sum(result.completions.values())
    assert result.stale_considered <= sum(result.decisions.values())

    return True


class Witness:
    """
    Passes everything through, and checks that a step finds the memory that was last kept.
    """

    def __init__(self, inner):
        self.inner, self.batch = inner, inner.batch
        self.kept = None
        self.begun = 0
        self.ended = 0
        if hasattr(inner, "select"):
            self.select = inner.select

    def step(self, cards, context):
        """
        The inner step, request by request.
        """
        assert self.kept == context.memory
        self.begun += 1
        inner, answer = self.inner.step(cards, context), None
        while True:
            try:
                request = inner.send(answer)
            except StopIteration:
                self.ended += 1
                return
            answer = yield request
            if isinstance(request, Commit) and request.memory is not KEEP:
                self.kept = copy.deepcopy(request.memory)


class Contested(MemoryLedger):
    """
    A ledger in which somebody else commits before every third commit.
    """

    def __init__(self, initial, foreign):
        super().__init__(initial)
        self.foreign, self.asked = foreign, 0

    def commit(self, expected, artifact, *, key, message, branch="dev"):
        """
        The same, after somebody else where it is their turn.
        """
        self.asked += 1
        if self.asked % 3 == 0:
            head = self.snapshot(branch)
            theirs = Artifact(self.foreign(head.artifact.value, self.asked))
            super().commit(head.version, theirs, key=f"foreign {self.asked}", message="theirs")
        return super().commit(expected, artifact, key=key, message=message, branch=branch)


FOREIGN = {
    "frontier": lambda state, n: {**state, sorted(state)[n % len(state)]: 0},
    "es": lambda state, n: [x - 0.01 for x in state],
    "map-elites": lambda state, n: [x - 0.01 for x in state],
}


def contested(name):
    domain = OPTIMIZERS[name][1]()
    return Contested(Artifact(domain.initial()), FOREIGN[name])


# ---------------------------------------------------------------------------- what must hold


@everyone
@everywhere
def test_every_optimizer_improves_under_every_driver(name, mode, driver):
    """
    The same object, unchanged; from the stated start to better than the stated score.
    """
    _, _, rollouts, start, goal = OPTIMIZERS[name]
    result = go(name, mode, driver)

    assert ("max_iters", rollouts) == (result.stop_reason, result.rollouts)
    assert () == result.failures
    assert start >= result.baseline_reward
    assert goal <= result.final_reward
    assert conserved(result)


@everyone
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_equal_seeds_are_equal_runs(name, mode):
    """
    One object serves two runs and keeps nothing of the first; another seed is another run.
    """
    aggregator = OPTIMIZERS[name][0]()
    before = copy.deepcopy(vars(aggregator))
    first, again, other = (
        go(name, mode, "simulated", aggregator, seed=seed).digest for seed in (1, 1, 2)
    )

    assert first == again
    assert first != other
    assert before == vars(aggregator)


@everyone
def test_sync_runs_are_equal_under_every_driver(name):
    """
    Memory, parents and payloads included.
    """
    drivers = ("serial", "simulated", "threads")

    assert 1 == len({go(name, "sync", driver).digest for driver in drivers})


@pytest.mark.parametrize("n_workers", [1, 8])
@pytest.mark.parametrize("seconds", [0.0, 0.01, 5.0, 50.0])
def test_a_target_ends_a_synchronous_run_at_the_same_round(n_workers, seconds):
    """
    However long it takes to score a head that its optimizer did not measure.
    """
    result = run(
        Bowl(),
        mode="sync",
        driver="simulated",
        aggregator=EvolutionStrategy(),
        n_workers=n_workers,
        round_size=8,
        max_rollouts=400,
        target_reward=-0.5,
        validate=True,
        durations={"rollout": Constant(1.0), "measure": Constant(seconds)},
    )

    assert ("target_reward", 48, 6) == (result.stop_reason, result.rollouts, result.version)
    assert -0.5 <= result.final_reward < -0.4


@pytest.mark.filterwarnings("ignore:max_calls=:RuntimeWarning")
def test_a_round_that_waits_for_a_score_is_within_the_budget():
    """
    A score that cannot be paid for ends the run; nobody waits for ever.
    """
    ends = set()
    for max_calls in range(24, 70):
        result = go("es", "sync", "simulated", target_reward=-0.001, max_calls=max_calls)
        ends.add(result.stop_reason)
        assert max_calls >= sum(result.calls.values())

    assert {"max_calls"} == ends


@everyone
@everywhere
def test_a_step_finds_the_memory_that_was_kept_last(name, mode, driver):
    """
    In every mode, and nothing of what was not acknowledged.
    """
    witness = Witness(OPTIMIZERS[name][0]())
    result = go(name, mode, driver, witness)

    assert () == result.failures
    assert witness.kept
    assert witness.begun == witness.ended


@everyone
@everywhere
def test_a_lost_commit_runs_the_step_again(name, mode, driver):
    """
    Its memory is as if the first time had never been, and the search still gets somewhere.
    """
    _, _, _, start, goal = OPTIMIZERS[name]
    witness = Witness(OPTIMIZERS[name][0]())
    result = go(name, mode, driver, witness, ledger=contested(name))

    # How often the head moves, and so how often it is contested, is up to the threads.
    assert result.commit_races >= (1 if driver == "threads" and mode == "async" else 4)
    assert result.commit_races == witness.begun - witness.ended
    assert () == result.failures
    assert (start + goal) / 2 < result.final_reward
    assert conserved(result)


@everyone
def test_a_contested_run_repeats_too(name):
    """
    Under the simulated driver lost commits are part of the run.
    """
    first, again = (go(name, "async", "simulated", ledger=contested(name)) for _ in range(2))

    assert first.digest == again.digest
    assert first.decisions == again.decisions


def test_map_elites_fills_its_grid():
    """
    Diversity is what it is for: all eight cells, of which one could hold the best.
    """
    witness = Witness(MapElites())
    go("map-elites", "async", "simulated", witness)

    assert 8 == len(witness.kept)


def test_the_frontier_is_sorted_and_led_by_the_head():
    """
    An admission that is not the best moves no version.
    """
    witness = Witness(Frontier())
    result = go("frontier", "async", "simulated", witness)
    scores = [score for score, _ in witness.kept]

    assert 4 == len(scores)
    assert sorted(scores, reverse=True) == scores
    assert result.state == witness.kept[0][1]
    assert result.version < result.decisions["committed"]
