"""
An evolution strategy by hand, whose cards are as old as one likes: what tests of staleness are made on.
"""

from __future__ import annotations

import numpy as np

from headway_es._evidence import Evidence, in_order
from headway_es._importance import drift
from headway_es._kernels import candidates
from headway_es._merge import Method
from headway_es._noise import source_of
from headway_es._optimizers import SGD
from headway_es._shaping import mean_ranks, shaping_of


def method(lr=0.1, shaping="ranks", corrections=(), optimizer=None):
    return Method(
        shaping=shaping_of(shaping), optimizer=optimizer or SGD(lr=lr), corrections=corrections
    )


def evaluated(function, theta, jobs, *, base, version=None, seed=1, sigma=0.05):
    """
    Cards of pairs around theta, which is the centre of a version.
    """
    source = source_of("zig32-v1", seed, len(theta))
    now = base if version is None else version
    return [
        Evidence(
            job=job,
            fitness=tuple(function(half) for half in candidates(source, job, theta, sigma)),
            sigma=sigma,
            base=base,
            lag=now - base,
        )
        for job in jobs
    ]


def anchored(cards, estimate, theta, theta_at):
    """
    The gradient that comes of computing eps as (x - theta) / sigma from the present theta.
    """
    cards = in_order(cards)
    ranks = mean_ranks([f for card in cards for f in card.fitness])
    centred = (ranks / (len(ranks) - 1) - 0.5).reshape(-1, 2).sum(axis=1)
    gradient = estimate.gradient.copy()
    for card, weight in zip(cards, centred.tolist(), strict=True):
        gone = drift(theta_at(card.base), theta, card.sigma)
        gradient += weight * gone / (2 * len(cards))
    return gradient


def walk(function, theta, how, *, updates, pairs=32, sigma=0.05, delay=None, twist=None, seed=1):
    """
    Theta after so many updates; ``twist`` makes another gradient of the estimate.
    """
    source, moments = source_of("zig32-v1", seed, len(theta)), None
    centres, held = [theta], []
    for version in range(updates):
        jobs = range(version * pairs, (version + 1) * pairs)
        cards = evaluated(function, theta, jobs, base=version, seed=seed, sigma=sigma)
        if delay is not None:
            cards, held = delay.split(cards, held, seed=seed, version=version)
        estimate = how.estimate(cards, source, theta, lambda base: centres[base])
        gradient = estimate.gradient
        if twist is not None:
            gradient = twist(cards, estimate, theta, lambda base: centres[base])
        theta, moments = how.optimizer.step(theta, gradient, moments, how.rate(cards))
        centres.append(theta)
    return theta


def decades(function, theta, start):
    """
    By how many powers of ten the distance from the best value, which is 0, has grown.
    """
    return float(np.log10(function(theta) / function(start)))
