"""
Options of a run that an aggregator brings: whose word counts, and what it may not say.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import pytest

from headway import Registry, evolve, run
from headway._prepare import choose_options
from headway._prepare._choosing import NOT_FOR_AGGREGATORS
from headway.builtins._best_of_n import BestOfN
from headway.cli._targets import defaults_of
from headway.comparing import make_plan
from headway.contracts import Measure, RunStarted
from headway.errors import ContractError, UnknownNameError
from headway.testing import ToyDomain


class Fond(ToyDomain):
    """
    A domain with wishes of its own.
    """

    defaults: ClassVar = {"policy": "reflective", "alpha": 7, "max_rollouts": 20}


class Idle:
    """
    Decides nothing but that its cards are no good.
    """

    batch = 1

    def step(self, cards, context):
        yield Measure((context.head,), context.held_out)


class Asking(Idle):
    """
    Brings a policy.
    """

    defaults: ClassVar = {"policy": "full", "self_verify": False}


def bringing(**defaults):
    return type("Bringing", (Idle,), {"defaults": defaults})


def chosen(domain, registry=None, **given):
    return choose_options(given, domain, (registry or Registry()).defaults_of)


def with_name(part):
    registry = Registry()
    registry.add("aggregator", "mine", part)
    return registry


@pytest.mark.parametrize(
    ("given", "domain", "wanted"),
    [
        ({"policy": "guarded"}, Fond, ("guarded", 7)),  # the caller's word is the first
        ({}, Fond, ("full", 7)),  # then the aggregator's
        ({"aggregator": "standard"}, Fond, ("reflective", 7)),  # then the domain's
        ({"aggregator": "standard"}, ToyDomain, ("guarded", None)),  # then everybody's
    ],
)
def test_the_most_particular_word_counts(given, domain, wanted):
    """
    Option by option: what one does not speak of, the next one may.
    """
    options = chosen(domain(), **{"aggregator": Asking(), **given})

    assert wanted == (options.policy, options.alpha)


@pytest.mark.parametrize("part", [Asking, Asking(), partial(Asking)])
def test_a_name_brings_what_its_part_does(part):
    """
    A class is read without being made; what has no ``defaults`` brings nothing.
    """
    registry = with_name(part)
    brought = {} if isinstance(part, partial) else dict(Asking.defaults)

    assert brought == registry.defaults_of("mine")
    assert {} == registry.defaults_of(Idle())
    assert {} == registry.defaults_of("standard")


def test_a_domain_may_choose_the_aggregator_that_brings_something():
    """
    Then the aggregator's word still stands before the domain's.
    """
    domain = type("Chooses", (Fond,), {"defaults": {**Fond.defaults, "aggregator": "mine"}})

    assert "full" == chosen(domain(), with_name(Asking)).policy


def test_an_unknown_aggregator_is_named_as_ever():
    """
    With the names that there are.
    """
    with pytest.raises(UnknownNameError, match=r"'standart'.*standard"):
        chosen(ToyDomain(), aggregator="standart")


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (bringing(polcy="full"), "Bringing, its defaults: polcy='full'.*Did you mean 'policy'"),
        (
            type("Odd", (Idle,), {"defaults": {1: 2}}),
            "Odd, its defaults: 1=2: There is no such option",
        ),
        (bringing(alpha=-1), "Bringing, its defaults: alpha=-1: Give a whole number"),
        (type("Listed", (Idle,), {"defaults": ["full"]}), r"Listed.*defaults=\['full'\].*mapping"),
    ],
)
def test_defaults_that_cannot_be_used_are_the_aggregators_fault(part, told):
    """
    The error names the aggregator, the option and the remedy, and nothing is run.
    """
    with pytest.raises(ContractError, match=told):
        run(ToyDomain(), aggregator=part(), max_rollouts=4)


@pytest.mark.parametrize("option", NOT_FOR_AGGREGATORS)
def test_what_is_the_callers_alone_is_refused(option):
    """
    How long a run lasts, its seed, its mode, its driver, and another aggregator.
    """
    with pytest.raises(ContractError, match=f"its defaults: {option}=.*There is no such option"):
        chosen(ToyDomain(), aggregator=bringing(**{option: 4})())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, ["policy=full, self_verify=False: suits the aggregator Asking"]),
        ({"self_verify": True}, ["policy=full: suits the aggregator Asking"]),
        ({"self_verify": True, "policy": "guarded"}, []),
    ],
)
def test_what_stands_since_the_aggregator_brings_it_is_told_at_the_start(given, told):
    """
    What the caller chose otherwise is not.
    """
    seen = []
    run(
        ToyDomain(),
        aggregator=Asking(),
        driver="simulated",
        max_rollouts=4,
        observers=[lambda n: seen.append(n) if isinstance(n, RunStarted) else None],
        **given,
    )
    notes = [note for note in seen[0].notes if "suits the aggregator" in note]

    assert [True] * len(told) == [
        note.startswith(start) for note, start in zip(notes, told, strict=True)
    ]


def test_one_that_a_file_defines_brings_its_defaults_too(tmp_path):
    """
    Where the command line names it as ``FILE.py:ATTRIBUTE``.
    """
    file = tmp_path / "aggregator_with_wishes.py"
    file.write_text(
        "class Mine:\n    batch = 1\n    defaults = {'policy': 'full'}\n"
        "def make():\n    return Mine()\n"
    )

    assert {"policy": "full"} == defaults_of(f"{file}:Mine", Registry())
    assert {"policy": "full"} == defaults_of(f"{file}:make", Registry())
    assert BestOfN.defaults == defaults_of("best-of-n", Registry())


def test_arms_of_a_comparison_have_what_their_aggregator_brings():
    """
    As a run of it has.
    """
    plan = make_plan(
        ToyDomain(),
        {"aggregator": "mine", "max_rollouts": 10},
        modes=("sync", "async"),
        seeds=(0,),
        brings=with_name(Asking).defaults_of,
    )

    assert ["full", "full"] == [arm.options.policy for arm in plan.arms]


def test_evolve_takes_them_too():
    """
    They stand before the defaults that it has of its own.
    """
    seen = []
    evolve(
        [{"id": f"t{n}"} for n in range(20)],
        lambda task, output: 0.5,
        run=lambda rendered, task: "",
        propose=lambda rendered, task, output, reward: None,
        aggregator=Asking(),
        rounds=1,
        observers=[lambda n: seen.append(n) if isinstance(n, RunStarted) else None],
    )

    assert seen[0].choices["staleness policy"].startswith("full ")
