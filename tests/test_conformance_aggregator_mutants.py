"""
The contract of aggregators finds what is wrong with a faulty one, and says what to do.
"""

import gc
import inspect
import time
from functools import cache

import mutants_aggregators as mutants
import pytest
from kit import verdict

from headway.testing.conformance import AggregatorContract, Contract
from headway.testing.conformance._effects import Watch, lines_of
from headway.testing.conformance.aggregators import small_domain

FLAGS = {"order_free": True, "interleavings": 40, "scripted": 2}


@cache  # one for all tests of an aggregator; only a faulty one changes what it is given
def corpus_of(make):
    """
    What calm runs gave an aggregator.
    """
    return inspect.unwrap(vars(AggregatorContract)["corpus"])(
        AggregatorContract(), make, small_domain
    )


def judged(make, name):
    """
    What the contract's test says of an aggregator on the small domain.
    """
    test = f"test_{name}"
    more = {"domain": small_domain}
    if "corpus" in inspect.signature(getattr(AggregatorContract, test)).parameters:
        more["corpus"] = corpus_of(make)
    return verdict(AggregatorContract, make, test, **more, **FLAGS)


@pytest.mark.parametrize(
    ("make", "test", "wrong", "remedy"),
    mutants.MUTANTS,
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_a_mutant_is_found(make, test, wrong, remedy):
    """
    By the named test, whose message says what is wrong and, after an arrow, what to do.
    """
    said, _, advice = judged(make, test).partition("\n-> ")

    assert wrong in said
    assert remedy in advice


@pytest.mark.parametrize("test", sorted({test for _, test, _, _ in mutants.MUTANTS}))
def test_a_sound_twin_passes(test):
    """
    Each of those tests, on the aggregator that all mutants are made from.
    """
    assert judged(mutants.Sound, test) == ""


def test_a_contract_without_a_part_says_what_it_needs():
    """
    A fixture, its name, and what it returns.
    """
    with pytest.raises(
        pytest.fail.Exception, match=r"'make'.*returns a function which makes a new"
    ):
        inspect.unwrap(vars(Contract)["make"])(AggregatorContract())


def test_what_the_garbage_collector_calls_is_not_the_plug_ins():
    """
    It may run at any moment, and others have it call what reads the clock.
    """

    def note(phase, info):
        time.perf_counter()

    def make_garbage():
        for _ in range(100):
            made = []
            made.append(made)

    watch, thresholds = Watch(), gc.get_threshold()
    lines = lines_of(make_garbage, 1000)
    gc.callbacks.append(note)
    gc.set_threshold(1)
    try:
        with watch():
            make_garbage()
        again = lines_of(make_garbage, 1000)
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*thresholds)

    assert [] == watch.seen
    assert lines == again
