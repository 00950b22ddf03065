"""
The optimizer's steps by hand, and whole runs of it.
"""

from __future__ import annotations

import random
from copy import deepcopy

import pytest

from headway import run
from headway.contracts import (
    Artifact,
    Card,
    Commit,
    Consume,
    Measure,
    Snapshot,
    StepContext,
    Ticket,
    content_digest,
)
from headway_islands import Islands

HEAD = Snapshot(3, Artifact({"kind": 0.0, "score": 0.5}))


def card(number, diff, **more):
    return Card(
        number=number,
        tickets=(number,),
        task="t",
        base=0,
        diff=diff,
        digest=content_digest(diff),
        **more,
    )


def context(memory=None, head=HEAD):
    return StepContext(
        head=head,
        memory=deepcopy(memory),
        held_out=("a", "b"),
        deterministic=True,
        quiet=False,
        rng=random.Random(0),
        step=0,
        combine=lambda artifact, *diffs: Artifact(
            {key: value for part in (artifact.value, *diffs) for key, value in part.items()}
        ),
        describe=lambda artifact: {"kind": artifact.value["kind"]},
    )


def played(cards, about, aggregator):
    """
    The requests of a step in which a state scores what it says, and the last memory.
    """
    step, answer, asked = aggregator.step(cards, about), None, []
    memory = about.memory
    while True:
        try:
            request = step.send(answer)
        except StopIteration as stop:
            return asked, memory if stop.value is None else deepcopy(stop.value)
        asked.append(request)
        answer = None
        if isinstance(request, Measure):
            answer = tuple((c.value["score"],) * 2 for c in request.candidates)
        if isinstance(request, Commit):
            memory = deepcopy(request.memory)


def scores(memory):
    return [
        {cell: score for cell, (_, score) in island["cells"].items()}
        for island in memory["islands"]
    ]


def test_the_best_of_its_kind_gets_in_though_it_is_worse_than_the_head():
    """
    On the island of its ticket; the head stays, and the card counts as committed.
    """
    aggregator = Islands(islands=2, bins=2)
    cards = [card(2, {"kind": 1.0, "score": 0.1}), card(3, {"score": 0.4})]
    asked, memory = played(cards, context(), aggregator)

    assert [Consume((3,))] == [request for request in asked if isinstance(request, Consume)]
    assert (HEAD.artifact, (2,)) == (asked[-1].candidate, asked[-1].cards)
    assert [{"0": 0.5, "1": 0.1}, {"0": 0.5}] == scores(memory)


def test_the_best_of_all_islands_is_the_head():
    """
    Whatever its kind.
    """
    aggregator = Islands(islands=2, bins=2)
    cards = [card(2, {"kind": 1.0, "score": 0.6}), card(3, {"score": 0.7})]
    asked, memory = played(cards, context(), aggregator)

    assert {"kind": 0.0, "score": 0.7} == asked[-1].candidate.value
    assert [{"0": 0.5, "1": 0.6}, {"0": 0.7}] == scores(memory)


def test_a_rollout_works_on_an_elite_of_its_island():
    """
    An island's tickets have every so manieth number.
    """
    aggregator = Islands(islands=2, bins=4, explore=1.0)
    cards = [card(2, {"kind": 0.3, "score": 0.2}), card(3, {"kind": 0.9, "score": 0.1})]
    _, memory = played(cards, context(), aggregator)
    found = {0: set(), 1: set()}
    for number in range(60):
        rng = random.Random(number)
        work = aggregator.select(Ticket(number, 3, 0, 0), HEAD, memory, rng)
        found[number % 2].add(work.parent.value["kind"])

    assert {0: {0.0, 0.3}, 1: {0.0, 0.9}} == found
    assert aggregator.select(Ticket(0, 3, 0, 0), HEAD, None, random.Random(0)).parent is None


def test_somebody_elses_commit_is_put_on_every_island():
    """
    Where it is the best of its kind; one that is not is no longer the head.
    """
    aggregator = Islands(islands=2, bins=2)
    _, memory = played([card(2, {"kind": 1.0, "score": 0.6})], context(), aggregator)
    better = Snapshot(9, Artifact({"kind": 0.1, "score": 0.9}))
    _, after = played([card(3, {"score": 0.0})], context(memory, better), aggregator)
    worse = Snapshot(9, Artifact({"kind": 0.1, "score": 0.4}))
    asked, _ = played([card(3, {"score": 0.0})], context(memory, worse), aggregator)

    assert [{"0": 0.9, "1": 0.6}, {"0": 0.9}] == scores(after)
    assert ({"kind": 1.0, "score": 0.6}, ()) == (asked[-1].candidate.value, asked[-1].cards)


def test_a_domain_that_describes_nothing_is_searched_by_size():
    """
    Through a whole run of one.
    """
    from headway.testing import ToyDomain

    result = run(ToyDomain(), aggregator=Islands(), driver="simulated", max_rollouts=60)

    assert () == result.failures
    assert result.final_reward > result.baseline_reward


@pytest.mark.parametrize("option", ["islands", "bins", "migrate_every", "draws", "batch_size"])
def test_options_are_checked(option):
    """
    By name, when it is made.
    """
    with pytest.raises(ValueError, match=r">= 1: 0"):
        Islands(**{option: 0})
    with pytest.raises(ValueError, match=r"'explore' must be <= 1: 2"):
        Islands(explore=2)


@pytest.mark.parametrize(("domain", "rollouts"), [("inflect", 12), ("router", 40)])
@pytest.mark.parametrize(
    ("mode", "driver"),
    [("sync", "serial"), ("sync", "threads"), ("async", "threads"), ("async", "simulated")],
)
def test_it_runs_by_its_name(domain, rollouts, mode, driver):
    """
    The same optimizer in every mode; better than the start, and no card is stale.
    """
    pytest.importorskip("headway_domains", reason="needs headway-domains")
    result = run(domain, aggregator="islands", mode=mode, driver=driver, max_rollouts=rollouts)

    assert () == result.failures
    assert 0 == result.stale_discarded
    assert result.final_reward > result.baseline_reward
    assert "headway-islands" in result.choices["aggregator"]
