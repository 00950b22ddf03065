"""
Asking what a recorded run would have been.

The run is made again under a virtual clock, once with its own options and once with others, and calls
take as long as recorded ones did.  So like is compared with like: what differs between the two is what
the options do, and not what a virtual clock leaves out.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

import attrs

from headway.contracts import Domain
from headway.durations import Law
from headway.errors import OptionError, RunDirectoryError
from headway.machine import Statistics
from headway.options import BUDGETS, DECISIONS, PARTS, TUNING, option_names
from headway.registry import Registry
from headway.result import Result
from headway.run import run
from headway.rundir import Header, Replayed, open_run, replay_run
from headway.what_if._record import Record
from headway.what_if._stand_in import StandIn, StandInAggregator

FIXED = ("driver", "durations", "ledger", "repo_path", "executor", "validate")
"""Options that mean nothing where calls are only drawn."""

_OF_REWARDS = ("target_reward", "patience", *DECISIONS, *TUNING, "aggregator")
"""Options that mean nothing where rewards are only drawn."""


@attrs.frozen(kw_only=True)
class Figures:
    """
    What a run came to, as far as its schedule goes.

    Args:
        rollouts: Rollouts begun.
        seconds: How long it took, on its own clock.
        commits: Versions made.
        idle: The share of the slots' time in which nothing ran, whatever it waited for.
        lag: Judged cards by their last eta.
        stale_rate: The share of considered cards that were discarded as stale.
        reward: The final held-out reward; None when it is not answered.
    """

    rollouts: int
    seconds: float
    commits: int
    idle: float
    lag: Mapping[int, int]
    stale_rate: float
    reward: float | None

    @property
    def mean_lag(self) -> float:
        """
        The mean of the lag; 0.0 when no card was judged.
        """
        count = sum(self.lag.values())
        return sum(eta * n for eta, n in self.lag.items()) / count if count else 0.0


@attrs.frozen(kw_only=True)
class Answer:
    """
    What a run was, and what it would have been.

    Args:
        recorded: What the journal holds.
        simulated: The recorded options, under a virtual clock.
        changed: The changed options, under the same clock.
        changes: These options.
        rerun: Whether the domain was run again, and rewards are answered; else nothing but recorded
            answers were drawn, and only schedule and lag are.
        ended: Whether the recorded run had ended; else ``recorded`` is as far as it had come.
    """

    recorded: Figures
    simulated: Figures
    changed: Figures
    changes: Mapping[str, Any]
    rerun: bool
    ended: bool


def what_if(
    path: str | os.PathLike[str],
    changes: Mapping[str, Any],
    *,
    domain: Domain | None = None,
    registry: Registry | None = None,
    force: bool = False,
) -> Answer:
    """
    What the run of a directory would have been with other options.

    A domain that says that it is ``pure`` is run again.  Of any other one no code runs, nor does the
    aggregator's: what they answered is drawn from what the journal holds, and rewards mean nothing.  It
    makes as many rollouts as were made, or, when its time was up, goes on for as long.

    Args:
        path: The run directory.
        changes: Options of the run with other values.
        domain: The run's domain, when it may be run again.
        registry: Where parts are looked up; by default the built-in ones and installed plug-ins.
        force: Whether to ask also with other versions of Headway and of plug-ins.

    Raises:
        OptionError: an option means nothing here.
        UsageError: there is no run, or a part of it has no name.
        ReplayDivergence: the journal does not lead to what it led to.
        LedgerError: the directory can't be read.
        KeyboardInterrupt: Ctrl-C or SIGTERM came before there was an answer.
    """
    rerun = domain is not None and domain.pure
    _check(changes, rerun=rerun)
    record = Record()
    replayed = replay_run(path, force=force, follow=record)
    with open_run(path) as kept:
        header = kept.header
        result = kept.result()
    base = _options(str(path), header, rerun=rerun, laws=record.laws())
    if domain is None or not rerun:
        config = header.plan.blueprint.config
        settled = replayed.statistics.determinism in ("declared", "assumed")
        domain = StandIn(config, record, deterministic=settled)
        if replayed.stop_reason != "max_seconds":
            base = {name: value for name, value in base.items() if name not in BUDGETS}
            base["max_rollouts"] = max(1, replayed.statistics.tickets)
    stand_in = None if rerun else record
    parts = Registry.discover() if registry is None else registry

    def again(more: Mapping[str, Any]) -> Result:
        return _run(domain, parts, _with_aggregator({**base, **more}, header, stand_in))

    simulated, changed = again({}), again(changes)
    return Answer(
        recorded=_of_journal(replayed, result),
        simulated=_of_result(simulated, rewards=rerun),
        changed=_of_result(changed, rewards=rerun),
        changes=dict(changes),
        rerun=rerun,
        ended=replayed.ended,
    )


def _check(changes: Mapping[str, Any], *, rerun: bool) -> None:
    for name, value in changes.items():
        if name in FIXED:
            remedy = "It means nothing here: calls take as long as they did, on a virtual clock."
            raise OptionError(name, value, remedy)
        if not rerun and name in _OF_REWARDS:
            remedy = "It is about rewards, which are only answered for a domain that is pure."
            raise OptionError(name, value, remedy)


def _options(path: str, header: Header, *, rerun: bool, laws: Mapping[str, Law]) -> dict[str, Any]:
    held = {n: v for n, v in header.plan.options.items() if n in option_names() and v is not None}
    left_out = FIXED if rerun else (*FIXED, *_OF_REWARDS)
    options = {name: value for name, value in held.items() if name not in left_out}
    for option, kind in PARTS.items():
        if option in options and "(given by the program)" in header.plan.choices.get(kind, ""):
            reason = f"the {kind} of its run, {options[option]}, was an object without a name."
            remedy = (
                "Only parts with a name can be made again; headway plugins new writes a package "
                "that gives one."
            )
            raise RunDirectoryError(path, reason, remedy)
    return {**options, "driver": "simulated", "durations": dict(laws)}


def _with_aggregator(
    options: dict[str, Any], header: Header, record: Record | None
) -> dict[str, Any]:
    if record is None:
        return options
    config, gate = header.plan.blueprint.config, header.plan.blueprint.gate_options
    return options | {
        "aggregator": StandInAggregator(
            batch=int(gate.get("groups_per_step", gate.get("batch", 1))),
            max_steps=config.max_steps,
            sweeps=record.sweeps,
            learns_from=config.learns_from,
            group_size=config.group_size,
            gathers=bool(gate.get("early", False)),
            updates_per_step=int(gate.get("updates_per_step", 1)),
        )
    }


def _run(domain: Domain, registry: Registry, options: Mapping[str, Any]) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", RuntimeWarning
        )  # about this run; the recorded one is asked about
        result = run(domain.virtual(), registry=registry, **options)
    if result.stop_reason == "interrupted":  # what it came to by then answers nothing
        raise KeyboardInterrupt
    return result


def _of_journal(replayed: Replayed, result: Result | None) -> Figures:
    return _of_counts(
        replayed.statistics, replayed.seconds, None if result is None else result.final_reward
    )


def _of_counts(counts: Statistics, seconds: float, reward: float | None) -> Figures:
    considered = counts.considered
    return Figures(
        rollouts=counts.tickets,
        seconds=seconds,
        commits=counts.version,
        idle=_idle(counts.slot_seconds),
        lag=dict(counts.eta_histogram),
        stale_rate=counts.stale_discarded / considered if considered else 0.0,
        reward=reward,
    )


def _of_result(result: Result, *, rewards: bool) -> Figures:
    return Figures(
        rollouts=result.rollouts,
        seconds=result.wallclock,
        commits=result.version,
        idle=_idle(result.slot_seconds),
        lag=dict(result.eta_histogram),
        stale_rate=result.stale_rate(),
        reward=result.final_reward if rewards else None,
    )


def _idle(seconds: Mapping[str, float]) -> float:
    whole = sum(seconds.values())
    return (seconds["idle"] + seconds["idle_waiting"]) / whole if whole else 0.0
