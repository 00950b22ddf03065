"""
From a machine that has finished to a result.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs

from headway.contracts import (
    Fault,
    Json,
    Ledger,
    LedgerEntry,
    Notice,
    RunFinished,
    Snapshot,
    SweepDone,
)
from headway.drivers import Engine
from headway.machine import Machine, Score, Statistics
from headway.result import Failure, Result

T = TypeVar("T")

SPLITS = ("train", "held_out", "test", "oracle")

_KEPT_SWEEPS = 100_000
"""How many sweeps of the history are kept, the newest ones."""

_SWEEP = tuple(field.name for field in attrs.fields(SweepDone))


@attrs.define(eq=False)
class Recorder:
    """
    The observer that keeps what the result shows.
    """

    history: deque[SweepDone] = attrs.field(factory=lambda: deque(maxlen=_KEPT_SWEEPS))
    wallclock: float = 0.0

    def __call__(self, notice: Notice) -> None:
        """
        Keep sweeps, and when the run ended.
        """
        if type(notice) is SweepDone:
            self.history.append(notice)
        elif type(notice) is RunFinished:
            self.wallclock = notice.now

    @property
    def memory(self) -> Json:
        """
        All that it keeps, as JSON: a row a sweep.
        """
        rows = [[getattr(sweep, name) for name in _SWEEP] for sweep in self.history]
        return [self.wallclock, rows]

    @memory.setter
    def memory(self, memory: Json) -> None:
        self.wallclock, rows = memory
        self.history.clear()
        self.history.extend(SweepDone(**dict(zip(_SWEEP, row, strict=True))) for row in rows)


def build_result(engine: Engine, recorder: Recorder) -> Result:
    """
    Everything that a finished run has to say.
    """
    machine, opening = engine.machine, engine.opening
    counts = machine.statistics()
    scoring = machine.scoring
    state = machine.head.artifact.value
    domain, ledger = engine.bench.domain, engine.bench.ledger
    no_files: Mapping[str, str] = {}
    no_log: tuple[LedgerEntry, ...] = ()
    files = _contained(engine, "render", lambda: dict(domain.render(state)), no_files)
    ledger_log = _contained(engine, "ledger", ledger.log, no_log)
    stable = _contained(engine, "ledger", lambda: stable_of(ledger), machine.stable)
    _contained(engine, "close", engine.bench.close, None)
    return Result(
        state=copy.deepcopy(state),
        files=files,
        baseline_reward=_mean(scoring.baseline),
        final_reward=_mean(scoring.final),
        test_reward=_mean(scoring.test),
        scores=_scores(machine),
        history=tuple(recorder.history),
        history_of=_history_of(machine, opening.mode),
        deterministic=counts.determinism,
        completions=counts.completions,
        decisions=counts.decisions,
        stop_reason=machine.stop_reason or "",
        error=machine.error,
        mode=opening.mode,
        driver=opening.driver,
        seed=opening.seed,
        digest=machine.digest,
        version=counts.version,
        stable_version=None if stable is None else stable.version,
        stable_state=None if stable is None else copy.deepcopy(stable.artifact.value),
        memory=copy.deepcopy(machine.memory),
        rollouts=counts.tickets,
        calls=counts.calls,
        usage=counts.usage,
        slot_seconds=counts.slot_seconds,
        merge_seconds=counts.merge_seconds,
        ledger_seconds=counts.ledger_seconds,
        trainings=counts.trainings,
        train_seconds=counts.train_seconds,
        worker_starved_seconds=counts.worker_starved_seconds,
        wallclock=recorder.wallclock,
        forced_refreshes=counts.forced_refreshes,
        stragglers=counts.stragglers,
        hedges=counts.hedges,
        retired_workers=counts.retired_workers,
        stale_considered=counts.considered,
        stale_discarded=counts.stale_discarded,
        eta_histogram=counts.eta_histogram,
        committed_by_eta=counts.committed_by_eta,
        commit_races=counts.commit_races,
        late=counts.late,
        no_ops=counts.no_ops,
        sessions=counts.sessions,
        repeated_calls=counts.repeated,
        durability=getattr(ledger, "durability", "none"),
        failures=_failures(engine),
        ledger_log=ledger_log,
        splits={name: getattr(machine.config, name) for name in SPLITS},
        choices=opening.choices,
        notes=opening.notes,
        unscored=_unscored(machine),
        **_updates(machine, counts),
    )


def _scores(machine: Machine) -> dict[str, Score]:
    scoring = machine.scoring
    named = {"baseline": scoring.baseline, "final": scoring.final, "test": scoring.test}
    return {name: score for name, score in named.items() if score is not None}


def _updates(machine: Machine, counts: Statistics) -> dict[str, Any]:
    if machine.config.learns_from == "proposals":
        return {}
    told = {"update_waits": counts.update_waits, "lost_groups": counts.lost_groups}
    return {"updates": counts.rounds, **told}


def _history_of(machine: Machine, mode: str) -> str:
    if machine.config.learns_from == "outcomes":
        return "updates"
    return "rounds" if mode == "sync" else "sweeps"


def _unscored(machine: Machine) -> str | None:
    scoring, ended = machine.scoring, f"the run ended ({machine.stop_reason})"
    if scoring.short:
        return None
    if scoring.final is None:
        return f"{ended} before the final reward could be measured: it is unknown"
    if scoring.final.source != "fresh":
        told = "it is the gate's last measurement"
        return f"{ended} before the final reward could be measured: {told}"
    if machine.config.test and scoring.test is None:
        return f"{ended}, and the test reward could not be measured: it is unknown"
    return None


def _contained(engine: Engine, where: str, ask: Callable[[], T], instead: T) -> T:
    """
    An answer, or something instead and a failure in the result: the run is paid for already.
    """
    try:
        return ask()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - user code may raise anything
        engine.tell.faults.add(Fault.of(where, error))
        return instead


def stable_of(ledger: Ledger) -> Snapshot | None:
    """
    The version that was promoted last; None when a ledger has no branch for it.
    """
    try:
        return ledger.snapshot("stable")
    except (Exception, SystemExit):  # noqa: BLE001 - it need not have that branch
        return None


def _failures(engine: Engine) -> tuple[Failure, ...]:
    seen = (*engine.machine.faults, *engine.tell.faults.items)
    return tuple(Failure(fault=fault, count=count) for fault, count in seen)


def _mean(score: Score | None) -> float | None:
    return None if score is None else score.mean
