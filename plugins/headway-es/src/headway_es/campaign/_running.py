"""
Running a plan: units in processes of their own, each result written down before the next is begun.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from pathlib import Path
from time import monotonic, process_time

import numpy as np

from headway_es.campaign._gradient import train
from headway_es.campaign._plan import GRADIENT, Plan, Unit, scheduled
from headway_es.campaign._problems import problem_of
from headway_es.campaign._replay import digest, replay, whole
from headway_es.campaign._store import Done, Store
from headway_es.campaign._traces import Trace, kept

Progress = Callable[[Done, int, int], None]
"""Is told of each result, how many there are, and how many there will be."""


def _silent(one: Done, done: int, of: int) -> None:
    del one, done, of


def carry_out(
    store: Store, *, processes: int = 2, minutes: float | None = None, progress: Progress = _silent
) -> bool:
    """
    Run what has not been run yet.

    Args:
        store: Where results lie; see ``Store.begin``.
        processes: How many units are run at a time; 1 runs them in this process.
        minutes: After how many no further unit is begun; those that run are waited for.
        progress: Is told of each result.

    Returns:
        Whether the whole plan has been run.
    """
    end = None if minutes is None else monotonic() + 60 * minutes
    units = list(store.plan.units())
    there = store.done()
    missing = [unit for unit in units if unit not in there]
    done = len(units) - len(missing)
    for one in _results(store, missing, processes, end):
        store.add(one)
        done += 1
        progress(one, done, len(units))
    return done == len(units)


def _results(
    store: Store, units: Iterable[Unit], processes: int, end: float | None
) -> Iterator[Done]:
    left = _until(end, iter(units))
    if processes == 1:
        yield from (measured(store.plan, store.folder, unit) for unit in left)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_deaf) as pool:

        def begun(count: int) -> set[Future[Done]]:
            some = islice(left, count)
            return {pool.submit(measured, store.plan, store.folder, unit) for unit in some}

        waiting = begun(processes)
        while waiting:
            ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            waiting |= begun(len(ended))
            for future in ended:
                yield future.result()


def _deaf() -> None:
    """
    Leave an interrupt from the keyboard, which all processes get, to the one that the others work for.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _until(end: float | None, units: Iterator[Unit]) -> Iterator[Unit]:
    for unit in units:
        if end is not None and monotonic() >= end:
            return
        yield unit


def measured(plan: Plan, folder: Path, unit: Unit) -> Done:
    """
    Run one unit.

    Args:
        plan: Its plan.
        folder: Where traces are kept, in ``traces``.
        unit: Which.
    """
    begun = process_time()
    if unit.condition == GRADIENT:
        return _trained(plan, unit, begun)
    return (_checked if unit.checked else _replayed)(plan, folder, unit, begun)


def _trained(plan: Plan, unit: Unit, begun: float) -> Done:
    found = train(
        seed=unit.seed,
        rate=unit.rate,
        updates=plan.updates,
        episodes=2 * plan.population * plan.episodes,
        held_out=plan.held_out,
        every=plan.every,
    )
    return Done(
        unit=unit,
        curve=tuple(found.curve),
        times={},
        digest=digest(found.theta),
        seconds=process_time() - begun,
        more={"drawn": found.drawn},
    )


def _replayed(plan: Plan, folder: Path, unit: Unit, begun: float) -> Done:
    name, delay = scheduled(unit.condition)
    laws = [unit.law] if unit.law else list(plan.laws)
    traces = {law: _trace(plan, folder, name, law, unit.seed) for law in laws}
    trace = traces[laws[0]]
    found = replay(
        trace,
        problem_of(unit.problem, seed=unit.seed, episodes=plan.episodes, held_out=plan.held_out),
        seed=unit.seed,
        rate=unit.rate,
        sigma=plan.sigma,
        delay=delay,
        every=plan.every,
    )
    return Done(
        unit=unit,
        curve=tuple(found.curve),
        times={law: _times(held, plan.every) for law, held in traces.items()},
        digest=found.digest,
        mean_lag=found.mean_lag,
        max_lag=found.max_lag,
        unused=found.unused + trace.discarded,
        seconds=process_time() - begun,
    )


def _checked(plan: Plan, folder: Path, unit: Unit, begun: float) -> Done:
    """
    The whole run through Headway, of which only the last theta is kept.
    """
    del folder
    name, delay = scheduled(unit.condition)
    theta = whole(
        name,
        plan.laws[unit.law or next(iter(plan.laws))],
        problem_of(unit.problem, seed=unit.seed, episodes=plan.episodes, held_out=plan.held_out),
        seed=unit.seed,
        rate=unit.rate,
        sigma=plan.sigma,
        updates=plan.updates,
        population=plan.population,
        workers=plan.workers,
        delay=delay,
    )
    seconds = process_time() - begun
    return Done(unit=unit, curve=(), times={}, digest=digest(theta), seconds=seconds)


def _trace(plan: Plan, folder: Path, name: str, law: str, seed: int) -> Trace:
    return kept(
        folder / "traces",
        name,
        plan.laws[law],
        seed=seed,
        updates=plan.updates,
        population=plan.population,
        workers=plan.workers,
    )


def _times(trace: Trace, every: int) -> tuple[float, ...]:
    """
    When each point of the curve was reached.
    """
    return tuple(np.concatenate([[0.0], trace.times[every - 1 :: every]]).tolist())
