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
from headway_annealing import Annealing

HEAD = Snapshot(3, Artifact({"a": 0.5, "b": 0.5}))
HOT, COLD = {"start": 1e9}, {"start": 0.0}


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


def combined(artifact, *diffs):
    value = dict(artifact.value)
    for diff in diffs:
        for key, number in diff.items():
            if key not in value:
                raise KeyError(key)
            value[key] = number
    return Artifact(value)


def context(memory=None, head=HEAD):
    return StepContext(
        head=head,
        memory=deepcopy(memory),
        held_out=("a", "b"),
        deterministic=True,
        quiet=False,
        rng=random.Random(0),
        step=0,
        combine=combined,
    )


def played(cards, about, aggregator):
    """
    The requests of a step on whose tasks a state scores what it says, and the last memory.
    """
    step, answer, asked = aggregator.step(cards, about), None, []
    memory = about.memory
    while True:
        try:
            request = step.send(answer)
        except StopIteration:
            return asked, memory
        asked.append(request)
        answer = None
        if isinstance(request, Measure):
            answer = tuple(
                tuple(c.value.get(task, 0.0) for task in request.tasks) for c in request.candidates
            )
        if isinstance(request, Commit):
            memory = deepcopy(request.memory)


def measured(asked):
    return [
        c.value for request in asked if isinstance(request, Measure) for c in request.candidates
    ]


def test_while_it_is_hot_the_walk_goes_down_and_the_head_stays():
    """
    Each change is tried on what the ones before have led to; the best place is the head.
    """
    cards = [card(0, {"a": 0.9}), card(1, {"b": 0.0}), card(2, {"a": 0.1})]
    asked, memory = played(cards, context(), Annealing(**HOT))

    assert [
        {"a": 0.5, "b": 0.5},
        {"a": 0.9, "b": 0.5},
        {"a": 0.9, "b": 0.0},
        {"a": 0.1, "b": 0.0},
    ] == measured(asked)
    assert ({"a": 0.9, "b": 0.5}, (0, 1, 2)) == (asked[-1].candidate.value, asked[-1].cards)
    assert ({"a": 0.1, "b": 0.0}, 0.05, 0.7) == (
        memory["walker"].value,
        memory["score"],
        memory["best"],
    )


def test_when_it_is_cold_it_only_climbs():
    """
    What is worse is discarded; what is as good is a move.
    """
    cards = [card(0, {"a": 0.4}), card(1, {"b": 0.5}), card(2, {"b": 0.6})]
    asked, memory = played(cards, context(), Annealing(**COLD))

    assert [Consume((0,))] == [request for request in asked if isinstance(request, Consume)]
    assert ({"a": 0.5, "b": 0.6}, (1, 2)) == (asked[-1].candidate.value, asked[-1].cards)
    assert memory["walker"] is None  # it stands on the head


def test_it_is_as_hot_as_the_rollout_was_late():
    """
    Whenever its card comes: the same change early and late.
    """
    aggregator = Annealing(start=1.0, half_life=1)
    for number, moves in ((0, True), (40, False)):
        asked, _ = played([card(number, {"a": 0.4})], context(), aggregator)

        assert moves == isinstance(asked[-1], Commit)


def test_rollouts_work_where_the_walker_stands():
    """
    On the head when it stands there; that one's rollouts may bind late.
    """
    aggregator = Annealing(**HOT)
    ticket, rng = Ticket(5, 3, 0, 0), random.Random(0)
    _, memory = played([card(0, {"a": 0.1})], context(), aggregator)

    assert {"a": 0.1, "b": 0.5} == aggregator.select(ticket, HEAD, memory, rng).parent.value
    _, memory = played([card(1, {"a": 0.9})], context(memory), aggregator)
    assert aggregator.select(ticket, HEAD, memory, rng).parent is None
    assert aggregator.select(ticket, HEAD, None, rng).parent is None


def test_a_change_that_does_not_fit_here_is_tried_where_it_was_found():
    """
    The domain says so by raising.
    """
    parent = Artifact({"a": 0.5, "c": 0.0})
    asked, _ = played([card(0, {"c": 0.3}, parent=parent)], context(), Annealing(**HOT))

    assert {"a": 0.5, "c": 0.3} == measured(asked)[-1]
    with pytest.raises(KeyError):
        played([card(0, {"c": 0.3})], context(), Annealing(**HOT))


def test_on_somebody_elses_commit_the_walk_begins_anew():
    """
    It stands there, and that is the best until it finds something better.
    """
    _, memory = played([card(0, {"a": 0.9})], context(), Annealing(**COLD))
    theirs = Snapshot(9, Artifact({"a": 0.2, "b": 0.2}))
    asked, memory = played([card(1, {"b": 0.3})], context(memory, theirs), Annealing(**COLD))

    assert [{"a": 0.2, "b": 0.2}, {"a": 0.2, "b": 0.3}] == measured(asked)
    assert 0.25 == memory["best"]


@pytest.mark.parametrize("option", ["half_life", "draws", "batch_size"])
def test_options_are_checked(option):
    """
    By name, when it is made.
    """
    with pytest.raises(ValueError, match=r">= 1: 0"):
        Annealing(**{option: 0})
    with pytest.raises(ValueError, match="'start' must be < inf"):
        Annealing(start=float("inf"))


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
    result = run(domain, aggregator="annealing", mode=mode, driver=driver, max_rollouts=rollouts)

    assert () == result.failures
    assert 0 == result.stale_discarded
    assert result.final_reward > result.baseline_reward
    assert "headway-annealing" in result.choices["aggregator"]
