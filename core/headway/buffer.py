"""
The evidence buffer: what has been found and is not yet decided.

Guarantee: every card that is put in leaves exactly once, through ``settle``; until then it either
waits or is leased.  ``put = settled + waiting + leased`` at every instant.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from headway.contracts import Card


@attrs.frozen(kw_only=True)
class BufferStatistics:
    """
    How many cards a buffer holds, by where they are.

    Args:
        put: Cards put in so far.
        settled: Cards that left, decided.
        waiting: New cards that wait for a sweep.
        undecided: New cards that wait or are leased.
        carried: Carried cards that wait or are leased.
    """

    put: int
    settled: int
    waiting: int
    undecided: int
    carried: int


@attrs.define(eq=False)
class EvidenceBuffer:
    """
    Cards from the moment they are found until they are decided.

    A sweep leases all that wait; a leased card is settled, given back, or carried.  The buffer
    itself never refuses a card: the lag gate bounds what may arrive.

    Not safe to use from several threads at once: the machine's driver serialises.
    """

    _waiting: dict[int, Card] = attrs.field(factory=dict[int, Card], init=False)
    _leased: dict[int, Card] = attrs.field(factory=dict[int, Card], init=False)
    _seen: set[int] = attrs.field(factory=set[int], init=False)
    _carried: set[int] = attrs.field(factory=set[int], init=False)
    _waiting_carried: int = attrs.field(default=0, init=False)
    _put: int = attrs.field(default=0, init=False)
    _settled: int = attrs.field(default=0, init=False)

    def put(self, card: Card) -> None:
        """
        Take in a new card.

        Raises:
            ValueError: a card of this number was put in before and is still held.
        """
        if card.number in self._waiting or card.number in self._leased:
            message = f"card {card.number} is in the buffer already"
            raise ValueError(message)
        self._waiting[card.number] = card
        self._put += 1

    def lease(self, numbers: Iterable[int] | None = None) -> tuple[tuple[Card, ...], int]:
        """
        Lease what waits, all of it or some cards: the cards, oldest first, and how many of them are
        leased for the first time.

        Raises:
            KeyError: one of them does not wait; nothing was leased.
        """
        chosen = sorted(self._waiting if numbers is None else numbers)
        cards = tuple([self._waiting[number] for number in chosen])
        first = [number for number in chosen if number not in self._seen]
        for card in cards:
            self._leased[card.number] = card
            del self._waiting[card.number]
        self._seen.update(first)
        self._waiting_carried = sum(number in self._carried for number in self._waiting)
        return cards, len(first)

    def update(self, card: Card) -> None:
        """
        Replace a leased card by what it became (judged, rebased).

        Raises:
            KeyError: no card of this number is leased.
        """
        if card.number not in self._leased:
            raise KeyError(card.number)
        self._leased[card.number] = card

    def give_back(self, numbers: Iterable[int]) -> None:
        """
        Let leased cards wait again, undecided.

        Raises:
            KeyError: a card is not leased; those named before it wait again.
        """
        for number in numbers:
            self._waiting[number] = self._leased.pop(number)
            self._waiting_carried += number in self._carried

    def carry(self, numbers: Iterable[int]) -> None:
        """
        Let leased cards wait again as helpful but uncertain; they stand beside the gate's bound.

        Raises:
            KeyError: a card is not leased; those named before it wait again.
        """
        for number in numbers:
            card = self._leased.pop(number)
            self._waiting[number] = card if card.carried else attrs.evolve(card, carried=True)
            self._carried.add(number)
            self._waiting_carried += 1

    def settle(self, number: int) -> Card:
        """
        Let a decided card go.

        Raises:
            KeyError: the buffer does not hold this card.
        """
        if number in self._waiting:
            self._waiting_carried -= number in self._carried
            card = self._waiting.pop(number)
        else:
            card = self._leased.pop(number)
        self._seen.discard(number)
        self._carried.discard(number)
        self._settled += 1
        return card

    def waiting_card(self, number: int) -> Card | None:
        """
        The card of a number, if it waits for a sweep.
        """
        return self._waiting.get(number)

    def seen(self, number: int) -> bool:
        """
        Whether a held card has been leased before.
        """
        return number in self._seen

    @property
    def considered(self) -> int:
        """
        How many held cards have been leased before.
        """
        return len(self._seen)

    @property
    def put_in(self) -> int:
        """
        How many cards were put in so far.
        """
        return self._put

    @property
    def waiting_cards(self) -> tuple[Card, ...]:
        """
        The cards that wait for a sweep, oldest first.
        """
        return tuple(self._waiting[n] for n in sorted(self._waiting))

    @property
    def leased(self) -> tuple[Card, ...]:
        """
        The cards that are leased, oldest first.
        """
        return tuple(self._leased[n] for n in sorted(self._leased))

    @property
    def held(self) -> tuple[int, ...]:
        """
        The numbers of all cards that are held, oldest first.
        """
        return tuple(sorted([*self._waiting, *self._leased]))

    @property
    def carried(self) -> tuple[int, ...]:
        """
        The numbers of the carried cards, oldest first.
        """
        return tuple(sorted(self._carried))

    @property
    def waiting(self) -> int:
        """
        How many new cards wait for a sweep.
        """
        return len(self._waiting) - self._waiting_carried

    @property
    def leasable(self) -> int:
        """
        How many cards a sweep would lease now, carried ones included.
        """
        return len(self._waiting)

    @property
    def undecided(self) -> int:
        """
        How many new cards wait or are leased.
        """
        return len(self) - len(self._carried)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._leased)

    def counts(self) -> tuple[int, int, int]:
        """
        ``undecided``, ``waiting`` and the length at once.
        """
        if not (self._waiting or self._leased):
            return 0, 0, 0
        waiting = len(self._waiting)
        held = waiting + len(self._leased)
        return held - len(self._carried), waiting - self._waiting_carried, held

    def statistics(self) -> BufferStatistics:
        """
        A frozen count of what the buffer holds.
        """
        return BufferStatistics(
            put=self._put,
            settled=self._settled,
            waiting=self.waiting,
            undecided=self.undecided,
            carried=len(self._carried),
        )
