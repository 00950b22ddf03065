"""
A run made twice: by replaying its trace, which is quick, and whole, through Headway's machine.

Both give the same theta to the last bit; tests say so, and a campaign checks it on a part of its runs.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from headway import run
from headway.durations import parse_law
from headway_es._arrays import theta_of
from headway_es._delay import Delay
from headway_es._evidence import Evidence
from headway_es._kernels import Array, candidates
from headway_es._merge import Method
from headway_es._noise import Source, Stored, Zig32
from headway_es._optimizer import ES
from headway_es._optimizers import optimizer_of
from headway_es._schedules import schedule
from headway_es._shaping import shaping_of
from headway_es.campaign._problems import Problem
from headway_es.campaign._traces import Trace


@attrs.frozen(kw_only=True, eq=False)
class Replayed:
    """
    What a run came to.

    Args:
        theta: The last centre, of shape (dim,).
        curve: Progress at the start and after every so many updates.
        mean_lag: The mean lag of the cards that were used.
        max_lag: The largest.
        unused: Cards that a delay still held at the end.
    """

    theta: Array
    curve: list[float]
    mean_lag: float
    max_lag: int
    unused: int

    @property
    def digest(self) -> str:
        """
        The SHA-256 of theta's bytes.
        """
        return digest(self.theta)


def digest(theta: Array) -> str:
    """
    The SHA-256 of a theta's little-endian bytes.
    """
    plain = np.ascontiguousarray(theta, dtype=theta.dtype.newbyteorder("<"))
    return hashlib.sha256(plain.tobytes()).hexdigest()


def replay(
    trace: Trace,
    problem: Problem,
    *,
    seed: int,
    rate: float,
    sigma: float,
    delay: Delay | None = None,
    every: int | None = None,
) -> Replayed:
    """
    Train by a trace.

    Args:
        trace: Which jobs each update uses, and which versions they ran on.
        problem: What is trained on.
        seed: What the noise is keyed by.
        rate: The learning rate of Adam.
        sigma: The size of a perturbation.
        delay: Holds a share of each batch back.
        every: After how many updates progress is measured; None is never.
    """
    updates, population = trace.jobs.shape
    theta, depth = problem.start, int(trace.lags.max(initial=0))
    kept = depth + (0 if delay is None else delay.by)
    source = Stored(Zig32(seed), len(theta), (kept + 2) * population)
    method = Method(shaping=shaping_of("ranks"), optimizer=optimizer_of("adam", rate))
    thetas, moments = {0: theta}, None
    held: list[Evidence] = []
    lags: list[int] = []
    curve = [] if every is None else [problem.progress(theta)]
    for version in range(updates):
        cards = list(_evaluated(trace, version, problem, source, thetas.__getitem__, sigma))
        if delay is not None:
            cards, held = delay.split(cards, held, seed=seed, version=version)
        lags += [card.lag for card in cards]
        estimate = method.estimate(cards, source, theta)
        theta, moments = method.move(cards, estimate, theta, moments)
        thetas[version + 1] = theta
        thetas.pop(version - depth, None)
        if every is not None and not (version + 1) % every:
            curve.append(problem.progress(theta))
    return Replayed(
        theta=theta,
        curve=curve,
        mean_lag=sum(lags) / max(1, len(lags)),
        max_lag=max(lags, default=0),
        unused=len(held),
    )


def _evaluated(
    trace: Trace,
    version: int,
    problem: Problem,
    source: Source,
    theta_at: Callable[[int], Array],
    sigma: float,
) -> Iterator[Evidence]:
    """
    The cards of an update, in the order of their jobs; those of one task batch are scored together.
    """
    jobs, bases = trace.jobs[version], trace.bases[version]
    numbers = jobs // len(jobs)
    for number in np.unique(numbers).tolist():
        some = np.flatnonzero(numbers == number)
        pairs = list(zip(jobs[some].tolist(), bases[some].tolist(), strict=True))
        halves = [h for job, base in pairs for h in candidates(source, job, theta_at(base), sigma)]
        found = problem.scores(halves, number)
        for place, (job, base) in enumerate(pairs):
            yield Evidence(
                job=job,
                fitness=(found[2 * place], found[2 * place + 1]),
                sigma=sigma,
                base=base,
                lag=version - base,
                batch=number,
            )


def whole(
    name: str,
    law: str,
    problem: Problem,
    *,
    seed: int,
    rate: float,
    sigma: float,
    updates: int,
    population: int,
    workers: int,
    delay: Delay | None = None,
) -> Array:
    """
    The same run through Headway: its machine, its gate, its ``simulated`` driver; the last theta.

    Args:
        name: The schedule.
        law: How long evaluating a pair takes.
        problem: What is trained on.
        seed: What noise and durations are keyed by.
        rate: The learning rate of Adam.
        sigma: The size of a perturbation.
        updates: How many updates.
        population: Pairs in a batch.
        workers: How many pairs are evaluated at a time.
        delay: Holds a share of each batch back.

    Raises:
        OptionError: there is no such schedule or law.
    """
    from headway_es._domain import ESDomain

    optimizer: Any = ES(population=population, sigma=sigma, lr=rate, delay=delay, history=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # progress is measured elsewhere
        result = run(
            ESDomain(objective=problem.objective),
            aggregator=optimizer,
            updates=updates,
            seed=seed,
            n_workers=workers,
            driver="simulated",
            durations={"rollout": parse_law(law)},
            stall_alarm=1e9,
            **schedule(name),
        )
    return theta_of(result.state)
