"""
Proposals: one rule induced from one failure, and the ones that are bad on purpose.

A rule is the smallest rewrite that turns the lemma of a failure into its form, widened to the left
by a random number of letters.  Little context makes a rule that reaches many words, much context
makes an exception; which of them is right only a measurement tells.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import takewhile

from headway.contracts import Json
from headway_domains.inflect._rules import Edit

WIDEN = 0.6
"""The chance of one more letter of context, after each letter: a geometric law of mean 1.5."""


def induced(family: str, failures: Sequence[Sequence[str]], rng: random.Random) -> Edit:
    """
    A rule that mends one failure, picked at random.

    Args:
        family: The family that the failures belong to.
        failures: At least one; each is a lemma, a right form, and what came out instead.
        rng: The only source of randomness.
    """
    lemma, form, _ = rng.choice(failures)
    start = _shared(lemma, form)
    while start > 0 and rng.random() < WIDEN:
        start -= 1
    return Edit(family=family, suffix=lemma[start:], replacement=form[start:])


def _shared(one: str, other: str) -> int:
    """
    How many letters two words have in common at their beginning.
    """
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def useless(family: str, failures: Sequence[Sequence[str]], rng: random.Random) -> Edit:
    """
    A rule that is new and applies to no word: no English word has a q before another q.
    """
    suffix = "qq" + rng.choice(failures)[0]
    return Edit(family=family, suffix=suffix, replacement=suffix)


def harmful(family: str, failures: Sequence[Sequence[str]], rng: random.Random) -> Edit:
    """
    A rule that drops the last letter of every word that ends like one of the failures.
    """
    return Edit(family=family, suffix=rng.choice(failures)[0][-1], replacement="")


def proposal(
    family: str,
    failures: Sequence[Sequence[str]],
    *,
    shares: tuple[float, float],
    rng: random.Random,
) -> Json:
    """
    A diff of one of the three kinds.

    Args:
        family: The family that the failures belong to.
        failures: At least one; each is a lemma, a right form, and what came out instead.
        shares: The chance of a useless and of a harmful proposal.
        rng: The only source of randomness.
    """
    unit = rng.random()
    make = useless if unit < shares[0] else harmful if unit < sum(shares) else induced
    return make(family, failures, rng).to_diff()
