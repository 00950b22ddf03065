"""
What kind of solution an artifact is: the domain says it, and a step may ask.
"""

from __future__ import annotations

import pytest

from headway import AppendRules, Program, run
from headway.contracts import Commit, Measure
from headway.testing import ToyDomain


class Described(ToyDomain):
    """
    Says how many parts of a state are set to 1.
    """

    def describe(self, state):
        return {"ones": sum(value == 1 for value in state.values()) / len(state)}


class Curious:
    """
    Commits what has another description than the head, whatever it scores.
    """

    batch = 1

    def __init__(self):
        self.seen = []

    def step(self, cards, context):
        for card in cards:
            candidate = context.apply(card.diff)
            yield Measure((candidate,), context.held_out)
            found = context.describe(candidate)
            self.seen.append((candidate.value, found))
            if found != context.describe(context.head.artifact):
                yield Commit(candidate, [card])
                return


def go(domain, aggregator):
    return run(domain, aggregator=aggregator, driver="simulated", max_rollouts=12)


def test_a_step_may_ask_of_any_artifact():
    """
    Of the head and of candidates; the answer is the domain's.
    """
    curious = Curious()
    result = go(Described(), curious)

    assert () == result.failures
    assert result.version > 0
    assert [Described().describe(state) for state, _ in curious.seen] == [
        found for _, found in curious.seen
    ]


def test_a_domain_that_describes_nothing_says_so():
    """
    A program as well, unless its strategy describes.
    """
    curious = Curious()
    go(ToyDomain(), curious)
    tasks = [{"id": f"t{n}"} for n in range(6)]
    told = {
        "run": lambda rendered, task: "",
        "propose": lambda rendered, task, output, reward: None,
    }

    class Telling(AppendRules):
        def describe(self, state):
            return {"half": 0.5}

    plain, telling = (
        Program(tasks, lambda task, output: 0.0, strategy=strategy, **told)
        for strategy in (AppendRules(), Telling())
    )

    assert {} == curious.seen[0][1] == plain.describe(plain.initial())
    assert {"half": 0.5} == telling.describe(telling.initial())


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"ones": 1.5}, "describe() says ones=1.5; it must say numbers from 0 to 1"),
        ({"ones": float("nan")}, "says ones=nan"),
        ({"ones": "many"}, "not supported between"),
        (None, "no attribute 'items'"),
    ],
)
def test_what_is_no_description_is_the_domains_fault(said, told):
    """
    The step that asked is not blamed.
    """
    domain = type("Odd", (ToyDomain,), {"describe": lambda self, state: said})
    result = go(domain(), Curious())

    assert {"domain"} == {failure.fault.where for failure in result.failures}
    assert told in result.failures[0].fault.message
