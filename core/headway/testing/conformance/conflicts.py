"""
What every conflict rule must do, as tests that its author runs.

::

    from headway.testing.conformance import ConflictContract

    class TestOldest(ConflictContract):
        @pytest.fixture
        def make(self):
            return Oldest
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Iterator, Sequence
from itertools import combinations
from typing import Any, TypeAlias

import pytest

from headway.contracts import (
    Card,
    Compare,
    Comparison,
    Conflict,
    Measure,
    MeasureAll,
    touch_common,
)
from headway.errors import shown
from headway.testing.conformance._asking import asked, listed
from headway.testing.conformance._cards import (
    HELD_OUT,
    content,
    context,
    described,
    hands,
    numbers,
    score,
)
from headway.testing.conformance._common import Contract, Make, insist
from headway.testing.conformance._runs import DRIVEN, check_decision, check_equal_runs

MANY_REQUESTS = 100
"""Requests for one step's cards after which nobody waits for a rule any more."""


class ConflictContract(Contract):
    """
    Tests for any conflict rule: which of several contradictory cards stay.
    """

    def test_it_is_a_conflict_rule(self, make: Make) -> None:
        """
        An object that has ``resolve``.
        """
        made = make()
        insist(
            isinstance(made, Conflict) and not isinstance(made, type),
            f"make() gave {shown(made)}, which is no conflict rule",
            do="give an object with a method resolve(self, cards, context)",
        )

    def test_every_card_stays_or_goes(self, make: Make) -> None:
        """
        Once, none is invented, and both lists have the oldest card first.
        """
        for hand in hands():
            kept, gone = _resolved(make(), hand)
            insist(
                sorted(numbers((*kept, *gone))) == numbers(hand)
                and all(c in hand for c in (*kept, *gone)),
                f"of {described(hand)} there stay {numbers(kept)} and go {numbers(gone)}",
                do="put each of the given cards into exactly one of the two, as it was given",
            )
            insist(
                numbers(kept) == sorted(numbers(kept)) and numbers(gone) == sorted(numbers(gone)),
                f"of {described(hand)} there stay {numbers(kept)} and go {numbers(gone)}",
                do="sort both by card.number, the oldest first",
            )

    def test_something_stays(self, make: Make) -> None:
        """
        Where there are cards, at least one of them.
        """
        for hand in filter(None, hands()):
            kept, _ = _resolved(make(), hand)
            insist(
                kept,
                f"of {described(hand)} none stays",
                do="keep the best of cards that contradict each other: dropping all helps nobody",
            )

    def test_what_stays_does_not_contradict(self, make: Make) -> None:
        """
        No two cards that stay touch a common part.
        """
        for hand in hands():
            kept, _ = _resolved(make(), hand)
            for one, other in combinations(kept, 2):
                insist(
                    not touch_common(one.keys, other.keys),
                    f"of {described(hand)} both {one.number} and {other.number} stay, which touch a"
                    " common part",
                    do="compare each card with all that stay by headway.contracts.touch_common, which"
                    " knows what '*' means",
                )

    def test_only_what_contradicts_goes(self, make: Make) -> None:
        """
        Whatever goes touches a part that something touches which stays.
        """
        for hand in (*hands(), *hands(apart=True)):
            kept, gone = _resolved(make(), hand)
            for lost in gone:
                insist(
                    any(touch_common(lost.keys, other.keys) for other in kept),
                    f"of {described(hand)} card {lost.number} goes, and contradicts none of those that"
                    f" stay, {numbers(kept)}",
                    do="let go only of cards that touch a part of one that stays; worse ones are the"
                    " acceptance's to refuse",
                )

    def test_equal_cards_are_resolved_alike(self, make: Make) -> None:
        """
        Again and again, and by another rule made alike; the cards stay as they were.
        """
        used = make()
        for hand in hands():
            before = content(hand)
            found = [_resolved(rule, hand) for rule in (used, make(), used)]
            insist(
                found[0] == found[1] == found[2],
                f"of {described(hand)} there stayed {[numbers(kept) for kept, _ in found]}",
                do="let resolve depend on its arguments alone, and draw from context.rng at most",
            )
            insist(
                content(hand) == before,
                f"resolve changed the cards {before} to {content(hand)}",
                do="change no card in place",
            )

    def test_it_measures_on_no_held_out_task(self, make: Make) -> None:
        """
        The card that stays is tested there: on scores that it was chosen for it would look too good.
        """
        for hand in hands():
            for request in _measured(make(), hand):
                used = sorted(set(request.tasks) & set(HELD_OUT))
                insist(
                    not used,
                    f"for {described(hand)} it measures on the held-out tasks {used}",
                    do="measure on the cards' own training tasks (card.task)",
                )

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_runs_end_well_with_it(self, make: Make, mode: str, driver: str) -> None:
        """
        In both modes, on real clocks and on a virtual one, and nothing is at fault.
        """
        check_decision("conflict", make(), mode, driver)

    def test_equal_runs_come_out_equal(self, make: Make) -> None:
        """
        Simulated runs of one seed, the last with a rule that was used before.
        """
        check_equal_runs("conflict", make)


_Measuring: TypeAlias = Measure | MeasureAll | Compare


def _steps(rule: Any, hand: Sequence[Card]) -> Generator[_Measuring, None, Any]:
    """
    What a rule asks for, each answered, and what it gives in the end.
    """
    found = asked(rule.resolve, hand, context(), do="resolve any number of cards, also none")
    if not inspect.isgenerator(found):
        return found
    steps: Any = found
    answer: Any = None
    for _ in range(MANY_REQUESTS):
        try:
            request: Any = steps.send(answer)
        except StopIteration as stop:
            return stop.value
        insist(
            isinstance(request, _Measuring),
            f"resolve yielded {shown(request)}",
            do="yield Measure, MeasureAll or Compare, and return the cards that stay and those that go",
        )
        yield request
        answer = _answered(request)
    wrong = f"resolve asked for {MANY_REQUESTS} measurements for {described(hand)}"
    raise AssertionError(f"{wrong}\n-> end after a few: each costs what rollouts cost")


def _answered(request: _Measuring) -> Any:
    if isinstance(request, MeasureAll):
        return tuple(map(_answered, request.measures))

    def mean(candidate: Any) -> float:
        return sum(score(candidate, task) for task in request.tasks) / max(1, len(request.tasks))

    if isinstance(request, Measure):
        return tuple(
            tuple(score(c, task) for task in request.tasks for _ in range(request.draws))
            for c in request.candidates
        )
    means = [mean(candidate) for candidate in request.candidates]
    better = tuple(n for n, found in enumerate(means) if found > mean(request.reference))
    best = max(better, key=lambda n: (means[n], -n), default=None)
    return Comparison(best=best, better=better)


def _measured(rule: Any, hand: Sequence[Card]) -> Iterator[Measure | Compare]:
    """
    All that a rule measures.
    """
    for request in _steps(rule, hand):
        if isinstance(request, MeasureAll):
            yield from request.measures
        else:
            yield request


def _resolved(rule: Any, hand: Sequence[Card]) -> tuple[tuple[Card, ...], tuple[Card, ...]]:
    """
    The cards that stay and those that go.
    """
    steps = _steps(rule, hand)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            found: Any = stop.value
            break
    insist(
        listed(found, tuple) and len(found) == 2 and all(listed(side, Card) for side in found),
        f"resolve gave {shown(found)} for {described(hand)}",
        do="return two tuples of cards: those that stay and those that go",
    )
    return tuple(found[0]), tuple(found[1])
