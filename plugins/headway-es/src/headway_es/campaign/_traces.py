"""
Traces: which jobs each update used, from which versions, and when, in virtual time.

They come from Headway's own ``simulated`` driver.  Durations depend on the seed and the job alone, so a
trace does not depend on what is optimized, and one is replayed on many problems.
"""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import numpy.typing as npt

from headway import run
from headway.contracts import (
    Artifact,
    Card,
    Commit,
    Domain,
    Json,
    Notice,
    Outcome,
    Snapshot,
    Splits,
    Step,
    StepContext,
    Task,
    Ticket,
    UpdateDone,
    Work,
)
from headway.durations import parse_law
from headway_es._schedules import schedule


@attrs.frozen(kw_only=True, eq=False)
class Trace:
    """
    What a schedule did, update by update; nobody may write to its arrays.

    Args:
        jobs: The jobs of each update in their order, int64, of shape (updates, population).
        bases: The versions that they ran on, of the same shape.
        times: When each update was done, float64, of shape (updates,), in units of the laws' mean.
        discarded: How many pairs were evaluated and thrown away.
    """

    jobs: npt.NDArray[np.int64]
    bases: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]
    discarded: int = 0

    @property
    def lags(self) -> npt.NDArray[np.int64]:
        """
        How many updates old each pair was, of shape (updates, population).
        """
        return np.arange(len(self.jobs))[:, None] - self.bases


class _Counter:
    """
    Counts updates instead of computing any.
    """

    learns_from: ClassVar[str] = "outcomes"
    group_size: ClassVar[int] = 1

    def __init__(self, population: int) -> None:
        self.batch = population

    def select(self, ticket: Ticket, head: Snapshot, memory: Json, rng: random.Random) -> Work:
        return Work(payload=None)

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        if cards:
            yield Commit(Artifact({"updates": context.head.version + 1}), cards, memory=None)


class _Nothing(Domain):
    """
    Rollouts of which only the durations matter.
    """

    name: ClassVar[str] = "nothing"
    pure = True
    deterministic = True
    measure_price = 0.0

    def tasks(self) -> Splits:
        kinds = ("train", "held_out")
        return Splits(**{k: [Task(id=f"{k}-{i}", data=None) for i in range(8)] for k in kinds})

    def initial(self) -> Json:
        return {"updates": 0}

    def rollout(
        self, state: Json, task: Task, *, payload: Json = None, rng: random.Random
    ) -> Outcome:
        return Outcome(reward=0.0)


def traced(name: str, law: str, *, seed: int, updates: int, population: int, workers: int) -> Trace:
    """
    What a schedule does under a law of durations.

    Args:
        name: The schedule, a name of ``headway_es.schedule``.
        law: How long evaluating a pair takes, as ``headway.durations.parse_law`` reads it.
        seed: What the durations are keyed by.
        updates: How many updates.
        population: Pairs in a batch.
        workers: How many pairs are evaluated at a time.

    Raises:
        OptionError: there is no such schedule or law.
    """
    seen: list[UpdateDone] = []

    def watch(notice: Notice) -> None:
        if isinstance(notice, UpdateDone):
            seen.append(notice)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # rewards that never differ
        result = run(
            _Nothing(),
            aggregator=_Counter(population),
            updates=updates,
            seed=seed,
            n_workers=workers,
            driver="simulated",
            durations={"rollout": parse_law(law)},
            stall_alarm=1e9,
            observers=[watch],
            **schedule(name),
        )
    jobs = np.array([sorted(notice.groups) for notice in seen], dtype=np.int64)
    lags = np.array([[n.groups[job] for job in sorted(n.groups)] for n in seen], dtype=np.int64)
    return Trace(
        jobs=jobs,
        bases=np.arange(len(jobs))[:, None] - lags,
        times=np.array([notice.now for notice in seen]),
        discarded=result.stale_discarded,
    )


def kept(folder: Path, name: str, law: str, **options: Any) -> Trace:
    """
    The same from a folder, where it was made before; else it is made, and kept there.
    """
    told = "-".join(f"{key[0]}{value}" for key, value in sorted(options.items()))
    path = folder / f"{name}-{law.replace(':', '-').replace(',', '-')}-{told}.npz"
    if path.exists():
        with np.load(path, allow_pickle=False) as held:
            arrays = {key: held[key] for key in ("jobs", "bases", "times")}
            return Trace(**arrays, discarded=int(held["discarded"]))
    trace = traced(name, law, **options)
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f".{path.stem}.{os.getpid()}.npz"
    with part.open("wb") as file:
        np.savez_compressed(
            file, jobs=trace.jobs, bases=trace.bases, times=trace.times, discarded=trace.discarded
        )
    part.replace(path)
    return trace
