"""
The standard aggregator alone: a step is played by hand, without a machine.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.builtins._standard import StandardAggregator, better, conflict_free
from headway.contracts import (
    Artifact,
    Card,
    Carry,
    Commit,
    Consume,
    Measure,
    Snapshot,
    StepContext,
    content_digest,
    touch_common,
)
from headway.errors import OptionError

HELD_OUT = ("t0", "t1", "t2")


def card(number, diff=None, **more):
    diff = {f"k{number}": 1} if diff is None else diff
    fixed = {"number": number, "tickets": (number,), "task": "t", "base": 0, "diff": diff}
    return Card(**{"digest": content_digest(diff), "keys": tuple(sorted(diff)), **fixed, **more})


def combine(artifact, *diffs):
    state = dict(artifact.value)
    for diff in diffs:
        state |= diff
    return Artifact(state)


def play(cards, score, *, head=None, deterministic=True, quiet=False, **options):
    """
    What a step asks for beside its measurements, and those; the sum of a state's values decides.
    """
    context = StepContext(
        head=Snapshot(3, Artifact(head or {})),
        memory=None,
        held_out=HELD_OUT,
        deterministic=deterministic,
        quiet=quiet,
        rng=random.Random(0),
        step=1,
        combine=combine,
    )
    step, answer = StandardAggregator(**options).step(cards, context), None
    asked: list[Commit | Consume] = []
    measured: list[Measure] = []
    try:
        while True:
            request = step.send(answer)
            if isinstance(request, Measure):
                measured.append(request)
                answer = tuple(tuple(score(c.value, request)) for c in request.candidates)
                continue
            asked.append(request)
            committed = isinstance(request, Commit)
            answer = Snapshot(4, request.candidate) if committed else None
    except StopIteration:
        return asked, measured


def total(state, request):
    """
    Each task scores the sum of the state's values.
    """
    return [float(sum(state.values()))] * len(request.tasks) * request.draws


@pytest.mark.parametrize(
    ("keys", "others", "expected"),
    [
        (("a",), ("a", "b"), True),
        (("a",), ("b",), False),
        ((), ("a",), False),
        ((), (), False),
        (("*",), ("a",), True),
        (("a",), ("*",), True),
        (("*",), ("*",), True),
        (("*",), (), True),
    ],
)
def test_changes_touch_a_common_part(keys, others, expected):
    """
    By a common key; the key "*" is common with everything, in both directions.
    """
    assert expected is touch_common(keys, others)
    assert expected is touch_common(iter(others), iter(keys))


def test_cards_without_a_common_key_are_merged_together():
    """
    All of them stay, oldest first.
    """
    cards = [card(2), card(0), card(1)]

    assert ((cards[1], cards[2], cards[0]), ()) == conflict_free(cards)


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ((0.1, 0.3), 1),
        ((0.3, 0.1), 0),
        ((0.2, 0.2), 0),
        ((None, 0.1), 1),
        ((None, None), 0),
        ((-0.1, None), 1),
    ],
)
def test_of_contradictory_cards_the_better_stays(deltas, expected):
    """
    By its own delta, unknown ones counting as none; on a tie the older one.
    """
    cards = [card(n, {"k": n}, delta=delta) for n, delta in enumerate(deltas)]
    kept, rest = conflict_free(cards)

    assert ([expected], [1 - expected]) == ([c.number for c in kept], [c.number for c in rest])


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_a_card_that_touches_everything_contradicts_every_other(order):
    """
    It stays alone when it is the best, and goes when another one is.
    """
    deltas = [(0.5, 0.1, 0.2), (0.1, 0.5, 0.2)]
    outcomes = []
    for given_deltas in deltas:
        keys = [("*",), ("a",), ("b",)]
        cards = [card(n, keys=keys[n], delta=given_deltas[n]) for n in order]
        outcomes.append([c.number for c in conflict_free(cards)[0]])

    assert [[0], [1, 2]] == outcomes


@given(
    st.lists(
        st.tuples(
            st.sets(st.sampled_from(["a", "b", "c", "*"]), max_size=3),
            st.none() | st.floats(-1, 1),
        ),
        max_size=6,
    )
)
def test_kept_cards_touch_nothing_in_common_and_nobody_goes_without_a_reason(drawn):
    """
    Pairwise; each one that goes contradicts a kept one that is at least as good.
    """
    cards = [card(n, keys=tuple(sorted(k)), delta=d) for n, (k, d) in enumerate(drawn)]
    kept, rest = conflict_free(cards)

    assert cards == sorted([*kept, *rest], key=lambda c: c.number)
    for n, one in enumerate(kept):
        assert not any(touch_common(one.keys, other.keys) for other in kept[:n])
    for lost in rest:
        rivals = [c for c in kept if touch_common(c.keys, lost.keys)]
        assert any((c.delta or 0.0) >= (lost.delta or 0.0) for c in rivals)


def test_the_best_is_committed_and_what_else_helps_is_carried_over():
    """
    The next step meets the others on the new head.
    """
    cards = [card(0, {"a": 1}), card(1, {"b": -9}), card(2, {"c": 2}), card(3, {"d": 1})]
    asked, measured = play(cards, total)

    assert [Carry((0, 3)), Commit(Artifact({"c": 2}), (2,))] == asked
    assert [5] == [len(request.candidates) for request in measured]
    assert {(HELD_OUT, 1)} == {(request.tasks, request.draws) for request in measured}


def test_what_was_carried_is_merged():
    """
    It helped before, so only the union is measured, beside each new card.
    """
    cards = [card(0, {"a": 1}, carried=True), card(1, {"b": 1}), card(2, {"c": 2}, carried=True)]
    asked, measured = play(cards, total)

    assert [Carry((1,)), Commit(Artifact({"a": 1, "c": 2}), (0, 2))] == asked
    assert [3] == [len(request.candidates) for request in measured]


def test_a_union_that_does_not_help_is_taken_apart():
    """
    What helped alone may hurt together, or help no more.
    """

    def rivals(state, request):
        value = sum(state.values()) if len(state) < 2 else -5
        return [float(value)] * len(request.tasks)

    cards = [card(0, {"a": 1}, carried=True), card(1, {"b": 2}, carried=True)]
    asked, measured = play(cards, rivals)

    assert [Carry((0,)), Commit(Artifact({"b": 2}), (1,))] == asked
    assert [2, 3] == [len(request.candidates) for request in measured]


def test_the_last_step_leaves_nothing_that_helps():
    """
    Nobody would come back to what it carried, so it goes on from its own commit.
    """
    cards = [card(0, {"a": 1}), card(1, {"b": -9}), card(2, {"c": 2}), card(3, {"d": 1})]
    asked, measured = play(cards, total, quiet=True)

    assert [
        Commit(Artifact({"c": 2}), (2,)),
        Commit(Artifact({"c": 2, "a": 1}), (0,)),
        Commit(Artifact({"c": 2, "a": 1, "d": 1}), (3,)),
    ] == asked
    assert Artifact({"c": 2}) == measured[1].candidates[0]


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_tie_never_commits(deterministic):
    """
    A candidate that scores as the head does is no improvement.
    """
    asked, _ = play([card(0, {"a": 0})], total, deterministic=deterministic)

    assert [] == asked


def test_the_better_is_committed_and_the_older_on_a_tie():
    """
    Cards that help alone are not merged before each of them was seen to help.
    """
    best, _ = play([card(0, {"a": 1}), card(1, {"b": 2})], total)
    tied, _ = play([card(0, {"a": 1}), card(1, {"b": 1})], total)

    assert [Carry((0,)), Commit(Artifact({"b": 2}), (1,))] == best
    assert [Carry((1,)), Commit(Artifact({"a": 1}), (0,))] == tied


def test_contradictory_cards_are_consumed_as_conflicts():
    """
    Before anything is measured; the one that stays is committed.
    """
    cards = [card(0, {"k": 1}, delta=0.1), card(1, {"k": 2}, delta=0.2)]
    asked, measured = play(cards, total)

    assert [Consume((0,), "conflict"), Commit(Artifact({"k": 2}), (1,))] == asked
    assert [2] == [len(request.candidates) for request in measured]


def test_a_change_that_the_head_has_already_is_a_duplicate():
    """
    It is consumed unmeasured, and the others go on.
    """
    cards = [card(0, {"a": 1}), card(1, {"b": 1})]
    asked, measured = play(cards, total, head={"a": 1})
    alone, unmeasured = play(cards[:1], total, head={"a": 1})

    assert [Consume((0,), "duplicate"), Commit(Artifact({"a": 1, "b": 1}), (1,))] == asked
    assert [2] == [len(request.candidates) for request in measured]
    assert ([Consume((0,), "duplicate")], []) == (alone, unmeasured)


def test_a_card_is_applied_to_its_own_parent():
    """
    And never merged with others: their union has no common ground.
    """
    parent = Artifact({"p": 5})
    cards = [card(0, {"a": 1}, parent=parent), card(1, {"b": 1})]
    asked, measured = play(cards, total, head={"h": 1})

    assert [Carry((1,)), Commit(Artifact({"p": 5, "a": 1}), (0,))] == asked
    assert [Artifact({"h": 1}), Artifact({"p": 5, "a": 1}), Artifact({"h": 1, "b": 1})] == [
        *measured[0].candidates
    ]
    assert 1 == len(measured)


def noisy(gain, spread):
    """
    Scores whose paired differences to the head's have this mean, and swing by ``spread``.
    """

    def score(state, request):
        swing = [spread, -spread] * (len(request.tasks) * request.draws // 2)
        return [gain * bool(state) + s * bool(state) + 0.5 for s in swing]

    return score


def test_noisy_scores_are_compared_pair_by_pair():
    """
    A gain that stands out of its own spread is committed, one that does not is left.
    """
    cards = [card(0)]
    clear, measured = play(cards, noisy(0.1, 0.01), deterministic=False)
    faint, _ = play(cards, noisy(0.01, 0.1), deterministic=False)

    assert [Commit(Artifact({"k0": 1}), (0,))] == clear
    assert [] == faint
    assert [4] == [request.draws for request in measured]


def test_the_level_says_how_sure_a_commit_must_be():
    """
    The same scores pass at a loose level and fail at a strict one.
    """
    scores, cards = noisy(0.05, 0.1), [card(0)]
    loose, measured = play(cards, scores, deterministic=False, draws=2, accept_level=0.2)
    strict, _ = play(cards, scores, deterministic=False, draws=2, accept_level=0.01)

    assert [1, 0] == [len(loose), len(strict)]
    assert [2] == [request.draws for request in measured]


@pytest.mark.parametrize(
    ("candidate", "level", "expected"),
    [
        ((1.0, 0.0, 0.0), None, True),
        ((0.0, 0.0, 0.0), None, False),
        ((1.0, -1.0, 0.0), None, False),
        ((0.0, 0.0, 0.0), 0.05, False),
        ((0.1, 0.1, 0.1), 0.05, True),
        ((1.0, 0.0, 0.0), 0.05, False),
        ((-0.1, -0.1, -0.1), 0.05, False),
    ],
)
def test_better_than_a_head_that_scores_nothing(candidate, level, expected):
    """
    Without noise any gain counts; with it the mean gain is held against its standard error.
    """
    assert expected is better(candidate, (0.0, 0.0, 0.0), level)


def test_one_noisy_score_proves_nothing():
    """
    It has no spread to be held against.
    """
    assert not better((9.0,), (0.0,), 0.05)


@pytest.mark.parametrize(
    "options",
    [
        {"batch": 0},
        {"batch": 1.5},
        {"draws": 0},
        {"draws": True},
        {"draws": None},
        {"accept_level": 0.0},
        {"accept_level": 1},
        {"accept_level": "high"},
        {"accept_level": float("nan")},
    ],
)
def test_bad_options_are_refused(options):
    """
    The error names the option.
    """
    with pytest.raises(OptionError, match=next(iter(options))):
        StandardAggregator(**options)
