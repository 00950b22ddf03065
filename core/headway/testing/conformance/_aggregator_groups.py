"""
What the tests of aggregators know of those that learn from outcomes, by groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import isfinite
from typing import Any, Self

import attrs
import pytest

from headway.contracts import Card, Member, Work
from headway.durations import Uniform
from headway.errors import shown
from headway.keyed import keyed_rng
from headway.testing._rehearsal import Rehearsal
from headway.testing.conformance._common import insist

_NEEDS = (
    'it means something beside learns_from = "outcomes" alone: declare that too, or leave it out'
)


@attrs.frozen(kw_only=True)
class Nature:
    """
    What an aggregator says of itself, beside ``batch`` and ``max_steps``.

    Args:
        learns_from: ``"proposals"`` or ``"outcomes"``.
        group_size: Rollouts of a group.
        gathers: Whether its steps begin before their batch is complete.
        updates_per_step: The most versions that a step of groups moves the head.
    """

    learns_from: str = "proposals"
    group_size: int = 1
    gathers: bool = False
    updates_per_step: int = 1

    @classmethod
    def of(cls, part: Any) -> Self:
        """
        What it says.
        """
        held = {field.name: getattr(part, field.name, field.default) for field in attrs.fields(cls)}
        return cls(**held)

    @property
    def groups(self) -> bool:
        """
        Whether it learns from groups of outcomes.
        """
        return self.learns_from == "outcomes"

    def insist_sound(self, most_steps: int) -> None:
        """
        Fail unless it can be used.

        Args:
            most_steps: The aggregator's ``max_steps``.
        """
        insist(
            self.learns_from in ("proposals", "outcomes"),
            f"learns_from is {shown(self.learns_from)}",
            do='declare "proposals" or "outcomes"; or leave it out, which means "proposals"',
        )
        for name in ("group_size", "updates_per_step"):
            count = getattr(self, name)
            insist(
                type(count) is int and count >= 1,
                f"{name} is {shown(count)}",
                do="declare a whole number from 1 on; or leave it out, which means 1",
            )
        insist(
            type(self.gathers) is bool,
            f"gathers is {shown(self.gathers)}",
            do="declare True where step yields Gather(), else leave it out",
        )
        insist(
            not self.groups or most_steps == 1,
            f"max_steps is {most_steps}, and it learns from outcomes",
            do="leave max_steps out: one step has the batch, and further batches are begun meanwhile",
        )
        odd = [field.name for field in attrs.fields(Nature) if self._differs(field)]
        insist(self.groups or not odd, f"it declares {', '.join(odd)}", do=_NEEDS)

    def _differs(self, field: attrs.Attribute[Any]) -> bool:
        held: object = getattr(self, field.name)
        return held != field.default


def skip_without_groups(part: Any) -> None:
    """
    Skip a test that is for what learns from outcomes.
    """
    if not Nature.of(part).groups:
        pytest.skip("it learns from proposals")


def skip_without_proposals(part: Any, why: str) -> None:
    """
    Skip a test that is for what learns from proposals.
    """
    if Nature.of(part).groups:
        pytest.skip(why)


def insist_payload_alone(work: Work) -> None:
    """
    Fail if a group's ``select`` chose what the members of a group have in common.
    """
    chosen = [name for name in ("parent", "task") if getattr(work, name) is not None]
    insist(
        not chosen,
        f"select chose a {' and a '.join(chosen)}: {shown(work)}",
        do="give a payload alone: all members of a group work on one task, and each on the head",
    )


def insist_no_order_shows(calm: Rehearsal) -> None:
    """
    Fail unless a run in sync mode comes to one end, whatever the workers and the durations.
    """
    digests = set[str]()
    for workers, law in product((1, 5, 16), ({}, {"rollout": Uniform(0.1, 5.0)})):
        # Timers may fire early here, and what is tried again draws anew.
        more = {"mode": "sync", "n_workers": workers, "rollout_timeout": None}
        run = attrs.evolve(calm, options={**calm.options, **more}, durations=law)
        digests.add(run.simulate().digest)
    insist(
        len(digests) == 1,
        f"six runs of seed {calm.seed} in sync mode come to {len(digests)} different ends",
        do="let a payload hang on the ticket's group and member or on rng, never on its number or"
        " worker, and sort groups by number before anything is added up",
    )


def unusual_groups(
    cards: Sequence[Card], *, least: int | None, span: tuple[float, float]
) -> Iterator[tuple[str, list[Card]]]:
    """
    The same groups as they seldom are, each time with a word for it.

    Args:
        cards: The groups, with all their members.
        least: The fewest members of a complete group, where that is not all.
        span: The range of rewards.
    """
    low, high = (bound if isfinite(bound) else 0.0 for bound in span)
    yield "stale", [_changed(card, base=0, eta=7) for card in cards]
    yield "of mixed ages", [_aged(card) for card in cards]
    yield "all at the lowest reward", [_changed(card, reward=low) for card in cards]
    yield "all at the highest reward", [_changed(card, reward=high) for card in cards]
    same = [attrs.evolve(cards[0], number=card.number) for card in cards]
    yield "of equal outcomes", same
    if least is not None:
        yield "short of members", [_shrunk(card, least) for card in cards]


def _changed(card: Card, *, eta: int = 0, **more: Any) -> Card:
    members = tuple(attrs.evolve(member, **more) for member in card.members)
    return attrs.evolve(card, members=members, eta=eta, **more)


def _aged(card: Card) -> Card:
    members = tuple(attrs.evolve(m, base=m.base + n) for n, m in enumerate(card.members))
    return attrs.evolve(card, members=members, eta=len(members))


def _shrunk(card: Card, least: int) -> Card:
    return _of_members(card, card.members[-least:])


def _of_members(card: Card, members: tuple[Member, ...]) -> Card:
    tickets = tuple(member.ticket for member in members)
    mean = sum(member.reward for member in members) / len(members)
    return attrs.evolve(card, members=members, tickets=tickets, reward=mean)


def other_arrivals(
    cards: Sequence[Card], *, gathers: bool
) -> Iterator[tuple[list[Card], list[list[Card]]]]:
    """
    A batch as it may have come about otherwise: what the step begins with, and what it gathers.

    Tickets have the numbers of other orders; a step that gathers gets its groups in other orders, one
    by one or all at once.
    """
    tickets = sorted(member.ticket for card in cards for member in card.members)
    for turn in range(3):
        rng = keyed_rng("arrivals", turn)
        rng.shuffle(tickets)
        numbers = iter(tickets)
        renumbered = [
            _of_members(
                card, tuple(attrs.evolve(member, ticket=next(numbers)) for member in card.members)
            )
            for card in cards
        ]
        if not gathers or turn == 0:
            yield renumbered, []
            continue
        rng.shuffle(renumbered)
        yield renumbered[:1], [[card] for card in renumbered[1:]]
