"""
How a run stands, told from its directory alone.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import attrs

from headway.contracts import SweepDone
from headway.journal import replay
from headway.machine import Event, Instruction, Notify, RecordedLookups
from headway.result import Result
from headway.rundir._directory import DATABASE
from headway.rundir._files import CONFIG
from headway.rundir._reading import OpenRun, Owner, open_run

QUICK = 10_000
"""Events of a run that has not ended that are read without being asked for, in two seconds or so."""

_TOLD = ("rollout", "propose", "verify", "rebase", "measure", "train")
"""The kinds of calls that count as in flight."""

_WRITTEN = (DATABASE, f"{DATABASE}-wal")
"""What changes with every event; SQLite makes an empty log also for who only reads."""


@attrs.frozen(kw_only=True)
class Status:
    """
    How a run stands.

    What only its events say is None when they were not read.

    Args:
        path: The run directory.
        state: ``running``, ``interrupted`` or ``finished``; one that ended by Ctrl-C or an error is
            ``interrupted``, since it can be gone on with.
        reason: Why it ended; None while it has not, and after a crash.
        owner: Who works on it.
        name: The domain's name.
        mode: ``sync`` or ``async``.
        driver: The driver's name.
        events: Events that are journalled.
        version: The head's version.
        named: Whether ``headway resume`` can go on with it: everything in it has a name.
        rollouts: Rollouts begun.
        calls: Paid calls begun, by kind.
        repeated: Paid calls that were made again after a crash.
        in_flight: Calls that run, or ran when the process ended, by kind; but for the ledger's.
        trainings: Trainings begun.
        train_seconds: How long they have run, on the run's own clock.
        baseline: The first head's held-out reward; None when it is not known.
        reward: The head's held-out reward; None when it is not known.
        seconds: The run's own clock, virtual under ``simulated``.
        sessions: Processes that have worked on it.
        updates: Batches that were used; 0 where the aggregator learns from proposals.
        tokens: Tokens that were charged.
        cost: Money that was charged.
        last_activity: When something was last written, in seconds since the epoch.
        size: Bytes on the disk.
    """

    path: str
    state: Literal["running", "interrupted", "finished"]
    reason: str | None
    owner: Owner | None
    name: str
    mode: str
    driver: str
    events: int
    version: int
    named: bool
    last_activity: float
    size: int
    rollouts: int | None = None
    calls: Mapping[str, int] | None = None
    repeated: int | None = None
    in_flight: Mapping[str, int] | None = None
    trainings: int | None = None
    train_seconds: float | None = None
    baseline: float | None = None
    reward: float | None = None
    seconds: float | None = None
    sessions: int | None = None
    updates: int | None = None
    tokens: int | None = None
    cost: float | None = None

    def to_json(self) -> dict[str, Any]:
        """
        The same as one JSON object, keyed by field names.
        """
        return attrs.asdict(self)


def read_status(path: str | os.PathLike[str], *, full: bool = False) -> Status:
    """
    How the run of a directory stands, whoever works on it.

    The events of a run that has ended are not read, since its result says more; those of another run
    are, when there are at most 10,000 or ``full`` is asked for: about 5,000 a second.

    Args:
        path: The run directory.
        full: Whether to read all events, however many there are.

    Raises:
        RunDirectoryError: there is no such directory, or no run in it.
        StorageError: it can't be read.
        LedgerCorrupt: what it holds is not what was written.
        ReplayDivergence: the events do not lead to what they led to then.
    """
    with open_run(path) as kept:
        result, ended, owner = kept.result(), kept.journal.ended(), kept.owner
        events = kept.events
        told: dict[str, Any] = {}
        if result is not None:
            told = _of_result(result)
        elif full or events <= QUICK:
            told = _of_events(kept)
        if result is None:
            with kept.ledger() as ledger:
                told["version"] = ledger.snapshot().version
        return Status(
            path=str(path),
            state="running" if owner else "finished" if kept.ended else "interrupted",
            reason=None if owner or ended is None else ended[0],
            owner=owner,
            name=kept.header.plan.name,
            mode=str(kept.header.plan.options["mode"]),
            driver=str(kept.header.plan.options["driver"]),
            events=events,
            named=(kept.path / CONFIG).is_file(),
            last_activity=_last_activity(kept.path),
            size=_size(kept.path),
            **told,
        )


def _of_result(result: Result) -> dict[str, Any]:
    return {
        "version": result.version,
        "rollouts": result.rollouts,
        "calls": dict(result.calls),
        "repeated": result.repeated_calls,
        "in_flight": {},
        "trainings": result.trainings,
        "train_seconds": result.train_seconds,
        "baseline": result.baseline_reward,
        "reward": result.final_reward,
        "seconds": result.wallclock,
        "sessions": result.sessions,
        "updates": result.updates,
        "tokens": result.usage.tokens,
        "cost": result.usage.cost,
    }


@attrs.define(eq=False)
class _Seen:
    """
    What a replay shows on its way.
    """

    seconds: float = 0.0
    reward: float | None = None

    def __call__(self, event: Event, out: list[Instruction]) -> None:
        self.seconds = max(self.seconds, event.now)
        for instruction in out:
            if isinstance(instruction, Notify) and isinstance(instruction.notice, SweepDone):
                reward = instruction.notice.reward
                self.reward = self.reward if reward is None else reward


def _of_events(kept: OpenRun) -> dict[str, Any]:
    lookups = RecordedLookups()
    machine = kept.header.plan.blueprint.machine(lookups)
    seen = _Seen()
    replay(kept.rows(), machine, lookups, seen)
    if machine.phase == "new":  # it was begun, and nothing has happened yet
        return {"rollouts": 0, "calls": {}, "repeated": 0, "in_flight": {}, "sessions": 1}
    counts = machine.statistics()
    baseline = machine.scoring.baseline
    return {
        "rollouts": counts.tickets,
        "calls": dict(counts.calls),
        "repeated": counts.repeated,
        "in_flight": dict(Counter(call.kind for call in machine.in_flight if call.kind in _TOLD)),
        "trainings": counts.trainings,
        "train_seconds": counts.train_seconds,
        "baseline": None if baseline is None else baseline.mean,
        "reward": baseline.mean if baseline and seen.reward is None else seen.reward,
        "seconds": seen.seconds,
        "sessions": counts.sessions,
        "updates": counts.rounds if machine.config.learns_from == "outcomes" else 0,
        "tokens": counts.usage.tokens,
        "cost": counts.usage.cost,
    }


def _last_activity(folder: Path) -> float:
    found = [(folder / name).stat() for name in _WRITTEN if (folder / name).exists()]
    return max(file.st_mtime for file in found if file.st_size)


def _size(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        with suppress(OSError):  # a log of SQLite's may just have gone
            total += file.lstat().st_size
    return total
