"""
One search by one engine under one driver, and what is measured about it.
"""

from __future__ import annotations

import resource
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from time import perf_counter, process_time

from harness.durations import Waits, bound, plan
from harness.engines import bare
from harness.search import Search


@dataclass(frozen=True, kw_only=True)
class Case:
    """
    Args:
        engine: A name of ``harness.engines.ENGINES``.
        driver: ``threads`` or ``asyncio``.
        workers: Rollouts at once.
        mean: The mean duration of a rollout, in seconds.
        law: A name of ``harness.durations.LAWS``.
        share: The share of rollouts that proposes.
        each: Rollouts a worker.
        async_ratio: The lag budget.
        seed: Durations and proposals depend on it.
        floors: How often the bare loop runs in the same process: not, before, before and after.
        options: Further options of ``headway.run``.
    """

    engine: str
    driver: str
    workers: int
    mean: float
    law: str = "lognormal"
    share: float = 0.1
    each: int = 150
    async_ratio: int = 3
    seed: int = 0
    floors: int = 1
    options: dict = field(default_factory=dict)

    @property
    def rollouts(self):
        return self.workers * self.each

    def waits(self):
        return Waits(plan(self.law, self.mean, self.rollouts, self.seed))

    def search(self):
        return Search(self.share, self.rollouts, self.seed)


WARM_UP = {"workers": 1, "each": 4, "mean": 0.001, "async_ratio": 3}
"""What is run before anything is timed: a process imports once, however many searches it runs."""


def scaled_ratio(workers):
    """
    The lag budget that the benchmarks give a number of workers: an eighth, and at least 3.
    """
    return max(3, workers // 8)


def measured(**fields):
    """
    Run a case and its floors in this process.

    Returns:
        The case's fields, ``wall``, ``cpu``, ``bound``, ``efficiency``, ``rollouts``, what the
        engine told, ``floors`` with the same figures of each bare loop, and the largest resident
        memory in MB after the warm-up and at the end.
    """
    case = Case(**fields)
    engine = import_module(f"harness.engines.{case.engine}")
    _timed(replace(case, **WARM_UP), engine)
    imported = peak_memory()
    floors = [_timed(case, bare)] if case.floors else []
    found = _timed(case, engine)
    if case.floors > 1:
        floors.append(_timed(case, bare))
    return {
        **asdict(case),
        **found,
        "floors": floors,
        "memory_import": imported,
        "memory": peak_memory(),
    }


def _timed(case, engine):
    waits, search = case.waits(), case.search()
    cpu, began = process_time(), perf_counter()
    told = engine.search(case, waits, search)
    wall, cpu = perf_counter() - began, process_time() - cpu
    taken = waits.taken
    least = bound(taken, case.workers)
    return {
        "wall": wall,
        "cpu": cpu,
        "bound": least,
        "efficiency": least / wall,
        "rollouts": len(taken),
        **told,
    }


def peak_memory():
    """
    The largest resident memory of this process so far, in MB.
    """
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
