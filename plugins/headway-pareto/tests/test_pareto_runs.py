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
from headway_pareto import ParetoFront

HEAD = Snapshot(3, Artifact({"a": 0, "b": 0}))


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
    )


def played(cards, about, aggregator=None):
    """
    The requests of a step on whose tasks a state scores what it says, and the last memory.
    """
    step, answer, asked = (aggregator or ParetoFront()).step(cards, about), None, []
    memory = about.memory
    while True:
        try:
            request = step.send(answer)
        except StopIteration as stop:
            return asked, memory if stop.value is None else deepcopy(stop.value)
        asked.append(request)
        answer = None
        if isinstance(request, Measure):
            answer = tuple(
                tuple(candidate.value[task] for task in request.tasks)
                for candidate in request.candidates
            )
        if isinstance(request, Commit):
            memory = deepcopy(request.memory)


def test_complementary_children_are_kept_and_merged():
    """
    Each is the best on one task; the merge has both changes, is measured in the same step, and leads.
    """
    asked, memory = played([card(0, {"a": 1}), card(1, {"b": 1})], context())
    measured = [m.candidates for m in asked if isinstance(m, Measure)]

    assert 3 == len(measured[0])
    assert [({"a": 1, "b": 1})] == [candidate.value for candidate in measured[1]]
    assert isinstance(asked[-1], Commit)
    assert ((0, 1), {"a": 1, "b": 1}) == (asked[-1].cards, asked[-1].candidate.value)
    assert [[0, 1]] == [changes for _, _, changes in memory["members"]]


def test_without_merges_both_stay_and_either_is_a_parent():
    """
    A child of one of them carries that one's changes.
    """
    aggregator = ParetoFront(merge=False)
    _, memory = played([card(0, {"a": 1}), card(1, {"b": 1})], context(), aggregator)
    head = Snapshot(4, Artifact({"a": 1, "b": 0}))
    parents = [
        aggregator.select(Ticket(n, 4, 0, 0), head, memory, random.Random(n)).parent
        for n in range(20)
    ]
    other = Artifact({"a": 0, "b": 1})

    assert {None, other} == set(parents)
    _, memory = played([card(2, {"a": 0.5}, parent=other)], context(memory, head), aggregator)
    assert [1, 2] in [changes for _, _, changes in memory["members"]]


def test_a_child_that_does_not_help_its_own_task_is_not_measured():
    """
    The minibatch decides whether the instances are worth their price.
    """
    cards = [card(0, {"a": 1}, delta=0.0), card(1, {"b": 1}, delta=0.2)]
    asked, _ = played(cards, context())

    assert Consume((0,)) == asked[0]
    assert [HEAD.artifact, Artifact({"a": 0, "b": 1})] == list(asked[1].candidates)


def test_what_is_known_is_a_duplicate():
    """
    A member of the front, a child of the same step, or no change at all.
    """
    _, memory = played([card(0, {"a": 1})], context())
    head = Snapshot(4, Artifact({"a": 1, "b": 0}))
    cards = [
        card(1, {"a": 1}, parent=HEAD.artifact),
        card(2, {"b": 1}),
        card(3, {"b": 1}),
        card(4, {"b": 0}),
    ]
    asked, _ = played(cards, context(memory, head))

    assert Consume((1, 3, 4), "duplicate") == asked[0]
    assert (2,) == asked[-1].cards


def test_somebody_elses_commit_is_measured_and_joins_the_front():
    """
    It is a candidate like any other, and nothing of the front is lost by it.
    """
    _, memory = played([card(0, {"a": 1})], context())
    theirs = Snapshot(5, Artifact({"a": 0, "b": 0.5}))
    asked, memory = played([card(1, {"b": 0}, delta=-1.0)], context(memory, theirs))

    assert (theirs.artifact,) == asked[1].candidates
    assert {Artifact({"a": 1, "b": 0}), theirs.artifact} == {m[0] for m in memory["members"]}


@pytest.mark.parametrize("option", ["size", "draws", "batch_size"])
def test_options_are_checked(option):
    """
    By name, when it is made.
    """
    with pytest.raises(ValueError, match=r">= 1: 0"):
        ParetoFront(**{option: 0})
    with pytest.raises(TypeError, match="bool"):
        ParetoFront(merge="no")


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
    result = run(domain, aggregator="pareto", mode=mode, driver=driver, max_rollouts=rollouts)

    assert () == result.failures
    assert 0 == result.stale_discarded
    assert result.final_reward > result.baseline_reward
    assert "headway-pareto" in result.choices["aggregator"]
