"""
Faulty conflict, fusion, acceptance and promotion rules: the kit must find each.

Each is derived from a healthy twin.
"""

from __future__ import annotations

import random
from math import fsum, sqrt

import attrs

from headway.builtins.standard import BetterDelta, Confirmed, Sequential, SharedTasks, Union
from headway.builtins.standard._acceptance import NoisyTrial
from headway.contracts import MeasureAll

# -------------------------------------------------------------------------------------- conflicts


class DropsAll(BetterDelta):
    """
    Keeps none of those that contradict each other.
    """

    def resolve(self, cards, context):
        kept, gone = super().resolve(cards, context)
        return (kept, gone) if not gone else ((), tuple(cards))


class KeepsAll(BetterDelta):
    """
    Sees no contradiction.
    """

    def resolve(self, cards, context):
        return tuple(cards), ()


class KnowsNoStar(BetterDelta):
    """
    Compares keys by hand, and takes ``*`` for one like any other.
    """

    def resolve(self, cards, context):
        kept, taken = [], set()
        for card in cards:
            if taken.isdisjoint(card.keys):
                kept.append(card)
                taken.update(card.keys)
        return tuple(kept), tuple(card for card in cards if card not in kept)


class LosesOne(BetterDelta):
    """
    Leaves the last card out of both.
    """

    def resolve(self, cards, context):
        return super().resolve(cards[:-1], context)


class ByDelta(BetterDelta):
    """
    Gives the best first.
    """

    def resolve(self, cards, context):
        kept, gone = super().resolve(cards, context)
        return tuple(sorted(kept, key=lambda c: -(c.delta or 0))), gone


class OnlyTheBest(BetterDelta):
    """
    Keeps one card in all.
    """

    def resolve(self, cards, context):
        best = max(cards, key=lambda c: (c.delta or 0, -c.number), default=None)
        kept = tuple(card for card in cards if card is best)
        return kept, tuple(card for card in cards if card is not best)


class TossesCoins(BetterDelta):
    """
    Lets chance decide.
    """

    def resolve(self, cards, context):
        shuffled = [attrs.evolve(card, delta=random.random()) for card in cards]
        kept, _ = super().resolve(shuffled, context)
        numbers = {card.number for card in kept}
        mine = tuple(card for card in cards if card.number in numbers)
        return mine, tuple(card for card in cards if card.number not in numbers)


class LooksAhead(SharedTasks):
    """
    Measures rivals on the tasks that they are tested on.
    """

    def resolve(self, cards, context):
        asking, answer = super().resolve(cards, context), None
        while True:
            try:
                request = asking.send(answer)
            except StopIteration as stop:
                return stop.value
            answer = yield MeasureAll(
                attrs.evolve(measure, tasks=context.held_out[: len(measure.tasks)])
                for measure in request.measures
            )


# --------------------------------------------------------------------------------------- fusions


class MakesCards(Union):
    """
    Merges two cards into one of its own.
    """

    def groups(self, cards, chance):
        if len(cards) < 2:
            return super().groups(cards, chance)
        merged = attrs.evolve(cards[0], diff={**cards[0].diff, **cards[1].diff})
        return ((merged,), *((card,) for card in cards[1:]))


class ForgetsTheRest(Union):
    """
    Tries the union and nothing beside.
    """

    def groups(self, cards, chance):
        return super().groups(cards, chance)[-1:]


class UnionFirst(Union):
    """
    Puts the union before single cards.
    """

    def groups(self, cards, chance):
        return super().groups(cards, chance)[::-1]


class MergesParents(Union):
    """
    Looks at no parent.
    """

    def groups(self, cards, chance):
        return (tuple(cards),) if cards else ()


class Repeats(Union):
    """
    Tries every card twice.
    """

    def groups(self, cards, chance):
        return tuple((card,) for card in (*cards, *cards))


# ------------------------------------------------------------------------------------ acceptances


class PeekingTrial:
    """
    A t-test of fixed samples that is looked at after every cycle.
    """

    opening, cycles = 1, 10

    def __init__(self):
        self.seen, self.verdict, self.all = 0, "undecided", []

    @property
    def mean(self):
        return fsum(self.all) / len(self.all) if self.all else 0.0

    def add(self, differences):
        self.seen += 1
        self.all += differences
        variance = fsum((d - self.mean) ** 2 for d in self.all) / len(self.all)
        z = self.mean / sqrt(variance / len(self.all)) if variance else self.mean * 100
        self.verdict = "accept" if z > 1.645 else "reject" if z < -1.645 else "undecided"
        return self.verdict


class Peeks(Sequential):
    """
    Takes each look for the only one.
    """

    def trial(self, terms):
        return super().trial(terms) if terms.deterministic else PeekingTrial()


class AcceptsTies(Sequential):
    """
    Is content with no loss.
    """

    def trial(self, terms):
        return super().trial(attrs.evolve(terms, removal=True))


class OneTrialForAll(Sequential):
    """
    Hands out one trial again and again.
    """

    def trial(self, terms):
        if not hasattr(self, "only"):
            object.__setattr__(self, "only", super().trial(terms))
        return self.only


class NeverSure(Sequential):
    """
    Asks for more than its cycles can show.
    """

    def trial(self, terms):
        return super().trial(attrs.evolve(terms, part=1e-300))


class DoubleTrial(NoisyTrial):
    """
    Takes each cycle in twice.
    """

    def add(self, differences):
        super().add(differences)
        return super().add(differences)


class CountsDouble(Sequential):
    """
    Counts each cycle twice.
    """

    def trial(self, terms):
        found = super().trial(terms)
        return found if terms.deterministic else DoubleTrial(test=found.test, opening=found.opening)


# ------------------------------------------------------------------------------------- promotions


class Flips(Confirmed):
    """
    Says yes and no by turns.
    """

    def confirms(self, head, stable):
        object.__setattr__(self, "said", not getattr(self, "said", False))
        return self.said


class DueOnce(Confirmed):
    """
    Is due at one count and not beyond it.
    """

    def due(self, confirmations):
        return confirmations == self.promote_after


class NeverDue(Confirmed):
    """
    Waits for ever.
    """

    def due(self, confirmations):
        return False


class Reversed(Confirmed):
    """
    Has head and stable the wrong way round.
    """

    def confirms(self, head, stable):
        return super().confirms(stable, head)


class NeedsScores(Confirmed):
    """
    Divides by the number of scores.
    """

    def confirms(self, head, stable):
        return sum(head) / len(head) >= sum(stable) / len(stable)
