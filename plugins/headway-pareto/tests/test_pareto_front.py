"""
The front and its merges, as values.
"""

from __future__ import annotations

import random
from collections import Counter
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.contracts import Artifact
from headway_pareto._front import Member, best_of, chosen, dominates, leads, pruned
from headway_pareto._memory import Memory
from headway_pareto._merging import most_promising


def member(*scores, changes=(), state=None):
    return Member(
        artifact=Artifact(state or {"scores": list(scores)}), scores=scores, changes=changes
    )


rows = st.lists(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=4, max_size=4), min_size=1, max_size=8
)


def test_ties_lead_together():
    """
    On each instance all that have the best score there lead.
    """
    assert [2, 1, 2] == leads([member(1, 1, 0), member(0, 1, 0), member(0, 1, 1)])


def test_one_that_is_best_somewhere_stays_though_its_mean_is_low():
    """
    That is what the front is for; what is dominated goes.
    """
    specialist, generalist, dominated = member(1, 0, 0), member(0.5, 1, 1), member(0.5, 0.5, 1)

    assert (specialist, generalist) == pruned([specialist, generalist, dominated], 20)


def test_the_best_mean_stays_though_it_leads_nowhere():
    """
    It is the head.
    """
    one, other, even = member(1, 0), member(0, 1), member(0.9, 0.9)

    assert [1, 1, 0] == leads([one, other, even])
    assert (one, other, even) == pruned([one, other, even], 20)


def test_of_equals_the_oldest_stays():
    """
    Equal on every instance is no news.
    """
    older, newer = member(1, 0, state={"a": 1}), member(1, 0, state={"a": 2})

    assert (older,) == pruned([older, newer], 20)


def test_what_leads_least_makes_room():
    """
    Never the best mean; of those that lead on as many, the newest goes.
    """
    broad, narrow, newest = member(1, 1, 0, 0), member(0, 0, 1, 0), member(0, 0, 0, 1)

    assert (broad, narrow) == pruned([broad, narrow, newest], 2)
    assert (broad,) == pruned([narrow, broad, newest], 1)


@given(rows=rows, size=st.integers(1, 5))
def test_what_holds_for_every_front(rows, size):
    """
    No member dominates another or equals it; the best mean is there; nobody is invented.
    """
    members = [member(*row, state={"place": place}) for place, row in enumerate(rows)]
    front = pruned(members, size)

    assert 1 <= len(front) <= size
    assert best_of(members).mean == best_of(front).mean
    assert not any(dominates(a, b) for a in front for b in front)
    assert len(front) == len({held.scores for held in front})
    assert [held for held in members if held in front] == list(front)


def test_parents_are_drawn_in_proportion_to_what_they_lead():
    """
    4,000 draws of 3 to 1 to none; the bounds are more than five standard deviations away.
    """
    rng = random.Random(0)
    drawn = Counter(chosen([3, 1, 0], rng) for _ in range(4000))

    assert {0, 1} == set(drawn)
    assert 2850 < drawn[0] < 3150


def test_the_pair_that_promises_most_is_merged():
    """
    Measured by what the merge would have if it were everywhere as good as the better of the two.
    """
    left = member(1, 1, 0, 0, changes=(1,))
    right = member(0, 0, 1, 0.5, changes=(2,))
    bit = member(0, 0, 0, 1, changes=(3,))
    pair = most_promising([left, right, bit], [])

    assert (left, right) == (pair.better, pair.other)
    assert ((2,), (1, 2), 0.375) == (pair.missing, pair.key, pair.promise)
    assert (3,) == most_promising([left, right, bit], [pair.key]).missing


@pytest.mark.parametrize(
    ("members", "tried"),
    [
        ([member(1, 0, changes=(1,))], []),  # nobody to merge with
        ([member(1, 0, changes=(1,)), member(0, 1, changes=(2,))], [(1, 2)]),  # it was tried
        ([member(1, 1, changes=(1, 2)), member(0, 0, changes=(3,))], []),  # nowhere better
        ([member(1, 0, changes=(1, 2)), member(0, 1, changes=(2,))], []),  # brings nothing
    ],
)
def test_a_merge_that_promises_nothing_is_not_tried(members, tried):
    """
    Whatever else there is to do costs less.
    """
    assert most_promising(members, tried) is None


def test_a_memory_is_read_as_it_was_written():
    """
    Through a copy; changes that nobody is made of any more are left out.
    """
    memory = Memory(head="h")
    for number, scores in enumerate([(1, 0), (0, 1)]):
        memory = memory.admitting(
            member(*scores, changes=(number,)), size=4, change={"set": number}
        )
    kept = Memory.read(deepcopy(memory.to_json()))

    assert memory == kept
    assert {0: {"set": 0}, 1: {"set": 1}} == kept.changes
    later = memory.admitting(member(1, 1, changes=(2,)), size=4, change={"set": 2})
    assert {"2": {"set": 2}} == later.to_json()["changes"]
    assert memory.admitting(member(0, 0), size=4) is None
