"""
A domain needs no proposals where an optimizer learns from outcomes, and is refused elsewhere.
"""

from __future__ import annotations

import pytest

from groups import Better, Slope
from headway import run
from headway.contracts import Domain, Outcome, Splits, Task
from headway.errors import ContractError, OptionError
from headway.testing.conformance import DomainContract


class Heights(Domain):
    name = "heights"

    def tasks(self):
        return Splits(
            train=[Task(id="up"), Task(id="down")], held_out=[Task(id="left"), Task(id="right")]
        )

    def initial(self):
        return 0.5

    def rollout(self, state, task, *, rng):
        return Outcome(reward=min(1.0, state * rng.random()))


class Suggesting(Heights):
    def propose(self, state, task, outcome):
        return 0.75


class TestHeights(DomainContract):
    @pytest.fixture
    def make(self):
        return Heights


def test_it_is_improved_by_outcomes():
    result = run(Slope(), aggregator=Better(), driver="simulated", updates=5, n_workers=4)

    assert result.version == 5


@pytest.mark.parametrize(("domain", "method"), [(Heights, "propose"), (Suggesting, "apply")])
def test_an_optimizer_that_learns_from_proposals_is_refused_before_the_run(domain, method):
    """
    Before anything is paid for, by the name of what is missing.
    """
    tried = []

    class Watched(domain):
        def rollout(self, state, task, *, rng):
            tried.append(task)
            return super().rollout(state, task, rng=rng)

    with pytest.raises(OptionError, match=rf"domain='heights'.*no method {method}, .*outcomes"):
        run(Watched(), driver="simulated", max_rollouts=4)

    assert tried == []


@pytest.mark.parametrize(
    "call", [lambda d: d.propose(0.5, None, None, rng=None), lambda d: d.apply(0.5, 1)]
)
def test_whoever_asks_it_all_the_same_is_told(call):
    with pytest.raises(ContractError, match="domain 'heights' has no method"):
        call(Heights())


def test_the_kit_wants_both_methods_or_none():
    """
    What is proposed must be applied.
    """
    with pytest.raises(AssertionError, match="it has propose and no apply"):
        DomainContract().test_it_is_a_domain(Suggesting)
