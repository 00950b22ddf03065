"""
What counts as a part of some kind, the same on every Python.
"""

from typing import Protocol, runtime_checkable

import attrs
import pytest

import headway
from headway.contracts import Aggregator, Remembering, Selector, StalenessPolicy, Structural
from headway.registry import Registry
from headway.testing._toy import ToyDomain


class Forwards:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


class Decides:
    def decide(self, eta, alpha, contract_breaking):
        return "accept"


class Keeps:
    memory = None


@attrs.define
class Unset:
    memory: object = attrs.field(init=False)


class Broken(StalenessPolicy):
    decide = None


@runtime_checkable
class Both(StalenessPolicy, Remembering, Protocol):
    """What has the names of two protocols, and one more."""

    more: int


def aggregator():
    return Registry.discover().create("aggregator", "standard")


@pytest.mark.parametrize(
    ("part", "protocol"),
    [
        (aggregator(), Aggregator),
        (Decides(), StalenessPolicy),
        (Keeps(), Remembering),
    ],
    ids=["aggregator", "policy", "memory"],
)
def test_what_forwards_is_what_it_forwards_to(part, protocol):
    """
    Through any number of wrappers; nothing is made up that what is wrapped lacks.
    """
    wrapped = Forwards(Forwards(part))

    assert isinstance(part, protocol)
    assert isinstance(wrapped, protocol)
    assert not isinstance(Forwards(object()), protocol)
    assert not isinstance(wrapped, Selector)


def test_a_part_has_what_can_be_had_of_it():
    """
    Not what its class only declares; a method that is None is none, an attribute that is None is one.
    """
    unset = Unset()

    assert not isinstance(unset, Remembering)
    assert not isinstance(Broken(), StalenessPolicy)

    unset.memory = None

    assert isinstance(unset, Remembering)


def test_names_of_protocols_above_count():
    """
    Those of every protocol that one is derived from are asked for.
    """
    part = Decides()
    part.more = 1

    assert not isinstance(part, Both)

    part.memory = {}

    assert isinstance(part, Both)


def test_of_a_class_there_are_only_its_own():
    """
    One that is derived from a protocol is a class like others.
    """

    class Mine(StalenessPolicy):
        def decide(self, eta, alpha, contract_breaking):
            return "discard"

    assert Structural is type(Mine)
    assert isinstance(Mine(), Mine)
    assert not isinstance(Decides(), Mine)


def test_a_run_with_an_aggregator_that_forwards():
    """
    It ends as the one does that is forwarded to.
    """
    options = {"max_rollouts": 40, "seed": 3, "driver": "simulated"}
    plain = headway.run(ToyDomain(), aggregator=aggregator(), **options)
    wrapped = headway.run(ToyDomain(), aggregator=Forwards(aggregator()), **options)

    assert plain.digest == wrapped.digest
