"""
The merger: what a sweep does with the cards that it takes.

It judges each card against the head by a staleness policy, finds duplicates, and remembers which
commit last changed which part of the artifact.  It is the only writer: sweeps may race, and what
one commits closes the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from headway.contracts import Card, Verdict, touch_common
from headway.errors import ContractError


@attrs.frozen(kw_only=True)
class Sweep:
    """
    What a sweep's cards are to become.

    Args:
        accepted: To be merged as they are.
        rebased: To be rebased onto the head and verified again.
        stale: To be discarded as stale.
        duplicates: To be discarded: an older card says the same.
    """

    accepted: tuple[Card, ...]
    rebased: tuple[Card, ...]
    stale: tuple[Card, ...]
    duplicates: tuple[Card, ...]


@attrs.define(eq=False, kw_only=True)
class Merger:
    """
    Judges cards against the head.

    Not safe to use from several threads at once: the machine's driver serialises.

    Args:
        decide: The staleness policy's ``decide(eta, alpha, contract_breaking)``.
        alpha: The largest eta that the policy tolerates, in commits.
    """

    decide: Callable[[int, int, bool], Verdict]
    alpha: int
    _changed: dict[str, int] = attrs.field(factory=dict[str, int], init=False)
    _unknown: int = attrs.field(default=-1, init=False)

    def sweep(self, cards: Sequence[Card], head: int) -> Sweep:
        """
        Judge cards, oldest first, against the head's version; changes nothing.

        A card with a parent of its own is not rebased: its parent is still what it was.  Groups are
        accepted: what is too old of them was let go before, and no two are the same.

        Raises:
            ContractError: the policy's answer is none of accept, rebase, discard.
        """
        piles: dict[str, list[Card]] = {"accept": [], "rebase": [], "discard": [], "duplicate": []}
        known: set[tuple[str, str]] = set()
        for card in cards:
            eta = head - card.base
            identity = (card.digest, card.parent.digest if card.parent else "")
            pile = self._verdict(card, eta)
            if pile != "discard":
                pile = "duplicate" if identity in known else pile
                known.add(identity)
            piles[pile].append(card if card.eta == eta else attrs.evolve(card, eta=eta))
        return Sweep(
            accepted=tuple(piles["accept"]),
            rebased=tuple(piles["rebase"]),
            stale=tuple(piles["discard"]),
            duplicates=tuple(piles["duplicate"]),
        )

    def _verdict(self, card: Card, eta: int) -> str:
        if card.is_group:
            return "accept"
        verdict = self.decide(eta, self.alpha, card.contract_breaking)
        if verdict not in ("accept", "rebase", "discard"):
            message = (
                f"the staleness policy answered {verdict!r} for eta={eta}; "
                "it must answer 'accept', 'rebase' or 'discard'"
            )
            raise ContractError(message)
        return "accept" if verdict == "rebase" and card.parent is not None else verdict

    def committed(self, version: int, keys: Iterable[str]) -> None:
        """
        Note which parts of the artifact the commit of ``version`` changed.
        """
        for key in keys:
            self._changed[key] = version

    def moved(self, version: int) -> None:
        """
        Note that somebody else moved the head to ``version``: any part may have changed.
        """
        self._unknown = version

    def untouched(self, card: Card) -> bool:
        """
        Whether nobody has changed the card's keys since its base.
        """
        changed = (key for key, version in self._changed.items() if version > card.base)
        return self._unknown <= card.base and not touch_common(card.keys, changed)
