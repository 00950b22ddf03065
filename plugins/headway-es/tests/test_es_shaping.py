"""
From fitness to weights.
"""

from __future__ import annotations

import random

import pytest

from headway.errors import OptionError
from headway_es._shaping import SHAPINGS, mean_ranks, shaping_of


def shaped(name, cards, sigma=0.1):
    return shaping_of(name)(cards, [sigma] * len(cards))


def pairs(seed, count, digits=None):
    rng = random.Random(seed)
    draw = (lambda: round(rng.gauss(0, 1), digits)) if digits is not None else rng.random
    return [(draw(), draw()) for _ in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_ranks_are_those_of_counting(seed):
    """
    How many are smaller, plus half of how many others are equal; many ties.
    """
    rng = random.Random(seed)
    values = [rng.randrange(6) / 3 for _ in range(rng.randrange(1, 40))]
    wanted = [
        sum(other < value for other in values) + (values.count(value) - 1) / 2 for value in values
    ]

    assert wanted == mean_ranks(values).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_rank_weights_are_of_the_centred_ranks_over_both_halves(seed):
    """
    From -1 to 1; over all halves the centred ranks add up to nothing.
    """
    cards = pairs(seed, 17, digits=1)
    values = [f for card in cards for f in card]
    centred = [r / (len(values) - 1) - 0.5 for r in mean_ranks(values)]

    assert 0 == pytest.approx(sum(centred), abs=1e-12)
    assert [centred[2 * i] - centred[2 * i + 1] for i in range(len(cards))] == pytest.approx(
        shaped("ranks", cards)
    )


@pytest.mark.parametrize("name", ["ranks", "signed-ranks"])
def test_what_only_ranks_see_is_the_order(name):
    """
    Any increasing function of the fitness gives the same weights; of pairs, one of their difference.
    """
    cards = pairs(3, 20)
    stretched = [(2.0 * a, 2.0 * b) for a, b in cards]

    assert shaped(name, cards) == shaped(name, stretched)


def test_ranks_see_no_outlier():
    """
    A fitness of minus a million weighs as the worst of any size.
    """
    cards = [*pairs(3, 20), (-2.0, 0.5)]
    wild = [*cards[:-1], (-1e6, 0.5)]

    assert shaped("ranks", cards) == shaped("ranks", wild)
    assert shaped("raw", cards) != shaped("raw", wild)


@pytest.mark.parametrize("name", SHAPINGS)
def test_swapping_the_halves_turns_the_weights_round(name):
    """
    The noise of the other half is minus the noise of this one.
    """
    cards = pairs(5, 12, digits=1)
    swapped = [(minus, plus) for plus, minus in cards]

    assert [-c for c in shaped(name, cards)] == pytest.approx(shaped(name, swapped), abs=1e-12)


@pytest.mark.parametrize("name", SHAPINGS)
def test_all_alike_say_nothing(name):
    """
    No division by zero either.
    """
    assert [0.0] * 4 == shaped(name, [(2.5, 2.5)] * 4)
    assert [0.0] == shaped(name, [(2.5, 2.5)])


def test_single_samples_are_ranked_and_centred():
    """
    Their raw weights are the distances from the mean over sigma.
    """
    cards = [(1.0,), (4.0,), (2.0,)]

    assert [-0.5, 0.5, 0.0] == shaped("ranks", cards)
    assert [-4 / 3, 5 / 3, -1 / 3] == pytest.approx(shaping_of("raw")(cards, [1.0] * 3))


@pytest.mark.parametrize("name", ["pair-z", "signed-ranks"])
def test_shapings_of_pairs_refuse_single_samples(name):
    """
    There is no difference to take.
    """
    with pytest.raises(OptionError, match="needs mirrored pairs"):
        shaped(name, [(1.0,), (2.0,)])


def test_raw_weights_are_divided_by_each_cards_own_sigma():
    """
    As the gradient estimate is.
    """
    assert [10.0, 5.0] == shaping_of("raw")([(2.0, 1.0), (2.0, 1.0)], [0.1, 0.2])


def test_another_name_is_refused_with_the_nearest():
    """
    And all there are.
    """
    with pytest.raises(OptionError, match=r"ranks, pair-z, signed-ranks, raw.*'ranks'"):
        shaping_of("rank")
