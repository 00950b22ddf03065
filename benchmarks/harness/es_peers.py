"""
Generations of other people's evolution strategies, by their documented interfaces, in an environment of theirs.

Each asks for all mirrored pairs as one array of 32 bits, and is told their fitness; it ranks, and moves its centre by
Adam.  PGPE also adapts its deviations, which is part of what it is.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from statistics import median

from harness.limits import drawing, timed, told


def evosax(dim, pairs):
    """
    OpenAI-ES of ``evosax``, compiled.
    """
    import jax
    import optax
    from evosax.algorithms import Open_ES

    centre = jax.numpy.zeros(dim)
    strategy = Open_ES(population_size=2 * pairs, solution=centre, optimizer=optax.adam(0.02))
    options, key = strategy.default_params, jax.random.key(7)
    ask = jax.jit(strategy.ask)
    tell = jax.jit(lambda *given: strategy.tell(*given)[0])  # without what is only shown
    fitness = jax.numpy.array([f for pair in told(pairs) for f in pair])
    held = [strategy.init(key, centre, options), key]

    def work():
        state, key = held
        key, own = jax.random.split(key)
        asked, state = ask(own, state, options)
        asked.block_until_ready()
        held[:] = jax.block_until_ready(tell(own, asked, fitness, state, options)), key

    return work


def evotorch(dim, pairs):
    """
    PGPE of ``evotorch``.
    """
    import torch
    from evotorch.algorithms.functional import pgpe, pgpe_ask, pgpe_tell

    torch.set_num_threads(1)
    fitness = torch.tensor([f for pair in told(pairs) for f in pair])
    held = [
        pgpe(
            center_init=torch.zeros(dim),
            center_learning_rate=0.02,
            stdev_learning_rate=0.1,
            stdev_init=0.05,
            objective_sense="max",
            optimizer="adam",
        )
    ]

    def work():
        asked = pgpe_ask(held[0], popsize=2 * pairs)
        held[0] = pgpe_tell(held[0], asked, fitness)

    return work


PEERS = {"evosax": evosax, "evotorch": evotorch}


def installed(name):
    """
    The version that is installed, or None.
    """
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def measured(name, dim, pairs, times):
    """
    Seconds of a generation and of numpy's limit, in turn, and the share of the limit that was reached.
    """
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    if hasattr(os, "sched_setaffinity"):  # one core, so that no library makes more than one thread
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    limit, work = drawing(dim, pairs), PEERS[name](dim, pairs)
    work(), limit()  # pages are touched, and what is compiled is compiled once
    rows = [(timed(limit), timed(work)) for _ in range(times)]
    speed = dim * pairs / median(took for _, took in rows) / 1e9
    share = median(floor / took for floor, took in rows)
    return {"share": share, "speed": speed, "version": installed(name), "rows": rows}
