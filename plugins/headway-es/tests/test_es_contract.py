"""
What holds for every optimizer that may run with staleness, and what the contract finds.
"""

from __future__ import annotations

import random

import attrs
import numpy as np
import pytest

from headway.contracts import Artifact, Commit, Work
from headway_es import ES, AskTell, Cma, Delay, state_of, theta_of
from headway_es.testing import StalenessContract


class TestES(StalenessContract):
    """
    As it is by default.
    """

    @pytest.fixture
    def make(self):
        """
        Small batches.
        """
        return lambda: ES(population=5)


class TestEverythingOn(StalenessContract):
    """
    With all that may be asked for.
    """

    @pytest.fixture
    def make(self):
        """
        Corrections, momentum, signs, and a delay.
        """
        return lambda: ES(
            population=5,
            optimizer="momentum",
            noise="sign32-v1",
            corrections="recentre,decay,rate,importance",
            delay=Delay(share=0.4, by=2),
            cosine=True,
        )


class TestCma(StalenessContract):
    """
    Somebody else's; it bears one update.
    """

    bounds = (1,)

    @pytest.fixture
    def make(self):
        """
        Of the package cma.
        """
        pytest.importorskip("cma", reason="needs cma")
        return lambda: AskTell(driven=Cma(max_lag=1), population=6)


@attrs.define(eq=False)
class Careless:
    """
    An evolution strategy of a few lines that does one thing wrong.
    """

    learns_from = "outcomes"
    batch = 4

    wrong: str = ""
    moves: list[float] = attrs.field(factory=list)

    def select(self, ticket, head, memory, rng):
        key = ticket.number if self.wrong == "ticket" else ticket.group
        own = random.Random(key).gauss(0, 1) if self.wrong != "rng" else rng.gauss(0, 1)
        payload = {"job": ticket.group, "batch": 0, "seed": ticket.seed, "sigma": 0.1}
        return Work(payload={**payload, "noise": "zig32-v1", "mirrored": True, "own": own})

    def step(self, cards, context):
        given = cards if self.wrong == "order" else sorted(cards, key=lambda card: card.number)
        total = 0.0
        for card in given:
            total = total / 3 + card.members[0].payload["own"] * card.reward
        self.moves.append(total)
        kept = sum(self.moves) if self.wrong == "object" else total
        theta = theta_of(context.head.artifact.value) + 1e-3 * np.tanh(kept)
        yield Commit(Artifact(state_of(theta)), cards)


CHECKS = {
    "order": "test_the_order_of_arrival_does_not_show",
    "ticket": "test_what_fails_does_not_show",
    "rng": "test_what_fails_does_not_show",
    "object": "test_nothing_is_kept_on_the_object",
}


@pytest.mark.parametrize("wrong", CHECKS)
def test_the_contract_finds_what_is_wrong(wrong):
    """
    Each mistake by the test that is for it; without one, all of them pass.
    """
    contract = StalenessContract()
    check = getattr(contract, CHECKS[wrong])
    check(Careless)
    with pytest.raises(AssertionError, match="->"):
        check(lambda: Careless(wrong))
