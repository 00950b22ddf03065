"""
What the tests of aggregators share: unusual cards, and words for what went otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import attrs
import pytest

from headway.contracts import KEEP, Card, Json, Selector, Work, canonical_json
from headway.errors import shown
from headway.keyed import keyed_rng
from headway.testing.conformance._aggregator_groups import other_arrivals, unusual_groups
from headway.testing.conformance._aggregator_steps import Case, Trace, plain
from headway.testing.conformance._common import Make, insist


def ended(walk: Callable[[], Trace], about: str) -> Trace:
    """
    A step's trace, where whatever it raises is what is wrong.
    """
    try:
        return walk()
    except AssertionError:
        raise
    except Exception as error:
        message = (
            f"a step raised {error!r} {about}\n-> let it decide whatever it is given; what it has no"
            ' use for is consumed with a reason: yield Consume([card], "conflict")'
        )
        raise AssertionError(message) from error


def insist_decided(case: Case, trace: Trace) -> None:
    """
    Fail unless a step that must decide has asked for something.
    """
    insist(
        trace.requests or not case.cards,
        f"a step with context.quiet asked for nothing, so {len(case.cards)} cards stay undecided",
        do="decide when context.quiet is true: commit, or Consume(cards), though the batch be small;"
        " nothing else will come",
    )


def difference(first: Trace, second: Trace) -> str:
    """
    Where two runs of one step part.
    """
    for number, (one, other) in enumerate(zip(first.requests, second.requests, strict=False), 1):
        if one != other:
            return f"request {number} is {shown(other)} and was {shown(one)}"
    if len(first.requests) != len(second.requests):
        return f"{len(second.requests)} requests instead of {len(first.requests)}"
    return f"it leaves the memory {shown(second.memory)} and left {shown(first.memory)}"


def unusual(
    case: Case, least: int | None, span: tuple[float, float]
) -> Iterator[tuple[str, list[Card]]]:
    """
    The same cards, or groups, as they seldom are.

    Args:
        case: Whose cards they are.
        least: The fewest members of a complete group, where that is not all.
        span: The range of rewards.
    """
    if case.nature.groups:
        return unusual_groups(case.cards, least=least, span=span)
    return unusual_cards(case.cards)


def arrived_otherwise(case: Case) -> Iterator[Case]:
    """
    The same cards, or groups, as if they had arrived in other orders.
    """
    if case.nature.groups:
        for first, more in other_arrivals(case.cards, gathers=case.nature.gathers):
            yield case.with_cards(*first, gathered=more)
    else:
        for cards in reordered(case.cards):
            yield case.with_cards(*cards)


def unusual_cards(cards: Sequence[Card]) -> Iterator[tuple[str, list[Card]]]:
    """
    The same cards as they seldom are, each time with a word for it.
    """
    last = 1 + max(card.number for card in cards)
    yield "stale", [attrs.evolve(card, base=0, eta=7) for card in cards]
    yield "rebased", [attrs.evolve(card, rebased=(0, card.base), eta=1) for card in cards]
    again = [attrs.evolve(c, number=last + n, tickets=(last + n,)) for n, c in enumerate(cards)]
    yield "duplicate", [*cards, *again]
    yield "conflicting", [attrs.evolve(card, keys=("*",)) for card in cards]
    yield "keyless", [attrs.evolve(card, keys=()) for card in cards]
    yield "contract-breaking", [attrs.evolve(card, contract_breaking=True) for card in cards]
    yield "unverified", [attrs.evolve(card, delta=None) for card in cards]
    yield "harmful", [attrs.evolve(card, delta=-1.0) for card in cards]
    yield "carried", [attrs.evolve(card, carried=True) for card in cards]


def reordered(cards: Sequence[Card]) -> Iterator[list[Card]]:
    """
    The same cards, numbered as if they had arrived in other orders.
    """
    numbers = [card.number for card in cards]
    for turn in range(3):
        order = list(cards)
        keyed_rng("order", turn).shuffle(order)
        yield [attrs.evolve(card, number=n) for n, card in zip(numbers, order, strict=True)]


def fate(case: Case, trace: Trace) -> tuple[Any, ...]:
    """
    What became of each card, told by its tickets, and what was kept; a group is told by its number.
    """
    groups = case.nature.groups
    names = {card.number: (card.number,) if groups else card.tickets for card in case.cards}
    decided = sorted((names[number], what) for number, what in trace.decided.items())
    states = [request.split()[1] for request in trace.requests if request.startswith("Commit ")]
    return decided, states, trace.memory if trace.memory is KEEP else plain(trace.memory)


def listed(value: Json) -> Json:
    """
    A value with lists for tuples, which JSON does not tell apart.
    """
    if isinstance(value, list | tuple):
        return [listed(item) for item in cast("Sequence[Json]", value)]
    if isinstance(value, dict):
        entries = cast("Mapping[Any, Json]", value)
        return {key: listed(item) for key, item in entries.items()}
    return value


def selector_of(make: Make) -> Selector:
    """
    A new part, if it selects.
    """
    part = make()
    if not isinstance(part, Selector):
        pytest.skip("it has no select")
    return part


def spelled_work(work: Any) -> tuple[Any, ...]:
    """
    A ``Work`` to be compared with others.
    """
    insist(
        isinstance(work, Work),
        f"select gave {shown(work)}",
        do="return Work(), or Work(parent=..., payload=..., task=...) of headway.contracts",
    )
    try:
        return work.parent and work.parent.digest, canonical_json(work.payload), work.task
    except (TypeError, ValueError) as error:
        insist(
            False,
            f"select gave {shown(work)}, which is no JSON: {error}",
            do="give a parent and a payload that are made of JSON values",
        )
        raise
