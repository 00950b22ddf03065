"""
Which of several contradictory cards stays when they are compared on the tasks of all of them.
"""

from __future__ import annotations

import random
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.builtins.standard import SharedTasks
from headway.contracts import Artifact, Card, Snapshot, StepContext, content_digest, touch_common
from headway.errors import OptionError


def card(number, task, keys=("k",), delta=0.5, **more):
    diff = {"n": number}
    fixed = {"number": number, "tickets": (number,), "base": 0, "digest": content_digest(diff)}
    return Card(task=task, keys=keys, delta=delta, diff=diff, **fixed, **more)


def combine(artifact, *diffs):
    state = dict(artifact.value)
    for diff in diffs:
        state |= diff
    return Artifact(state)


def settled(cards, score, held_out=16, **options):
    """
    The numbers of the cards that stay and go, and what was measured: (card numbers, tasks).
    """
    context = StepContext(
        head=Snapshot(3, Artifact({})),
        memory=None,
        held_out=tuple(f"h{n}" for n in range(held_out)),
        deterministic=True,
        quiet=False,
        rng=random.Random(0),
        step=1,
        combine=combine,
    )
    asking, answer, measured = SharedTasks(**options).resolve(cards, context), None, []
    assert isinstance(asking, Generator)
    try:
        while True:
            answer, request = [], asking.send(answer)
            assert not measured, "all is asked for at once"
            for measure in request.measures:
                numbers = [c.value["n"] for c in measure.candidates]
                measured.append((numbers, measure.tasks))
                assert (1, 0) == (measure.draws, measure.first)
                answer.append([[score(n, task) for task in measure.tasks] for n in numbers])
    except StopIteration as stop:
        kept, rest = stop.value
        return [c.number for c in kept], [c.number for c in rest], measured


def unmeasured(number, task):
    raise AssertionError(f"card {number} was measured on {task}")


def test_rivals_are_compared_on_the_tasks_of_all_of_them():
    """
    The best mean stays, whatever the cards' own deltas say.
    """
    cards = [card(0, "a", delta=1.0), card(1, "b", delta=0.1), card(2, "c", delta=0.5)]
    scores = {(0, "a"): 1.0, (1, "a"): 0.5, (1, "b"): 0.5, (1, "c"): 0.5, (2, "c"): 1.0}
    kept, rest, measured = settled(cards, lambda *at: scores.get(at, 0.0))

    assert ([1], [0, 2]) == (kept, rest)
    assert [([0, 2, 1], ("a", "b", "c"))] == measured


@pytest.mark.parametrize(("deltas", "expected"), [((0.5, 0.5), 0), ((0.2, 0.5), 1)])
def test_a_tie_goes_to_the_larger_delta_then_to_the_older(deltas, expected):
    """
    As without a comparison.
    """
    cards = [card(n, f"t{n}", delta=delta) for n, delta in enumerate(deltas)]

    assert [expected] == settled(cards, lambda n, task: 0.0)[0]


def test_what_contradicts_nothing_is_not_measured():
    """
    There is nothing to choose.
    """
    cards = [card(n, f"t{n}", keys=(f"k{n}",)) for n in range(5)]

    assert ([0, 1, 2, 3, 4], [], []) == settled(cards, unmeasured)


def test_rivals_of_one_task_have_been_compared_there():
    """
    Their deltas are of that task: the larger one stays.
    """
    cards = [card(0, "a", delta=0.1), card(1, "a", delta=0.2)]

    assert ([1], [0], []) == settled(cards, unmeasured)


@pytest.mark.parametrize(
    ("deltas", "kept"),
    [((0.0, 0.5), [1]), ((-0.5, 0.0), [1]), ((0.0, None), [1]), ((-0.1, -0.1), [0])],
)
def test_a_card_that_did_not_help_gives_way_unmeasured(deltas, kept):
    """
    To one that did, or that was not tried, or that did less harm.
    """
    cards = [card(n, f"t{n}", delta=delta) for n, delta in enumerate(deltas)]

    assert (kept, []) == settled(cards, unmeasured)[::2]


def test_cards_that_were_not_tried_are_compared_with_those_that_helped():
    """
    What they are worth is not known.
    """
    cards = [card(0, "a", delta=0.5), card(1, "a", delta=None)]
    kept, _, measured = settled(cards, lambda n, task: float(n))

    assert ([1], [([0, 1], ("a",))]) == (kept, measured)


@pytest.mark.parametrize(("held_out", "most"), [(2, 2), (8, 2), (9, 3), (16, 4), (100, 4)])
def test_a_comparison_costs_no_more_than_a_candidate(held_out, most):
    """
    It takes at most as many scores as there are held-out tasks, or four; the largest deltas are in it.
    """
    cards = [card(n, f"t{n}", delta=n / 10) for n in range(1, 8)]
    kept, _, measured = settled(cards, lambda n, task: -float(n), held_out)
    ((numbers, tasks),) = measured

    assert [*range(7, 7 - most, -1)] == numbers
    assert most == len(tasks)
    assert [numbers[-1]] == kept


def test_each_contradiction_is_settled_on_its_own_tasks():
    """
    Rivals about one part are not measured on the tasks of those about another.
    """
    cards = [card(n, f"t{n}", keys=("a" if n % 2 else "b",)) for n in range(4)]
    kept, rest, measured = settled(cards, lambda n, task: float(n))

    assert ([2, 3], [0, 1]) == (kept, rest)
    assert [([0, 2], ("t0", "t2")), ([1, 3], ("t1", "t3"))] == measured


def test_a_card_with_a_parent_is_measured_on_it():
    """
    It is what would be committed.
    """
    cards = [card(0, "a", parent=Artifact({"p": 1})), card(1, "b")]
    (measure,) = next(SharedTasks().resolve(cards, _context())).measures

    assert (Artifact({"p": 1, "n": 0}), Artifact({"n": 1})) == measure.candidates


def _context():
    return StepContext(
        head=Snapshot(0, Artifact({})),
        memory=None,
        held_out=("h",),
        deterministic=True,
        quiet=False,
        rng=random.Random(0),
        step=1,
        combine=combine,
    )


@pytest.mark.parametrize("rivals", [1, 0, 2.5, "two"])
def test_a_contradiction_takes_two(rivals):
    """
    Fewer can't be compared.
    """
    with pytest.raises(OptionError, match="rivals"):
        SharedTasks(rivals=rivals)


@given(
    st.lists(
        st.tuples(
            st.sets(st.sampled_from(["a", "b", "c", "*"]), max_size=3),
            st.none() | st.floats(-1, 1),
            st.sampled_from("xyz"),
        ),
        max_size=8,
    ),
    st.integers(0, 5),
)
def test_kept_cards_touch_nothing_in_common_and_nobody_goes_without_a_rival(drawn, seed):
    """
    Whatever is scored; all cards are there again, each once, oldest first.
    """
    cards = [card(n, t, tuple(sorted(k)), d) for n, (k, d, t) in enumerate(drawn)]
    kept, rest, _ = settled(cards, lambda n, task: (n * 7 + ord(task) + seed) % 5 / 5)

    assert [*range(len(cards))] == sorted([*kept, *rest])
    assert (sorted(kept), sorted(rest)) == (kept, rest)
    for n, one in enumerate(kept):
        assert not any(touch_common(cards[one].keys, cards[other].keys) for other in kept[:n])
    for lost in rest:
        assert any(touch_common(cards[lost].keys, cards[other].keys) for other in kept)
