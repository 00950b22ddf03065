"""
What must not be done with stale cards: each hazard shown, and the default on the safe side of it.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from es_walks import anchored, decades, evaluated, method, walk

from headway_es import ES, Decay, Delay, Importance, LagRate, Recentre, perturbation
from headway_es._corrections import lag_rate
from headway_es._evidence import Evidence
from headway_es._importance import effective_share, weigh
from headway_es._noise import source_of
from headway_es._objectives import ellipsoid, sphere

HALF_EIGHT_OLD = Delay(share=0.5, by=8)


@pytest.mark.parametrize("function", [sphere, ellipsoid])
def test_a_stale_card_that_is_anchored_anew_blows_up(function):
    """
    Half of the cards eight updates old: with the noise that was drawn they help, with the noise
    computed from the present centre the walk diverges.
    """
    start, how = np.ones(200), method(lr=1.0)

    def gained(**more):
        theta = walk(function, start, how, updates=100, delay=HALF_EIGHT_OLD, **more)
        return decades(function, theta, start)

    assert -1.5 > gained()
    assert 10 < gained(twist=anchored)


def test_what_anchoring_adds_is_a_momentum_term_and_no_correction():
    """
    It points where the centre has gone already, and vanishes when all cards are of one version.
    """
    theta, gone = np.ones(200), np.full(200, 0.9)
    fresh = evaluated(sphere, gone, range(16), base=5)
    stale = evaluated(sphere, theta, range(16, 32), base=0, version=5)
    source, how = source_of("zig32-v1", 1, 200), method()
    centres = {0: theta, 5: gone}.__getitem__

    def added(cards):
        estimate = how.estimate(cards, source, gone)
        return anchored(cards, estimate, gone, centres) - estimate.gradient

    along = (gone - theta) / np.linalg.norm(gone - theta)
    term = added(fresh + stale)

    assert 0.999 < term @ along / np.linalg.norm(term)
    assert np.linalg.norm(term) > np.linalg.norm(how.estimate(fresh, source, gone).gradient)
    assert 1e-12 > np.linalg.norm(added(stale))


def test_the_noise_is_the_one_that_was_drawn_wherever_the_centre_is():
    """
    The estimate of a batch is the same at any centre: nothing is computed from theta.
    """
    source, how = source_of("zig32-v1", 1, 50), method()
    cards = evaluated(sphere, np.ones(50), range(8), base=0, version=4)
    here = how.estimate(cards, source, np.ones(50)).gradient
    there = how.estimate(cards, source, np.full(50, -3.0)).gradient

    assert here.tobytes() == there.tobytes()


def test_the_effective_sample_falls_exponentially():
    """
    20,000 draws in 30 dimensions at three distances, against exp(-d**2).
    """
    rng = np.random.default_rng(3)
    for length in (0.1, 0.3, 0.5):
        away = rng.normal(size=30)
        away *= length / np.linalg.norm(away)
        exponents = -(rng.normal(size=(20_000, 30)) @ away) - length**2 / 2

        assert math.exp(-(length**2)) == pytest.approx(
            effective_share(np.exp(exponents).tolist()), rel=0.02
        )


def test_weighing_cards_gives_that_share_too():
    """
    1,000 pairs of keyed noise, weighed as a step would.
    """
    theta, base = np.zeros(20), np.full(20, 0.05 * 0.3 / math.sqrt(20))
    cards = evaluated(sphere, base, range(1000), base=0, version=1)
    found = weigh(cards, source_of("zig32-v1", 1, 20), theta, lambda _: base)

    assert math.exp(-0.09) == pytest.approx(found.effective, rel=0.02)


def test_weights_are_the_ratio_of_the_densities_of_two_centres():
    """
    Of fresh cards 1, of stale ones that of the normal laws around the present centre and around their own;
    what comes of it is the weighted mean of the scores, less the weighted mean of the ranks.
    """
    rng, sigma = np.random.default_rng(3), 0.1
    theta = rng.normal(size=6)
    base = theta + 0.06 * rng.normal(size=6)
    cards = evaluated(sphere, base, [0, 1], base=0, version=1, sigma=sigma)
    cards += evaluated(sphere, theta, [2, 3], base=1, version=1, sigma=sigma)
    found = weigh(cards, source_of("zig32-v1", 1, 6), theta, lambda _: base)

    ratios, scores, fitness = [], [], []
    for card, centre in zip(cards, (base, base, theta, theta), strict=True):
        eps = perturbation("zig32-v1", seed=1, job=card.job, dim=6).astype(float)
        for sign in (1, -1):
            point = centre + sigma * sign * eps
            there, here = (np.sum((point - c) ** 2) / (2 * sigma**2) for c in (centre, theta))
            ratios.append(math.exp(there - here))
            scores.append((point - theta) / sigma)
        fitness += card.fitness
    shares = np.array(ratios) / sum(ratios)
    ranks = np.argsort(np.argsort(fitness)) / 7
    wanted = (shares * (ranks - shares @ ranks)) @ np.array(scores)
    noise = [perturbation("zig32-v1", seed=1, job=card.job, dim=6) for card in cards]

    assert wanted == pytest.approx(np.array(found.cards) @ np.array(noise) + found.bend, rel=1e-4)


def test_after_one_step_in_high_dimension_nothing_is_effective_and_the_weights_are_refused():
    """
    A step of the learning rate 0.02 with sigma 0.05 in 1,000 dimensions, as Adam makes it: less than a
    thousandth is left.  The batch counts as it would without weights, to the bit.
    """
    theta = np.ones(1000)
    moved = theta - 0.02
    cards = evaluated(sphere, theta, range(32), base=0, version=1)
    source = source_of("zig32-v1", 1, 1000)
    plain = method().estimate(cards, source, moved)
    weighed = method(corrections=(Importance(),)).estimate(cards, source, moved, lambda _: theta)

    assert weighed.refused
    assert 0.1 > weighed.effective
    assert plain.gradient.tobytes() == weighed.gradient.tobytes()


def test_the_guard_cannot_be_let_down():
    """
    Below one half, what helps is that the stale half has been dropped.
    """
    with pytest.raises(ValueError, match="guard"):
        Importance(guard=0.4)


def test_weights_that_merely_drop_the_stale_half_are_refused():
    """
    Half of the batch would still be effective; the stale half alone would not.
    """
    theta, moved = np.ones(1000), np.full(1000, 0.98)
    stale = evaluated(sphere, theta, range(16), base=0, version=1)
    fresh = evaluated(sphere, moved, range(16, 32), base=1)
    source = source_of("zig32-v1", 1, 1000)
    found = method(corrections=(Importance(),)).estimate(
        stale + fresh, source, moved, lambda _: theta
    )

    assert found.refused
    assert 0.1 > found.effective


def test_weights_are_refused_without_the_centres_they_need():
    """
    Or with several sigmas in one batch.
    """
    theta, source = np.ones(5), source_of("zig32-v1", 1, 5)
    old = evaluated(sphere, theta, range(4), base=0, version=1)
    other = evaluated(sphere, theta, range(4, 8), base=0, version=1, sigma=0.1)

    assert weigh(old, source, theta, lambda _: None) is None
    assert weigh(old + other, source, theta, lambda _: theta) is None
    assert method(corrections=(Importance(),)).estimate(old, source, theta).refused


def test_where_little_has_moved_importance_weights_turn_the_gradient_to_the_present_centre():
    """
    4,000 pairs in three dimensions at a distance of half a sigma: nearer to that of fresh cards than
    without.  The weights are no dead code.
    """
    base, theta = np.array([0.02, 0.0, 0.01]), np.array([0.0, 0.015, 0.01])
    source = source_of("zig32-v1", 1, 3)
    stale = evaluated(sphere, base, range(4000), base=0, version=1)
    fresh = evaluated(sphere, theta, range(4000, 8000), base=1)
    wanted = method().estimate(fresh, source, theta).gradient
    plain = method().estimate(stale, source, theta).gradient
    weighed = method(corrections=(Importance(),)).estimate(stale, source, theta, lambda _: base)

    def off(gradient):
        return np.linalg.norm(gradient - wanted) / np.linalg.norm(wanted)

    assert not weighed.refused
    assert 0.25 > off(weighed.gradient)
    assert 0.5 < off(plain)


def drifting(shift, halves):
    """
    Cards on a slope; the stale half of them scores so much less for no reason of its own.
    """
    slope, cards = np.linspace(1, 2, 300), []
    for job in range(64):
        stale = job % 2
        eps = perturbation("zig32-v1", seed=1, job=job, dim=300).astype(np.float64)
        values = (float(slope @ eps), -float(slope @ eps))[:halves]
        cards.append(
            Evidence(
                job=job,
                fitness=tuple(v - shift * stale for v in values),
                sigma=0.05,
                base=1 - stale,
                lag=stale,
            )
        )
    return cards, slope


def agreement(shift, halves, *corrections):
    cards, slope = drifting(shift, halves)
    source = source_of("zig32-v1", 1, 300)
    found = method(corrections=corrections).estimate(cards, source, np.zeros(300)).gradient
    return found @ slope / np.linalg.norm(found) / np.linalg.norm(slope)


def test_ranks_over_mixed_versions_compare_centres_and_not_perturbations():
    """
    Of single samples, that all the stale ones are below all the fresh ones drowns what they say; of
    mirrored pairs, which are the default, a shift of both halves takes little.  Centring each version
    anew brings all of it back.
    """
    assert 0.35 < agreement(0, 1)
    assert 0.7 * agreement(0, 1) > agreement(1000, 1)
    assert agreement(0, 1) == pytest.approx(agreement(1000, 1, Recentre()), abs=0.05)
    assert agreement(0, 2) == pytest.approx(agreement(1000, 2), abs=0.05)
    assert ES().mirrored


def test_centring_each_version_makes_the_shift_disappear():
    """
    The weights are as without it, up to rounding; a card that is alone is left as it is.
    """
    straight, shifted = drifting(0, 2)[0], drifting(1000, 2)[0]

    def weights(cards):
        return method(corrections=(Recentre(),))._weights(cards)

    assert weights(straight) == pytest.approx(weights(shifted), abs=1e-6)
    alone = [*straight[::2], shifted[1]]
    assert shifted[1].fitness == Recentre().fitness(alone)[-1]


def test_recentring_by_task_takes_task_batches_for_groups():
    """
    Where one batch of tasks is harder than another.
    """
    cards = [
        Evidence(
            job=j, fitness=(f + 10 * (j % 2), 10.0 * (j % 2)), sigma=1, base=0, task=str(j % 2)
        )
        for j, f in enumerate([1.0, 3.0, -1.0, 1.0])
    ]
    shifted = Recentre(by="task").fitness(cards)
    means = [sum(map(sum, shifted[i::2])) / 4 for i in (0, 1)]

    assert means[0] == pytest.approx(means[1])


def test_decay_weighs_by_age_and_keeps_the_sum():
    """
    1 / (1 + lag), and the mean stays 1.
    """
    cards = [Evidence(job=j, fitness=(0, 0), sigma=1, base=0, lag=j) for j in (0, 1, 3)]
    found = Decay().weights(cards)

    assert 3 == pytest.approx(sum(found))
    assert [found[0] / 2, found[0] / 4] == pytest.approx(found[1:])


def settled(rate, lags):
    """
    Whether gradient steps on x**2 / 2 with gradients of these lags come to rest.
    """
    path = [1.0] * (max(lags) + 1)
    for _ in range(20_000):
        path.append(path[-1] - rate * sum(path[-1 - lag] for lag in lags) / len(lags))
        if abs(path[-1]) > 1e6:
            return False
    return abs(path[-1]) < 1


@pytest.mark.parametrize("lag", [0, 1, 2, 4, 8])
def test_the_rate_of_a_lag_is_the_limit_of_stability(lag):
    """
    One percent below it comes to rest, one percent above does not.
    """
    assert settled(2 * lag_rate(lag) * 0.99, [lag])
    assert not settled(2 * lag_rate(lag) * 1.01, [lag])


@pytest.mark.parametrize("lag", [1, 4, 8])
def test_a_stale_half_leaves_the_limit_where_it_is(lag):
    """
    So the rate goes by the lower median, which is fresh as long as half of the cards are.
    """
    cards = [Evidence(job=j, fitness=(0, 0), sigma=1, base=0, lag=lag * (j % 2)) for j in range(8)]

    assert settled(2 * 0.99, [0, lag])
    assert 1 == LagRate().rate(cards)
    assert lag_rate(lag) == LagRate().rate(cards[1:])


def test_every_correction_is_off_by_default():
    """
    A stale card counts as it is.
    """
    assert () == ES().corrections
    assert ES().delay is None


def test_delayed_cards_cost_less_than_they_would_if_they_were_all_old():
    """
    Sphere in 100 dimensions near the limit: all cards eight old is far worse than a tenth of them.
    """
    start, how = np.ones(100), method(lr=0.5)
    found = [
        decades(sphere, walk(sphere, start, how, updates=80, delay=delay), start)
        for delay in (None, Delay(share=0.1, by=8), Delay(share=0.96, by=8))
    ]

    assert sorted(found) == found
