"""
The budget: what may still be spent, with reservations made before anything starts.

Guarantee: ``spent + held <= max`` whenever something is reserved, so 20 asked is at most 20 delivered
at any number of workers.  Of rollouts and calls, what is held is exact.  Of tokens and cost, each call
that is reserved, or has started and is not accounted for, holds the declared ceiling of one call:
what is spent then never exceeds the maximum, unless a call exceeds its ceiling.  Without a ceiling it
holds the mean of the calls so far, and the maximum is exceeded by no more than the error of that
estimate on the calls that are held.  What a training charges is spent when it is told, and nothing is
held for it before: by that much a maximum may be exceeded, and then nothing more begins.
"""

from __future__ import annotations

from math import inf

import attrs

from headway.contracts import Usage

_PARTS = 10**12
"""
Cost is counted in whole trillionths: sums are exact, and do not depend on the order of arrival.
"""


def _parts(cost: float | None) -> int | None:
    return None if cost is None or cost == inf else round(cost * _PARTS)


@attrs.define(eq=False)
class Resource:
    """
    Something that calls use up, in whole units.

    Args:
        name: The stop reason when it runs out, which is its option's name.
        most: What may be spent; None means no bound.
        ceiling: The most that one call spends, if that is declared.
        untold: What calls may have spent whose process ended before they said it.
        apart: What of it was spent by trainings, which are no calls: it says nothing of the others.
    """

    name: str
    most: int | None
    ceiling: int | None
    spent: int = attrs.field(default=0, init=False)
    untold: int = attrs.field(default=0, init=False)
    apart: int = attrs.field(default=0, init=False)

    def lose(self, calls: int, settled: int) -> None:
        """
        So many calls have spent something, and nobody will say what: the most that they may have,
        or where nothing is declared, what others did.
        """
        each = (
            self.ceiling
            if self.ceiling is not None
            else (self.spent - self.apart) // max(1, settled)
        )
        self.untold += calls * each

    def fits(self, held: int, settled: int) -> bool:
        """
        Whether so many more calls may be held, when so many are accounted for.
        """
        if self.most is None:
            return True
        left = self.most - self.untold
        if self.ceiling is not None:
            return self.spent + held * self.ceiling <= left
        # spent + held * (spent by calls) / settled, in whole numbers.
        of_calls = self.spent - self.apart
        return not settled or of_calls * (settled + held) <= (left - self.apart) * settled

    def exceeded_by(self, spent: int) -> bool:
        """
        Whether one call spent more than is declared.
        """
        return self.ceiling is not None and spent > self.ceiling


@attrs.define(eq=False)
class Budget:
    """
    Rollouts, paid calls, tokens and cost: reserved, then spent or released.

    Args:
        max_rollouts: Tickets to admit; None means no bound, here and below.
        max_calls: Paid calls.
        max_tokens: Tokens to be charged.
        max_cost: Money to be charged.
        tokens_per_call: The most tokens that one call charges.
        cost_per_call: The most money that one call charges.
    """

    max_rollouts: int | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    tokens_per_call: int | None = None
    cost_per_call: float | None = None
    rollouts: int = attrs.field(default=0, init=False)
    calls: int = attrs.field(default=0, init=False)
    reserved: int = attrs.field(default=0, init=False)
    open: int = attrs.field(default=0, init=False)
    settled: int = attrs.field(default=0, init=False)
    _tokens: Resource = attrs.field(init=False)
    _cost: Resource = attrs.field(init=False)
    metered: tuple[Resource, ...] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._tokens = Resource("max_tokens", self.max_tokens, self.tokens_per_call)
        self._cost = Resource("max_cost", _parts(self.max_cost), _parts(self.cost_per_call))
        self.metered = tuple(r for r in (self._tokens, self._cost) if r.most is not None)

    @property
    def tokens(self) -> int:
        """
        Tokens charged so far.
        """
        return self._tokens.spent

    @property
    def cost(self) -> float:
        """
        Money charged so far.
        """
        return self._cost.spent / _PARTS

    @property
    def spent(self) -> str | None:
        """
        The stop reason when all tokens or all money is spent; None when some is left.
        """
        for resource in self.metered:
            if resource.most is not None and resource.spent >= resource.most:
                return resource.name
        return None

    @property
    def rollouts_left(self) -> bool:
        """
        Whether one more ticket may be admitted.
        """
        return self.max_rollouts is None or self.rollouts < self.max_rollouts

    def affords(self, calls: int) -> bool:
        """
        Whether that many calls could be reserved.
        """
        if not self.metered or not self._calls_left(calls):
            return self._calls_left(calls)
        held = self.open + self.reserved + calls
        return all(resource.fits(held, self.settled) for resource in self.metered)

    def lacking(self, calls: int) -> str:
        """
        The stop reason for which that many calls can't be reserved; the calls themselves come first.
        """
        held = self.open + self.reserved + calls
        short = [r.name for r in self.metered if not r.fits(held, self.settled)]
        return "max_calls" if not short or not self._calls_left(calls) else short[0]

    def _calls_left(self, calls: int) -> bool:
        return self.max_calls is None or self.calls + self.reserved + calls <= self.max_calls

    def reserve(self, calls: int) -> bool:
        """
        Reserve calls; False, and nothing changed, when there are not that many left.
        """
        if (self.max_calls is not None or self.metered) and not self.affords(calls):
            return False
        self.reserved += calls
        return True

    def spend(self) -> None:
        """
        One reserved call starts; it holds what it may charge until it is settled.
        """
        self.reserved -= 1
        self.calls += 1
        self.open += 1

    def release(self, calls: int) -> None:
        """
        Give back reserved calls that will not be made.
        """
        self.reserved -= calls

    def settle(self, calls: int) -> None:
        """
        So many calls are accounted for: all that they spent has been charged.
        """
        self.open -= calls
        self.settled += calls

    def close(self, unmade: int, made: int) -> None:
        """
        A ticket has ended: give back the reserved calls that it did not make, and account for the
        others.
        """
        self.reserved -= unmade
        self.open -= made
        self.settled += made

    def lose(self, calls: int) -> None:
        """
        So many calls were broken off with their process and are made again: what they had spent is
        kept back, though nobody says what it was.
        """
        for resource in self.metered:
            resource.lose(calls, self.settled)

    def charge(self, usage: Usage) -> None:
        """
        Count what calls have spent.
        """
        self._tokens.spent += usage.tokens
        self._cost.spent += round(usage.cost * _PARTS)

    def charge_training(self, usage: Usage) -> None:
        """
        Count what a training has spent, for which nothing was held.
        """
        self.charge(usage)
        self._tokens.apart += usage.tokens
        self._cost.apart += round(usage.cost * _PARTS)

    def above_ceiling(self, usage: Usage) -> str | None:
        """
        What is wrong with one call's usage; None when it is within the declared ceilings.
        """
        if self._tokens.exceeded_by(usage.tokens):
            return f"it charged {usage.tokens} tokens; tokens_per_call={self.tokens_per_call}"
        if self._cost.exceeded_by(round(usage.cost * _PARTS)):
            return f"it charged a cost of {usage.cost:g}; cost_per_call={self.cost_per_call:g}"
        return None
