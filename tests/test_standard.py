"""
The standard aggregator alone: a step is played by hand, without a machine.
"""

from __future__ import annotations

import random

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.builtins.standard import (
    Audit,
    BetterDelta,
    Confirmed,
    Sequential,
    StandardAggregator,
    Union,
)
from headway.builtins.standard._audit import learnt, priority
from headway.contracts import (
    KEEP,
    Artifact,
    Card,
    Carry,
    Commit,
    Compare,
    Comparison,
    Consume,
    Measure,
    MeasureAll,
    Promote,
    Removal,
    Snapshot,
    StepContext,
    TrialTerms,
    canonical_json,
    content_digest,
    touch_common,
)
from headway.errors import OptionError
from headway.keyed import keyed_unit

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


def context(**more):
    """
    What a step is told, with a head of version 3.
    """
    fixed = {
        "head": Snapshot(3, Artifact({})),
        "memory": None,
        "held_out": HELD_OUT,
        "deterministic": True,
        "quiet": False,
        "rng": random.Random(0),
        "step": 1,
        "combine": combine,
    }
    return StepContext(**fixed | more)


def comparison(means):
    """
    The answer to a comparison with the first.
    """
    better = tuple(n for n, mean in enumerate(means[1:]) if mean > means[0])
    best = max(better, key=lambda n: (means[n + 1], -n), default=None)
    return Comparison(best=best, better=better)


def rows(measure, score):
    return tuple(tuple(score(c.value, measure)) for c in measure.candidates)


def played(cards, score, about, **options):
    """
    All that a step asks for, and the memory that it leaves; a commit makes the next version.
    """
    step, answer = StandardAggregator(**options).step(cards, about), None
    asked, memory, version = [], about.memory, about.head.version
    try:
        while True:
            request = step.send(answer)
            answer = None
            if isinstance(request, Compare):
                scored = Measure((request.reference, *request.candidates), request.tasks)
                asked.append(scored)
                answer = comparison([sum(score(c.value, scored)) for c in scored.candidates])
                continue
            if isinstance(request, MeasureAll):
                asked += request.measures
                answer = tuple(rows(measure, score) for measure in request.measures)
                continue
            asked.append(request)
            if isinstance(request, Measure):
                answer = rows(request, score)
            elif isinstance(request, Commit):
                version += 1
                memory, answer = request.memory, Snapshot(version, request.candidate)
    except StopIteration as stop:
        return asked, memory if stop.value is None else stop.value


def play(cards, score, *, head=None, deterministic=True, quiet=False, **options):
    """
    What a step asks for beside its measurements, and those; the sum of a state's values decides.
    """
    about = context(
        head=Snapshot(3, Artifact(head or {})), deterministic=deterministic, quiet=quiet
    )
    asked, _ = played(cards, score, about, **options)
    others = [
        attrs.evolve(request, memory=KEEP) if isinstance(request, Commit) else request
        for request in asked
        if not isinstance(request, Measure)
    ]
    return others, [request for request in asked if isinstance(request, Measure)]


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

    assert ((cards[1], cards[2], cards[0]), ()) == BetterDelta().resolve(cards, context())


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
    kept, rest = BetterDelta().resolve(cards, context())

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
        outcomes.append([c.number for c in BetterDelta().resolve(cards, context())[0]])

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
    kept, rest = BetterDelta().resolve(cards, context())

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


def test_an_acceptance_that_wants_figures_gets_them():
    """
    Who is better is found out early only where that is enough.
    """

    class Choosy(Sequential):
        def trial(self, terms):
            return Figures()

    class Figures:
        opening = cycles = 1
        seen, mean, verdict = 0, 0.0, "undecided"

        def add(self, differences):
            self.seen, self.mean = 1, sum(differences) / len(differences)
            self.verdict = "accept" if self.mean >= 2 else "reject"

    cards = [card(0, {"a": 1}), card(1, {"b": 2})]
    asked, _ = play(cards, total, acceptance=Choosy())

    assert [Commit(Artifact({"b": 2}), (1,))] == asked


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


def test_cards_that_were_seen_to_help_are_tried_together_first():
    """
    One candidate instead of three; and alone, once unions have not helped lately.
    """
    cards = [card(n, delta=0.5) for n in (1, 2, 3)]
    lucky, _ = played(cards, total, context())
    luckless, _ = played(cards, total, context(memory={"unions": 5.0}))

    assert [1, 3] == [len(measures(asked)[0].candidates) - 1 for asked in (lucky, luckless)]
    assert (1, 2, 3) == commits(lucky)[0].cards


@pytest.mark.parametrize("deltas", [(None, None), (0.5, 0.0), (0.5, -0.5), (0.0, 0.0)])
def test_cards_that_may_not_help_are_tried_alone(deltas):
    """
    A union needs one that was seen to help, and none that was seen not to.
    """
    cards = [card(n, delta=delta) for n, delta in enumerate(deltas)]
    asked, _ = played(cards, total, context())

    assert 2 == len(measures(asked)[0].candidates) - 1


def test_small_gains_that_no_test_of_one_shows_are_shown_together():
    """
    Noisy cards too are tried together first, on draws that have chosen nothing: none of them was
    chosen by its scores on this head.
    """
    cards = [card(n, {f"k{n}": 0.3}, delta=0.5) for n in (1, 2, 3)]
    asked, _ = played(cards, total, context(deterministic=False))
    first = measures(asked)[0]

    assert (2, 0) == (len(first.candidates), first.first)
    assert (1, 2, 3) == commits(asked)[0].cards


def test_unions_that_do_not_help_make_the_next_one_less_likely():
    """
    What was tried lately counts most.
    """
    cards = [card(n, {f"k{n}": -1}, delta=0.5) for n in (1, 2)]
    memory, sizes = None, []
    for step in range(1, 6):
        asked, memory = played(cards, total, context(memory=memory, step=step))
        sizes.append(len(measures(asked)[0].candidates) - 1)

    assert [1, 1, 1, 2, 2] == sizes


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


def test_a_tournament_tries_the_members_of_the_union_alone_too():
    """
    Measured together, and the best is committed: here the union.
    """
    cards = [card(0, {"a": 1}, carried=True), card(1, {"b": 1}, carried=True)]
    asked, measured = play(cards, total, fusion=Union(tournament=True))

    assert [Commit(Artifact({"a": 1, "b": 1}), (0, 1))] == asked
    assert [4] == [len(request.candidates) for request in measured]


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


def test_a_step_settles_conflicts_by_what_it_has_measured():
    """
    The card that does better on both cards' tasks stays, though its own delta is smaller.
    """
    cards = [card(0, {"k": 1}, delta=0.9, task="a"), card(1, {"k": 2}, delta=0.2, task="b")]
    asked, measured = play(cards, total)
    free, unmeasured = play(cards, total, conflict=BetterDelta())

    assert [Consume((0,), "conflict"), Commit(Artifact({"k": 2}), (1,))] == asked
    assert [("a", "b"), HELD_OUT] == [request.tasks for request in measured]
    assert [Consume((1,), "conflict"), Commit(Artifact({"k": 1}), (0,))] == free
    assert [HELD_OUT] == [request.tasks for request in unmeasured]


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


def test_each_candidate_is_made_once():
    """
    What cards make of the head is worked out once in a step, by whoever needs it, but on a new head anew.
    """
    made = []

    def counted(artifact, *diffs):
        made.append((artifact.value, diffs))
        return combine(artifact, *diffs)

    cards = [card(0, {"a": 1}), card(1, {"b": -9}), card(2, {"c": 2}), card(3, {"d": 1})]
    asked, _ = played(cards, total, context(combine=counted, quiet=True))

    assert 3 == sum(isinstance(request, Commit) for request in asked)
    assert len(made) == len({canonical_json(one) for one in made})


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


# ---------------------------------------------------------------------- noisy rewards


TASKS = tuple(f"t{n}" for n in range(20))


def noisy(rate, seed=0):
    """
    Scores of coins: each draw of a state is 1 with the probability ``rate`` of the state.
    """

    def score(state, request):
        draws = range(request.first, request.first + request.draws)
        return [
            float(keyed_unit(seed, canonical_json(state), task, draw) < rate(state))
            for task in request.tasks
            for draw in draws
        ]

    return score


def helps(state):
    return 0.8 if state.get("good") else 0.5


def about_noise(**more):
    return context(held_out=TASKS, deterministic=False, **more)


def measures(asked):
    return [request for request in asked if isinstance(request, Measure)]


def commits(asked):
    return [request for request in asked if isinstance(request, Commit)]


def test_draws_are_taken_cycle_by_cycle_until_enough_is_known():
    """
    A clear gain needs few of the draws that a test may take, and a useless card is given up.
    """
    good, bad = card(0, {"good": 1}), card(1, {"bad": 1})
    taken, _ = played([good], noisy(helps), about_noise(), acceptance=Sequential(max_draws=40))
    left, _ = played([bad], noisy(helps), about_noise(), acceptance=Sequential(max_draws=40))

    assert [(0,)] == [request.cards for request in commits(taken)]
    assert [] == commits(left)
    assert 3 <= len(measures(taken)) <= 12
    for asked in (taken, left):
        assert [*range(len(measures(asked)))] == [request.first for request in measures(asked)]
        assert {1} == {request.draws for request in measures(asked)}


def test_few_tasks_are_drawn_several_times_before_the_first_look():
    """
    As often as even the best scores would need.
    """
    about = attrs.evolve(about_noise(), held_out=TASKS[:3])
    asked, _ = played([card(0, {"good": 1})], noisy(helps), about)

    assert 3 <= measures(asked)[0].draws <= 10


def test_a_new_head_is_measured_on_draws_that_did_not_choose_it():
    """
    It was committed for the earlier ones, which flatter it.
    """
    first, memory = played([card(0, {"good": 1})], noisy(helps), about_noise())
    seen = max(request.first + request.draws for request in measures(first))
    head = Snapshot(4, commits(first)[0].candidate)
    then, _ = played([card(1)], noisy(helps), about_noise(head=head, memory=memory, step=2))

    assert [seen] == [request.first for request in measures(then)][:1]


def test_a_head_that_somebody_else_committed_is_measured_on_fresh_draws_too():
    """
    Nothing is known of it, and draws that no test has seen are right for it.
    """
    _, memory = played([card(0)], noisy(helps), about_noise())
    head = Snapshot(4, Artifact({"other": 1}))
    then, _ = played([card(1)], noisy(helps), about_noise(head=head, memory=memory, step=2))

    assert memory["used"] > 0
    assert memory["used"] == measures(then)[0].first


def test_a_union_is_tried_on_draws_that_did_not_choose_its_members():
    """
    They were carried for their luck on the earlier draws of this head.
    """
    _, memory = played([card(0)], noisy(helps), about_noise())
    cards = [card(1, {"good": 1}, carried=True), card(2, {"b": 1}, carried=True)]
    asked, _ = played(cards, noisy(helps), about_noise(memory=memory, step=2))

    assert memory["used"] == measures(asked)[0].first
    assert [(1, 2)] == [request.cards for request in commits(asked)]


def test_a_card_left_undecided_waits_for_company():
    """
    It is carried, and not tried alone again on the head that told nothing; another head may.
    """

    def slightly(state):
        return 0.62 if state else 0.5

    options = {"acceptance": Sequential(max_draws=3)}
    seed = next(
        s
        for s in range(100)
        if isinstance(played([card(0)], noisy(slightly, s), about_noise(), **options)[0][-1], Carry)
    )
    first, memory = played([card(0)], noisy(slightly, seed), about_noise(), **options)
    again, _ = played(
        [card(0, carried=True)],
        noisy(slightly, seed),
        about_noise(memory=memory, step=2),
        **options,
    )
    moved, _ = played(
        [card(0, carried=True)],
        noisy(slightly, seed),
        about_noise(memory=memory, step=2, head=Snapshot(4, Artifact({"x": 0}))),
        **options,
    )

    assert Carry((0,)) == first[-1]
    assert [Carry((0,))] == again
    assert isinstance(moved[0], Measure)


def test_a_last_step_tells_the_uncertain_from_the_worse():
    """
    What it wants to carry is discarded as uncertain.
    """

    def slightly(state):
        return 0.62 if state else 0.5

    options = {"acceptance": Sequential(max_draws=3)}
    ends = {
        quiet: [
            Carry((0,))
            in played([card(0)], noisy(slightly, s), about_noise(quiet=quiet), **options)[0]
            for s in range(10)
        ]
        for quiet in (True, False)
    }

    assert any(ends[True])
    assert ends[True] == ends[False]


def test_of_a_refused_union_only_the_best_member_is_carried_on():
    """
    Else the same union would be tried for ever.
    """

    def slightly(state):
        return 0.5 + 0.06 * (len(state) == 1)

    cards = [card(n, carried=True) for n in range(3)]
    options = {"acceptance": Sequential(max_draws=3)}
    for seed in range(40):
        asked, _ = played(cards, noisy(slightly, seed), about_noise(), **options)

        assert sum(len(r.cards) for r in asked if isinstance(r, Carry)) <= 1


def test_a_test_of_a_later_step_is_stricter():
    """
    So that all of them together stay below the level of the run.
    """
    terms = {"tasks": 20, "deterministic": False}
    levels = [
        Sequential().trial(TrialTerms(step=step, part=part, **terms)).test.level
        for step in range(1, 5000)
        for part in (0.75 / 2, 0.75 / 2, 0.25)
    ]

    assert sorted(levels[::3], reverse=True) == levels[::3]
    assert 0.03 < sum(levels) < 0.05


def test_an_unbounded_reward_range_counts_signs():
    """
    A bounded test needs bounded differences.
    """

    def far(state, request):
        return [1000.0 * bool(state)] * len(request.tasks) * request.draws

    about = attrs.evolve(about_noise(), reward_range=(0.0, float("inf")))
    asked, _ = played([card(0)], far, about)

    assert [(0,)] == [request.cards for request in commits(asked)]


# ---------------------------------------------------------------------- audit


@pytest.mark.parametrize(
    ("trust", "cheap", "full", "expected"),
    [
        (1.0, 0.5, 0.1, 1.25),
        (4.0, 0.5, 0.1, 4.0),
        (1.0, 0.5, -0.1, 0.5),
        (0.3, 0.5, 0.0, 0.25),
        (1.0, 0.0, 0.1, 1.0),
        (1.0, None, 0.1, 1.0),
    ],
)
def test_trust_grows_slowly_and_is_lost_fast(trust, cheap, full, expected):
    """
    Within 0.25 and 4.
    """
    assert expected == learnt(trust, cheap, full)


def test_what_is_risky_uncertain_and_little_trusted_comes_first():
    """
    Blast radius times uncertainty by trust.
    """
    assert priority(0.2, 0.5, 1.0) < priority(0.2, 0.5, 0.5) < priority(0.4, 0.5, 0.5)


def vetoing(state, request):
    """
    Better on the held-out tasks, worse on the oracle's.
    """
    gain = sum(state.values())
    return [-9.0 * gain if task.startswith("o") else float(gain) for task in request.tasks]


@pytest.mark.parametrize(
    ("radius", "memory", "budget", "vetoed"),
    [
        (0.2, None, 200, False),
        (0.31, None, 200, True),
        (0.31, None, 1, False),
        (0.31, {"audited": 199}, 200, False),
        (0.2, {"trust": 0.5}, 200, True),
        (0.2, {"trust": 0.75}, 200, False),
    ],
)
def test_the_oracle_can_veto(radius, memory, budget, vetoed):
    """
    It is asked for harnesses and below a trust of 0.75, as long as its budget lasts.
    """
    about = context(blast_radius=radius, oracle=("o0",), memory=memory)
    asked, left = played([card(0, delta=1.0)], vetoing, about, oracle_budget=budget)

    assert vetoed is (Consume((0,), "vetoed") in asked)
    assert vetoed is not any(isinstance(request, Commit) for request in asked)
    if vetoed:
        assert (0.5 * (memory or {}).get("trust", 1.0), 8) == (left["trust"], left["audited"])


def test_after_a_veto_the_next_best_is_asked_about():
    """
    A veto decides one card, not the step.
    """

    def picky(state, request):
        bad = state.get("a")
        gain = sum(state.values())
        return [-9.0 if bad and task == "o0" else float(gain) for task in request.tasks]

    about = context(blast_radius=0.5, oracle=("o0",))
    asked, _ = played([card(0, {"a": 2}), card(1, {"b": 1})], picky, about)

    assert Consume((0,), "vetoed") in asked
    assert [(1,)] == [request.cards for request in commits(asked)]


def test_a_noisy_audit_takes_fresh_draws_within_its_budget():
    """
    Of head and candidate on the held-out tasks and the oracle's.
    """
    about = about_noise(blast_radius=0.9, oracle=("o0",))
    asked, memory = played([card(0, {"good": 1})], noisy(helps), about, oracle_budget=100)
    audit = measures(asked)[-1]

    assert (*TASKS, "o0") == audit.tasks
    assert audit.first > 1000
    assert 2 * 21 * audit.draws == memory["audited"] <= 100


# ---------------------------------------------------------------------- promotion


def later(memory, head, step, **more):
    return context(memory=memory, head=head, step=step, stable=Snapshot(0, Artifact({})), **more)


def test_a_version_is_promoted_after_its_confirmations():
    """
    Each later step is one when rewards are deterministic; asked for thrice at most.
    """
    first, memory = played([card(0)], total, context(step=5))
    head = Snapshot(4, commits(first)[0].candidate)
    bad = card(1, {"k1": -1})
    promoted = [
        step
        for step in range(6, 15)
        if Promote(4)
        in played([bad], total, later(memory, head, step), promotion=Confirmed(promote_after=2))[0]
    ]

    assert [7, 8, 9] == promoted


def test_what_is_stable_or_was_committed_by_somebody_else_is_not_promoted():
    """
    There is nothing to be done, or nothing known about it.
    """
    first, memory = played([card(0)], total, context(step=5))
    head = Snapshot(4, commits(first)[0].candidate)
    about = later(memory, head, 9)
    stable = attrs.evolve(about, stable=Snapshot(4, head.artifact))
    foreign = attrs.evolve(about, head=Snapshot(5, Artifact({"x": 1})))
    unknown = attrs.evolve(about, stable=None)
    bad = card(1, {"k1": -1})

    for other in (stable, foreign, unknown):
        assert Promote(4) not in played([bad], total, other)[0]
    assert Promote(4) in played([bad], total, about)[0]


def test_noisy_confirmations_are_fresh_and_a_regression_begins_anew():
    """
    Head and stable version are measured on draws of their own; falling behind resets the count.
    """
    memory = {"committed": Artifact({"good": 1}).digest, "since": 1}
    head = Snapshot(4, Artifact({"good": 1}))
    lucky = noisy(lambda state: 0.95 if state.get("good") else 0.05)
    unlucky = noisy(lambda state: 0.05 if state.get("good") else 0.95)
    counts, firsts, asked = [], [], []
    for step, score in enumerate([lucky, lucky, unlucky, lucky, lucky, lucky], start=2):
        about = later(memory, head, step, deterministic=False, held_out=TASKS)
        asked, memory = played([card(step)], score, attrs.evolve(about, deterministic=False))
        counts.append(memory["confirmed"])
        firsts.append(measures(asked)[0].first)

    assert [1, 2, 0, 1, 2, 3] == counts
    assert 6 == len({*firsts})
    assert Promote(4) in asked


# ---------------------------------------------------------------------- pruning


def removals(*names):
    return lambda: tuple(Removal(diff={name: 0}, keys=(name,)) for name in names)


def after(memory_of, head, **more):
    """
    A step on a head that the aggregator has committed.
    """
    memory = {"committed": Artifact(head).digest, **memory_of}
    return context(head=Snapshot(4, Artifact(head)), memory=memory, **more)


def worth(values):
    """
    Each task scores the sum of the values of a state's parts that are there.
    """

    def score(state, request):
        total = sum(values.get(name, -1) for name, held in state.items() if held)
        return [float(total)] * len(request.tasks) * request.draws

    return score


def test_a_part_that_is_not_needed_is_pruned():
    """
    Once after each commit one removal is tried, when no card helps: head against the artifact
    without it.
    """
    head = {"a": 1, "dead": 1}
    about = after({"cursor": 1}, head, removals=removals("a", "dead"))
    asked, memory = played([card(9, {"bad": 1})], worth({"a": 1, "dead": 0}), about)

    assert (Artifact({"a": 1, "dead": 0}), Artifact(head)) == measures(asked)[-1].candidates
    assert [(Artifact({"a": 1, "dead": 0}), (), ("dead",))] == [
        (request.candidate, request.cards, request.keys) for request in commits(asked)
    ]
    assert commits(asked)[0].memory == memory


def test_a_part_that_is_needed_stays_and_the_next_one_is_tried_next_time():
    """
    Once a head; the cursor goes round.
    """
    head = {"a": 1, "b": 1}
    score = worth({"a": 1, "b": 1})
    about = after({"cursor": 3}, head, removals=removals("a", "b"))
    asked, memory = played([card(9, {"bad": 1})], score, about)
    again, _ = played([card(9, {"bad": 1})], score, attrs.evolve(about, memory=memory, step=2))

    assert [] == commits(asked)
    assert {"a": 1, "b": 0} == measures(asked)[-1].candidates[0].value
    assert (4, Artifact(head).digest) == (memory["cursor"], memory["pruned"])
    assert (2, 1) == (len(measures(asked)), len(measures(again)))


def removed_from(asked):
    """
    What was tried without a part: the first row of each comparison but the first.
    """
    return [request.candidates[0].value for request in measures(asked)[1:]]


def test_on_a_head_that_stays_a_removal_is_tried_now_and_then():
    """
    The next part's, so many steps after the last one.
    """
    head = {"a": 1, "b": 1}
    about = after({"pruned": Artifact(head).digest, "pruned_in": 5, "cursor": 1}, head)
    about = attrs.evolve(about, removals=removals("a", "b"))
    tried = {}
    for step in (6, 24, 25):
        now = attrs.evolve(about, step=step)
        tried[step] = removed_from(played([card(9, {"bad": 1})], worth(head), now)[0])

    assert {6: [], 24: [], 25: [{"a": 1, "b": 0}]} == tried


def test_what_came_in_with_a_union_is_tried_without():
    """
    Each part of it in a step of its own, one step after the other, until one is not needed.
    """
    cards = [card(1, {"a": 1}, delta=0.5), card(2, {"rider": 1}, delta=0.5)]
    score = worth({"a": 1, "rider": 0})
    parts = removals("a", "rider")
    _, memory = played(cards, score, context(removals=parts))
    head, found = {"a": 1, "rider": 1}, []
    for step in (2, 3):
        about = attrs.evolve(after(memory, head, removals=parts), step=step)
        asked, memory = played([card(9, {"bad": 1})], score, about)
        found.append(([c.candidate.value for c in commits(asked)], memory["probation"]))

    assert [([], ["rider"]), ([{"a": 1, "rider": 0}], [])] == found


def test_a_card_that_helps_comes_before_a_removal():
    """
    What it is measured against changes with it.
    """
    about = after({}, {"dead": 1}, removals=removals("dead"))
    asked, _ = played([card(9, {"a": 1})], worth({"a": 1, "dead": 0}), about)

    assert [(9,)] == [request.cards for request in commits(asked)]


@pytest.mark.parametrize(("rate", "pruned"), [(0.5, True), (0.2, False)])
def test_a_noisy_removal_takes_all_its_draws(rate, pruned):
    """
    It must be shown to do no great harm, and to have done none so far.
    """

    def score(state):
        return rate if not state.get("part") else 0.5 if not state.get("bad") else 0.1

    about = after({}, {"part": 1}, removals=removals("part"))
    about = attrs.evolve(about, deterministic=False, held_out=TASKS)
    seeds = range(20)
    runs = [played([card(9, {"bad": 1})], noisy(score, seed), about)[0] for seed in seeds]
    found = [commits(asked) for asked in runs]

    assert pruned is any(found)
    for asked, commit in zip(runs, found, strict=True):
        assert not commit or [10] == [len(measures(asked))]


@pytest.mark.parametrize(
    ("part", "options"),
    [
        (StandardAggregator, {"batch_size": 0}),
        (StandardAggregator, {"batch_size": 1.5}),
        (StandardAggregator, {"max_steps": 4}),
        (StandardAggregator, {"oracle_budget": -1}),
        (Audit, {"oracle_budget": True}),
        (Sequential, {"max_draws": 0}),
        (Sequential, {"max_draws": None}),
        (Sequential, {"accept_level": 0.0}),
        (Sequential, {"accept_level": 1}),
        (Sequential, {"accept_level": "high"}),
        (Sequential, {"accept_level": float("nan")}),
        (Confirmed, {"promote_after": 0}),
        (Union, {"tournament": 1}),
    ],
)
def test_bad_options_are_refused(part, options):
    """
    The error names the option.
    """
    with pytest.raises(OptionError, match=next(iter(options))):
        part(**options)
