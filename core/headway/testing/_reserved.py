"""
The auditor's accounts of groups.

What must hold: groups begin in order, and members of older ones first; a member is tried again only
after it failed; a card holds the outcomes of its own group's members alone, each once; a batch is as
large as it must be and in the order that was asked for; and no outcome is older, when it is used, than
the bound says.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from headway.contracts import Card, Json, Ticket
from headway.gate import Reservations
from headway.machine import CommitCall, Machine, RolloutCall
from headway.testing._must import must


@attrs.define(eq=False)
class Reserved:
    """
    Keeps them.

    Args:
        gate: The run's gate; only its options are read.
        machine: Whose they are.
        cards: The cards that steps were given, by number.
    """

    gate: Reservations
    machine: Machine
    cards: dict[int, Card] = attrs.field(factory=dict[int, Card], init=False)
    foreign: bool = attrs.field(default=False, init=False)
    """Whether somebody else has moved the head, so that bounds are off."""
    _tickets: dict[int, Ticket] = attrs.field(factory=dict[int, Ticket], init=False)
    _payloads: dict[int, Json] = attrs.field(factory=dict[int, Json], init=False)
    _attempts: dict[tuple[int, int], int] = attrs.field(
        factory=dict[tuple[int, int], int], init=False
    )
    _ended: dict[int, str] = attrs.field(factory=dict[int, str], init=False)
    _newest: int = attrs.field(default=-1, init=False)
    _smaller: bool = attrs.field(default=False, init=False)

    def started(self, call: RolloutCall, version: int) -> None:
        """
        A member starts.
        """
        ticket = call.ticket
        size = self.machine.config.group_size
        must(0 <= ticket.member < size, f"{ticket} is a member that its group has not")
        must(ticket.group <= self._newest + self.gate.capacity, f"{ticket} is of no group yet")
        self._newest = max(self._newest, ticket.group)
        which = ticket.group, ticket.member
        attempt = self._attempts.get(which, -1) + 1
        must(ticket.attempt == attempt, f"{ticket} is attempt {attempt}")
        self._attempts[which] = attempt
        self._tickets[ticket.number], self._payloads[ticket.number] = ticket, call.payload
        if self.gate.bases == "head":
            must(ticket.base == version, f"{ticket} starts from another version than {version}")
        else:
            ahead = version - ticket.base
            must(ahead >= 0, f"{ticket} starts from a version that is not made")

    def ended(self, ticket: int, completion: str) -> None:
        """
        A member ended.
        """
        must(ticket in self._tickets, f"ticket {ticket} ended and never started")
        self._ended[ticket] = completion

    def given(self, cards: Sequence[Card], held: int) -> None:
        """
        A step is given cards; it holds so many then.
        """
        config, order = self.machine.config, [card.number for card in cards]
        must(order == sorted(order), f"a step is given the groups {order}")
        must(held <= self.gate.groups_per_step, f"a step holds {held} groups")
        for card in cards:
            self._check(card)
            fewest, most = config.fewest_members, config.group_size
            must(fewest <= len(card.members) <= most, f"{card.number} has odd members")
            self.cards[card.number] = card
        if not self.gate.early and len(cards) < self.gate.groups_per_step:
            last = self.gate.groups is not None or self.machine.phase != "running"
            must(last, f"a step is given {len(cards)} groups before the last batch")

    def _check(self, card: Card) -> None:
        must(card.base == min(m.base for m in card.members), f"{card.number} has another base")
        numbers = [m.member for m in card.members]
        must(numbers == sorted({*numbers}), f"{card.number} has members {numbers}")
        must(card.diff is None, f"{card.number} has a change")
        for member in card.members:
            ticket = self._tickets[member.ticket]
            must(ticket.group == card.number, f"{member} is of another group than {card.number}")
            must(ticket.member == member.member, f"{member} is another one than {ticket}")
            must(self._ended.get(ticket.number) == "ok", f"{member} did not end well")
            must(ticket.base == member.base, f"{member} ran on version {ticket.base}")
            must(member.payload == self._payloads[ticket.number], f"{member} was exchanged")

    def commits(self, call: CommitCall, version: int) -> None:
        """
        A step commits groups on a head.
        """
        bound = self.gate.max_age
        if self.foreign or bound is None:
            return
        for number in call.cards:
            age = version - self.cards[number].base
            must(age <= bound, f"group {number} is used {age} versions late, bound {bound}")
